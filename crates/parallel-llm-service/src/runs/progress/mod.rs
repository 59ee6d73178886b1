//! Runs in progress: begun, watched by their handles, and relayed from other processes.

pub(super) mod departures;
pub(crate) mod handle;
pub(super) mod journals;
pub(super) mod live;
pub(crate) mod relay;
