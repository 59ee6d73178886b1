//! Searching by words: what a word is, what a person looks for, and what is shown of a text that has it.

pub(crate) mod excerpt;
pub(crate) mod matches;
pub(crate) mod query;
pub(crate) mod word;
