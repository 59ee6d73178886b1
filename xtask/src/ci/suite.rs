//! The `tests` stage: every test of the workspace, to the end even when one fails.
//!
//! `cargo nextest` runs them where it is installed, because it says which test was slow or hung; it does not know doc
//! tests, which `cargo test` then runs.

use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;

pub(super) fn run() -> Result<Verdict, Failure> {
    if Program::cargo("nextest --version").output().is_err() {
        return Program::cargo("test --workspace --locked --no-fail-fast").run().map(|()| Verdict::Passed);
    }
    let tests = Program::cargo("nextest run --workspace --locked --no-fail-fast --no-tests pass").run();
    let documents = Program::cargo("test --workspace --locked --no-fail-fast --doc").run();
    tests.and(documents).map(|()| Verdict::Passed)
}
