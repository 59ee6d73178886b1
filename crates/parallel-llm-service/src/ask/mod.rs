//! Asking: what a question may cost, beginning it, and going on with a run.

mod continuing;
mod fitness;
pub(crate) mod plan;
pub(crate) mod quote;
mod repeats;

pub use continuing::Further;
pub use plan::Question;
pub use quote::{Proposal, Stake};
