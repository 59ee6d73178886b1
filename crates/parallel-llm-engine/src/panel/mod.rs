//! The fan-out: who is asked, how many are waited for, and who only where the first do not settle it.

pub(crate) mod escalation;
pub(crate) mod gather;
pub mod quorum;
