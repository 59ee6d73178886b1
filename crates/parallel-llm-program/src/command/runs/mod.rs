//! `runs`: earlier runs and their results.

mod continuing;
mod cost;
mod export;
mod insights;
mod list;
mod moment;
mod purge;
mod search;
mod show;
pub(super) mod subcommands;
