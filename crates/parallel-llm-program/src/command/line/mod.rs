//! The command line itself: its commands and flags with their help, and calls, amounts and names of files as people type
//! them.

pub(super) mod amount;
pub(super) mod help;
pub(super) mod near_file;
pub(super) mod typed_line;
