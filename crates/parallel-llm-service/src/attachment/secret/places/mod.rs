//! Where a secret stands in the lines of any text: set under a name, given to a function, on a command line, in a record.

pub(super) mod anywhere;
pub(super) mod calls;
pub(super) mod commands;
pub(super) mod records;
pub(super) mod set;
