//! The handle that the program holds: the type, and what each use of it needs.
//!
//! `store` opens, purges, makes backups and closes; `journal` writes runs for the engine; `reading` reads them, as a `stored_run`;
//! `batches`, `cancel` and `transfer` are for batches, for runs of other processes, and for copies of a history.

pub(crate) mod batches;
pub(crate) mod cancel;
pub(crate) mod journal;
pub(crate) mod reading;
pub(crate) mod store;
pub(crate) mod stored_run;
pub(crate) mod transfer;
