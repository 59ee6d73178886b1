//! The page about models: what is on offer at what price, and the figures of the runs so far.

mod page;

pub(crate) use page::{csv, json, show};
