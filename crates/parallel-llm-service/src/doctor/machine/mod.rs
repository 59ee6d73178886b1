//! Checks of this machine: settings, folders, the database, limits, and what runs here.

pub(super) mod clients;
pub(super) mod database;
pub(super) mod folder;
pub(super) mod http;
pub(super) mod limits;
pub(super) mod log;
pub(super) mod program;
pub(super) mod settings;
pub(super) mod tokens;
