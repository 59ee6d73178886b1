//! What one value is: its kind, how it is written and parsed, its origin, and the failure of a wrong one.

pub mod amount;
pub(super) mod command;
pub(super) mod database_url;
pub(super) mod effective;
pub(super) mod failure;
pub(super) mod kind;
pub(super) mod origin;
pub(super) mod wait;
mod words;
