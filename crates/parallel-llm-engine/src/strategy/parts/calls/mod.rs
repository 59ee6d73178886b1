//! Calls of a strategy: what a model is shown, how the chain is asked, and what a judge says.

pub(crate) mod call;
pub(crate) mod chain;
pub(crate) mod equivalence;
pub(crate) mod judge;
pub(crate) mod selection;
pub(crate) mod shown;
