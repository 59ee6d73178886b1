//! Checks of the servers that are asked: the way there, keys, credit, models, clocks, and the collector of telemetry.

pub(super) mod clock;
pub(super) mod collector;
pub(super) mod credit;
pub(super) mod keys;
pub(super) mod local;
pub(super) mod models;
pub(super) mod network;
