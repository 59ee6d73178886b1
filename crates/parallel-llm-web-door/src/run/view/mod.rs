//! A run, and a text on its way, as a visitor sees them.

pub(crate) mod shown;
pub(crate) mod viewed;
pub(crate) mod written;
