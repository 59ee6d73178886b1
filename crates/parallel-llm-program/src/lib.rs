//! The program: its commands and its terminal.
//!
//! ```text
//! main  →  run  →  command::parse  →  parallel_llm_app::wire  →  the command
//! ```
//!
//! A command makes a request and renders the result; the service resolves and stores.

// For its feature alone, which leaves its records out of the shipped file.
use log as _;

pub mod called;
pub mod command;
pub mod exit;
pub mod program;
mod server;
mod staging;
pub mod terminal;
mod watchdog;
