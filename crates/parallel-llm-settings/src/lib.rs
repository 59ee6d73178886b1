//! Settings, stored keys, and the few modules that touch the system.
//!
//! All files and folders of our own are created here, accessible only to their owner. This crate knows neither runs nor
//! doors.

pub mod child_process;
pub mod clock;
pub mod keys;
pub mod pinned_folder;
pub mod private_files;
pub mod process;
pub mod settings;
pub mod signals;

/// The program's name.
pub const PROGRAM: &str = "parallel-llm-mcp";
/// The program's description in one line.
pub const DESCRIPTION: &str = "Ask many language models at once and get one answer you can trust.";
