//! Results as they are stored and shown.

pub mod page;
pub mod stored;
pub mod table;
