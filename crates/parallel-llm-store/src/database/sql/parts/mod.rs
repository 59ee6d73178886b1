//! What statements are made of: the session that executes them, their values and columns, and the words that differ.

pub(crate) mod columns;
pub(crate) mod dialect;
pub(crate) mod session;
pub(crate) mod table;
pub(crate) mod value;
