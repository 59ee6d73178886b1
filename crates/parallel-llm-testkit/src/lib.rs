//! Tests of the real program, in a clean environment and against a simulated provider.
//!
//! A [`Sandbox`] is a temporary home and a simulator on its own thread. A [`Call`] starts the program there, as a user
//! would, and returns its [`Output`]. Nothing of the tester's environment reaches the program, every wait has a limit,
//! and no process outlives its test.
//!
//! ```no_run
//! # fn binary() -> &'static str { "parallel-llm-mcp" }
//! // In a test: env!("CARGO_BIN_EXE_parallel-llm-mcp").
//! let sandbox = parallel_llm_testkit::Sandbox::new(binary());
//! let output = sandbox.call(["ask", "--json", "-m", "x-ai/grok-4.7", "Why?"]).run();
//! assert_eq!(output.code, Some(0));
//! output.assert_no_key();
//! ```

mod call;
pub mod conformance;
mod crowd;
mod leak;
mod mask;
mod sandbox;
mod sheet;
mod terminal;
mod terminal_svg;

pub use call::{Call, FREEZE_FILES, KILL_AT, KILLED, Output, Running};
pub use crowd::{each, each_among};
pub use mask::report as mask_report;
pub use parallel_llm_simulator as simulator;
pub use sandbox::Sandbox;
pub use sheet::{seats, synthesis};
pub use terminal::Terminal;
