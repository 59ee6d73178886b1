//! Requests in flight: what they may take, how many are admitted and from whom, and their end when the server stops.

mod adaptive_limit;
pub(super) mod body;
pub(super) mod flight;
pub(super) mod intake;
pub(super) mod limits;
pub mod message;
mod share;
pub(super) mod stopping;
