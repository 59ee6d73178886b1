//! Providers in the settings: their tables, their stored keys, and what both make of the built-in ones.

pub(super) mod kept;
pub(super) mod provider;
pub(super) mod provider_table;
