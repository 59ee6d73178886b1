//! How answers become one text. One strategy is one file, one same-named test, one name in
//! [`crate::request::recipe::Strategy`] and one line here.
//!
//! A strategy builds text only through [`crate::prompt`], calls models only through the same path as a seat,
//! and reads replies only through [`crate::prompt::reply`]. If everything it tries fails, the best answer is returned
//! word for word and the outcome says so: what was paid for is never lost.

pub(crate) mod annotate;
mod best_of_n;
mod cascade;
mod consistency;
mod council;
mod debate;
mod moa;
mod panel;
mod parts;
mod race;
mod self_moa;
mod synthesize;
mod tournament;
mod vote;

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::request::recipe::Strategy;
use crate::run::outcome::Outcome;

pub(crate) use parts::answers::{Answers, agreement};
pub(crate) use parts::considered::considered;
pub(crate) use parts::early::gather;
pub(crate) use parts::verbatim::fallback;

/// Makes one text of the answers, of which there is at least one.
pub(crate) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    match context.plan.strategy {
        Strategy::Synthesize => synthesize::decide(context, answers).await,
        Strategy::Vote => vote::decide(context, answers).await,
        Strategy::BestOfN => best_of_n::decide(context, answers).await,
        Strategy::Cascade => cascade::decide(context, answers).await,
        Strategy::Race => race::decide(context, answers),
        Strategy::Panel => panel::decide(context, answers),
        Strategy::Consistency => consistency::decide(context, answers).await,
        Strategy::Tournament => tournament::decide(context, answers).await,
        Strategy::Council => council::decide(context, answers).await,
        Strategy::Moa => moa::decide(context, answers).await,
        Strategy::SelfMoa => self_moa::decide(context, answers).await,
        Strategy::Debate => debate::decide(context, answers).await,
    }
}
