//! `cargo xtask test`: format, lints, the repository's rules, and every test at its quick size. Arguments are passed to
//! `cargo test`.

use crate::ci;
use crate::failure::Failure;
use crate::program::Program;

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    if words.is_empty() {
        return ci::quick();
    }
    Program::cargo("test --workspace --locked").arguments(words).run()
}
