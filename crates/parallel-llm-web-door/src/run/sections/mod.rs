//! The sections of a run's page; `moment` has those of one moment together.

pub(crate) mod agreement;
pub(crate) mod answer;
pub(crate) mod continuing;
pub(crate) mod costs;
pub(crate) mod head;
pub(crate) mod moment;
pub(crate) mod seat;
pub(crate) mod timeline;
