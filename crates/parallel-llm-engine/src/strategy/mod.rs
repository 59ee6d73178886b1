//! How answers become one text. One strategy is one file, one same-named test, one name in
//! [`crate::plan::Strategy`] and one line here.
//!
//! A strategy builds text only through [`crate::prompt`], calls models only through the same path as a seat,
//! and reads replies only through [`crate::parse`]. If everything it tries fails, the best answer is returned
//! word for word and the outcome says so: what was paid for is never lost.

mod best;
mod synthesize;

use std::sync::Arc;

use crate::gather::Usable;
use crate::outcome::Outcome;
use crate::plan::Strategy;
use crate::seat::Desk;

/// Makes one text of the answers, of which there is at least one.
pub(crate) async fn decide(desk: &Arc<Desk>, usable: &[Usable]) -> Outcome {
    match desk.plan.strategy {
        Strategy::Synthesize => synthesize::decide(desk, usable).await,
    }
}
