//! The simulator from outside: every test sends requests to a socket and compares the replies.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod control;
mod dialect;
mod dialect_answers;
mod dialect_errors;
mod dialect_faults;
mod dialect_rules;
mod disconnect;
mod endpoints;
mod http2;
mod ledger;
mod listing;
mod paused;
mod peer;
mod refusals;
mod streams;
mod sweep;
mod synthesis;
mod tls;
mod wholes;
