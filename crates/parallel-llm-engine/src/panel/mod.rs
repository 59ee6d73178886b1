//! The fan-out to the panel: gathering answers, the wait rule, and escalation to held-back seats.

pub(crate) mod escalation;
pub(crate) mod gather;
pub mod quorum;
pub(crate) mod quorums;
