//! Measures the program's speed as ratios to a bare client that makes the same calls and nothing else.
//!
//! ```text
//! harness ──pipes──┬─ upstream   a deterministic provider on loopback, which records the times of calls
//!                  ├─ floor      a bare HTTP client: the minimum that any program needs
//!                  ├─ program    the release binary as an MCP client starts it
//!                  └─ library    the program without its door, to count commits
//! ```
//!
//! The harness takes the programs in turn, so that other load on the machine slows all of them alike. Every process ends with its
//! stdin, so nothing outlives a stopped harness. `bench/README.md` describes what is measured and why.

pub mod call;
pub mod clock;
pub mod copied_runs;
pub mod door;
pub mod failure;
pub mod generated_runs;
pub mod machine;
pub mod measure;
pub mod page;
pub mod plan;
pub mod process;
pub mod reply;
pub mod results;
pub mod rounds;
pub mod scale;
pub mod setup;
pub mod statistics;
pub mod table;
pub mod target;
pub mod terminal;
pub mod upstream;
pub mod workload;
