//! A run, a failure and their parts in words and as JSON, for every door.

pub mod age;
pub mod cost;
pub mod next;
pub mod report;
