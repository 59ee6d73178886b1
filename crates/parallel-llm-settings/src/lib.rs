//! What the user has set, and the machine it holds for: settings, kept keys, and the few things that touch the system.
//!
//! Every file and folder of our own is made here, for its owner alone. It knows neither runs nor doors.

pub mod child_process;
pub mod clock;
pub mod keys;
pub mod pinned_folder;
pub mod private_files;
pub mod settings;
pub mod signals;

/// What the program is called, wherever it says so.
pub const PROGRAM: &str = "parallel-llm-mcp";
/// What it is, in a line.
pub const DESCRIPTION: &str = "Ask many language models at once and get one answer you can trust.";
