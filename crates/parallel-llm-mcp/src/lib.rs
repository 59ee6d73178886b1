//! The program: doors, settings and wiring around the engine.
//!
//! ```text
//! cli | mcp | http  →  service  →  engine, store
//! main  →  program  →  cli::parse  →  app::wire  →  the command
//! ```
//!
//! A door makes a request and renders what comes of it; the service resolves and remembers; only `app` makes
//! parts. Doors never know each other.

mod anchor;
pub mod app;
mod attachment;
mod certificates;
mod checker;
mod child;
pub mod cli;
pub mod clients;
mod clock;
pub mod exit;
mod files;
pub mod http;
pub mod keys;
pub mod mcp;
mod message;
pub mod output;
mod private_files;
pub mod program;
pub mod service;
pub mod settings;
pub mod shutdown;
pub mod telemetry;
mod watchdog;
