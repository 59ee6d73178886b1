//! What a visitor gets of a run: its page, its prompts, the differences of two texts, its files, and the forms that act on it.

pub(crate) mod actions;
pub(crate) mod compare;
pub(crate) mod files;
pub(crate) mod page;
pub(crate) mod prompts;
