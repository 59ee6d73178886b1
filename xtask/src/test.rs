//! `cargo xtask test`: format, lints, the rules of the house and every test of the workspace at its quick size. Words after
//! it go to `cargo test`.

use crate::ci;
use crate::failure::Failure;
use crate::program::Program;

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    if words.is_empty() {
        return ci::quick();
    }
    Program::cargo("test --workspace --locked").arguments(words).run()
}
