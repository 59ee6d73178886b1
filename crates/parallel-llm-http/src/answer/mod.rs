//! Answers that come from the listener: failures and their status, refusals, and headers sent early.

pub mod early;
pub mod failure;
pub(super) mod refusal;
pub mod status;
