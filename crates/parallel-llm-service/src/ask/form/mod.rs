//! The form of a question: each option once, with its kind and bounds, what it means, an example, and how it is set.
//!
//! The command line, batch lines, MCP, the endpoint and the page take their fields from here, and refuse a value in the same
//! words.

mod field;
mod kind;
mod options;

pub use field::Field;
pub use kind::{Given, ValueKind};
pub use options::{OPTIONS, QuestionOption, option};
