//! The store through its public interface, with a database of its own for every test.
//!
//! All files are one binary, which links once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batches;
mod cancel;
mod damage;
mod encrypted;
mod figures;
mod ledger;
mod list;
mod lost;
mod migration;
mod opening;
mod power;
mod processes;
mod purge;
mod races;
mod repeats;
mod round_trip;
mod search;
mod server;
mod sessions;
mod spill;
mod support;
mod tokens;
mod transfer;
