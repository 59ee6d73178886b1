//! The program: its commands, its terminal, and the wiring of all the other parts.
//!
//! ```text
//! main  →  program  →  command::parse  →  app::wire  →  the command
//! ```
//!
//! A command makes a request and renders what comes of it; the service resolves and remembers; only `app` makes parts.

pub mod app;
mod certificates;
pub mod command;
mod doors;
pub mod exit;
pub mod program;
pub mod terminal;
mod watchdog;
