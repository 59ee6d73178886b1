//! `cargo xtask test`: the quick loop, every test of the workspace. Words after it go to `cargo test`.

use crate::failure::Failure;
use crate::program::Program;

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    Program::cargo("test --workspace --locked").arguments(words).run()
}
