//! The simulator from outside: every test enters through a socket and compares what comes out of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod control;
mod disconnect;
mod ledger;
mod listing;
mod paused;
mod refusals;
mod streams;
mod sweep;
mod synthesis;
mod wholes;
