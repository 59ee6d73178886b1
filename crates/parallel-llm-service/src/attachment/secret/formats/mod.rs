//! Formats of whole files: documents, tables, diffs, and the settings of programs.

pub(super) mod declared;
pub(super) mod diff;
pub(super) mod lines;
pub(super) mod programs;
pub(super) mod tables;
