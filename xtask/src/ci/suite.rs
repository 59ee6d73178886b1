//! The stages `tests` and `long tests`: all tests of the workspace, and those that take hours.
//!
//! A failure does not stop the other tests. If `cargo nextest` is installed it runs them, because it reports which test was
//! slow or hung; `cargo test` then runs the doc tests, which nextest does not support.

use std::time::Duration;

use super::report::Verdict;
use crate::built;
use crate::failure::Failure;
use crate::program::Program;

/// Time limit of the tests, which took 18 minutes on two busy cores.
const TIME_MAX: Duration = Duration::from_mins(45);
/// Concurrent tests per core: most tests wait for a program or a clock most of the time.
const TESTS_PER_CORE: usize = 3;
/// The long tests, as arguments of `cargo`; the stage `tests` leaves them out or runs them at a small size.
const LONG: &[&str] = &[
    "test -p parallel-llm-mcp --locked --test program -- --ignored dialects:: memory::",
    "test -p parallel-llm-testkit --locked --test kill -- --nocapture",
    "test -p parallel-llm-mcp --locked --test program soak:: -- --nocapture",
    "test -p parallel-llm-engine --locked --test engine simulation:: -- --nocapture",
];
/// The sizes of the long tests, by the variables that they read.
const AMOUNTS: &[(&str, &str)] =
    &[("PARALLEL_LLM_TEST_KILLS", "4000"), ("SOAK_MINUTES", "60"), ("SIMULATION_SEEDS", "100000")];

pub(super) fn run() -> Result<Verdict, Failure> {
    let concurrent = std::thread::available_parallelism().map_or(1, usize::from) * TESTS_PER_CORE;
    let concurrent = concurrent.to_string();
    // Apart, so that a slow build does not take the time of the tests.
    built::tests()?;
    if Program::cargo("nextest --version").output().is_err() {
        let tests = Program::cargo("test --workspace --locked --no-fail-fast").time_limit(TIME_MAX);
        return tests.variable("RUST_TEST_THREADS", &concurrent).run().map(|()| Verdict::Passed);
    }
    let tests =
        Program::cargo("nextest run --workspace --locked --no-fail-fast --no-tests pass --test-threads")
            .arguments([concurrent])
            .time_limit(TIME_MAX)
            .run();
    let documents = Program::cargo("test --workspace --locked --no-fail-fast --doc").run();
    tests.and(documents).map(|()| Verdict::Passed)
}

/// Runs the tests that take hours.
pub(super) fn long() -> Result<Verdict, Failure> {
    for words in LONG {
        let program = AMOUNTS
            .iter()
            .fold(Program::cargo(words), |program, (name, amount)| program.variable(name, amount));
        program.run()?;
    }
    Ok(Verdict::Passed)
}
