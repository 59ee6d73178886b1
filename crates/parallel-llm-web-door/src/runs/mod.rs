//! The page of runs: search, facets, runs in progress on top, and a small picture of each.

mod json;
mod page;
mod query;

pub(crate) use page::show;
