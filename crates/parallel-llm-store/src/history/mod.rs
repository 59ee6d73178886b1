//! What may be asked of the history, and how it answers: plain values, which know neither rows nor a database.

pub(crate) mod changes;
pub(crate) mod costs;
pub(crate) mod day;
pub(crate) mod figures;
pub(crate) mod runs;
