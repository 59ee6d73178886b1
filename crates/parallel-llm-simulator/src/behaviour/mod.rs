//! How the simulator behaves: its configuration, scripts, faults, timing, and repeatable randomness.

pub(crate) mod config;
pub(crate) mod fault;
pub(crate) mod script;
pub(crate) mod script_table;
pub(crate) mod seed;
pub(crate) mod timing;
