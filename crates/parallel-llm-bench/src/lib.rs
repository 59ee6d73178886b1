//! How fast the program is, as ratios to a bare client that makes the same calls and nothing else.
//!
//! ```text
//! harness ──pipes──┬─ upstream   a deterministic provider on loopback, which notes when calls came and went
//!                  ├─ floor      a bare HTTP client: what no program can do without
//!                  ├─ program    the release binary as an MCP client starts it
//!                  └─ library    the program without its door, and the count of its commits
//! ```
//!
//! The harness asks one program at a time, one question at a time, and takes the programs in turn, so that a
//! machine that others share slows all of them alike. Every process ends when its stdin does, so nothing outlives
//! a harness that was stopped. `bench/README.md` says what is measured and why.

pub mod call;
pub mod clock;
pub mod door;
pub mod failure;
pub mod machine;
pub mod measure;
pub mod process;
pub mod reply;
pub mod scale;
pub mod statistics;
pub mod table;
pub mod upstream;
