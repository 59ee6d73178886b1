//! What the program says about itself: error codes, completions, manual pages and generated documentation.

pub(super) mod completions;
pub(super) mod explain;
pub(super) mod generate;
