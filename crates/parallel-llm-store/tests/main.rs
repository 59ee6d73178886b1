//! The store, entered as the engine and the doors enter it, with a database of its own for every test.
//!
//! One binary for all files: they share their runs and link once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod ledger;
mod lost;
mod migration;
mod opening;
mod power;
mod processes;
mod purge;
mod races;
mod repeats;
mod search;
mod spill;
mod story;
mod support;
mod tokens;
