//! Setting the program up: its settings, keys and tokens, its database, its clients, and the check of all of it.

pub(super) mod config;
pub(super) mod doctor;
mod hidden;
pub(super) mod install;
pub(super) mod keys;
pub(super) mod store;
mod tokens;
