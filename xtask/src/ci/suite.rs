//! The `tests` stage: every test of the workspace, to the end even when one fails. And the tests that take long.
//!
//! `cargo nextest` runs them where it is installed, because it says which test was slow or hung; it does not know doc
//! tests, which `cargo test` then runs.

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;

/// Tests at once, for each core: most of them wait for a program or a clock most of the time.
const TESTS_PER_CORE: usize = 2;
/// The tests that are left out of the quick ones, or do little there, as `cargo` takes them.
const LONG: &[&str] = &[
    "test -p parallel-llm-mcp --locked --test program dialects:: -- --ignored",
    "test -p parallel-llm-testkit --locked --test kill -- --nocapture",
    "test -p parallel-llm-mcp --features jemalloc --locked --test program soak:: -- --nocapture",
    "test -p parallel-llm-engine --locked --test engine simulation:: -- --nocapture",
];
/// How much the long tests do, by the variables that they read.
const AMOUNTS: &[(&str, &str)] =
    &[("PARALLEL_LLM_TEST_KILLS", "4000"), ("SOAK_MINUTES", "60"), ("SIMULATION_SEEDS", "100000")];

pub(super) fn run() -> Result<Verdict, Failure> {
    if Program::cargo("nextest --version").output().is_err() {
        return Program::cargo("test --workspace --locked --no-fail-fast").run().map(|()| Verdict::Passed);
    }
    let at_once = std::thread::available_parallelism().map_or(1, usize::from) * TESTS_PER_CORE;
    let tests =
        Program::cargo("nextest run --workspace --locked --no-fail-fast --no-tests pass --test-threads")
            .arguments([at_once.to_string()])
            .run();
    let documents = Program::cargo("test --workspace --locked --no-fail-fast --doc").run();
    tests.and(documents).map(|()| Verdict::Passed)
}

/// The tests that take hours; only where they are asked for.
pub(super) fn long(state: &mut State) -> Result<Verdict, Failure> {
    if !state.long {
        return Ok(Verdict::Skipped("they take hours: `cargo xtask ci --long` runs them".to_owned()));
    }
    for words in LONG {
        let program = AMOUNTS
            .iter()
            .fold(Program::cargo(words), |program, (name, amount)| program.variable(name, amount));
        program.run()?;
    }
    Ok(Verdict::Passed)
}
