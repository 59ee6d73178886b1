//! What comes from the system: the time, private files, and its errors in plain words.

pub(crate) mod clock;
pub(crate) mod error;
pub(crate) mod file;
