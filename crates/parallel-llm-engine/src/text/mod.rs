//! What is read out of strangers' text. Pure.

pub mod injection;
pub(crate) mod json;
pub mod json_pointer;
pub mod links;
pub mod safe;
pub(crate) mod shingles;
pub mod short_answer;
