//! Reads foreign text: short answers, JSON, links, injections, word shingles. All functions are pure.

pub mod injection;
pub(crate) mod json;
pub mod json_pointer;
pub mod links;
pub mod maths;
pub mod safe;
pub(crate) mod shingles;
pub mod short_answer;
pub(crate) mod unrendered;
pub mod words;
