//! The test doorway: the real program in a scrubbed environment, against a simulator that keeps what it was asked.
//!
//! A [`Stage`] is a temporary home and a simulator on a thread of its own. A [`Call`] starts the program there, as a
//! user would, and gives what it said as [`Output`]. What always holds: nothing of the tester's own environment reaches
//! the program, every wait is bounded, and no process outlives its test.
//!
//! ```no_run
//! # fn binary() -> &'static str { "parallel-llm-mcp" }
//! // In a test: env!("CARGO_BIN_EXE_parallel-llm-mcp").
//! let stage = parallel_llm_testkit::Stage::new(binary());
//! let output = stage.call(["ask", "--json", "-m", "x-ai/grok-4.7", "Why?"]).run();
//! assert_eq!(output.code, Some(0));
//! output.assert_no_key();
//! ```

mod call;
pub mod conformance;
mod crowd;
mod leak;
mod mask;
mod sheet;
mod stage;

pub use call::{Call, FREEZE_FILES, KILL_AT, KILLED, Output, Running};
pub use crowd::each;
pub use mask::report as mask_report;
pub use parallel_llm_simulator as simulator;
pub use sheet::{seats, synthesis};
pub use stage::Stage;
