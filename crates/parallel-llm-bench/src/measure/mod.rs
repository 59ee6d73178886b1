//! What is measured: workloads, turns, rounds and targets.

pub mod machine;
pub mod rounds;
pub mod scale;
pub mod setup;
pub mod statistics;
pub mod target;
pub mod turn;
pub mod workload;
