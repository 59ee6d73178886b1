//! The program: its commands, its terminal, and the wiring of all the other parts.
//!
//! ```text
//! main  →  program  →  command::parse  →  app::wire  →  the command
//! ```
//!
//! A command makes a request and renders the result; the service resolves and stores; only `app` makes parts.

pub mod app;
pub mod called;
mod certificates;
pub mod command;
mod doors;
pub mod exit;
pub mod program;
mod server;
pub mod terminal;
mod watchdog;
