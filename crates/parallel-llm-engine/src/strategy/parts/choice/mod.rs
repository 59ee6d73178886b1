//! Answers as they are: what a strategy gets, and which of them is taken without asking a model.

pub(crate) mod answers;
pub(crate) mod best;
pub(crate) mod check;
pub(crate) mod counting;
pub(crate) mod gate;
pub(crate) mod verbatim;
