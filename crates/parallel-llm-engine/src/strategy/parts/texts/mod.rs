//! Texts that models write from answers: begun early, fused, or written again in rounds.

pub(crate) mod considered;
pub(crate) mod early;
pub(crate) mod fusion;
pub(crate) mod rounds;
pub(crate) mod synthesis;
pub(crate) mod written;
