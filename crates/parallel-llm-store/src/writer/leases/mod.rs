//! Which process writes a run: the leases in the database, those that this process holds, and their extension.

pub(crate) mod heartbeat;
pub(crate) mod held_leases;
pub(crate) mod lease;
pub(crate) mod local_runs;
