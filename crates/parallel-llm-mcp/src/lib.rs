//! The program: doors, settings and wiring around the engine.
//!
//! ```text
//! cli | mcp | http  →  service  →  engine, store
//! main  →  program  →  cli::parse  →  app::wire  →  the command
//! ```
//!
//! A door makes a request and renders what comes of it; the service resolves and remembers; only `app` makes
//! parts. Doors never know each other.

pub mod app;
mod certificates;
pub mod command;
pub mod exit;
pub mod program;
pub mod terminal;
mod watchdog;
