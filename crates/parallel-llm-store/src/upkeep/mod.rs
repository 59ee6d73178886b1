//! What the care of the database results in: backups, inspections and purges.

pub(crate) mod backup;
pub(crate) mod inspection;
pub(crate) mod purge;
