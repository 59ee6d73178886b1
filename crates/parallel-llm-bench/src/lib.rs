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

pub mod clock;
pub mod failure;
pub mod measure;
pub mod programs;
pub mod results;
pub mod store;
pub mod terminal;
