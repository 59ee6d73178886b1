//! Stored runs: found by name or id, listed, searched, exported, purged and backed up.

pub(super) mod backup;
pub(super) mod export;
pub(crate) mod history;
pub(super) mod name;
pub(super) mod page;
pub(super) mod purge;
pub(super) mod search;
