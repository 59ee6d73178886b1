//! Stores made for a measurement.

pub mod copied_runs;
pub mod generated_runs;
pub mod plan;
