//! `cargo xtask help`: the list of commands.

use crate::failure::Failure;
use crate::{COMMANDS, say};

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    if !words.is_empty() {
        return Err(Failure::new("`help` takes no words"));
    }
    say::line("Usage: cargo xtask <command>\n");
    for command in COMMANDS {
        say::line(&format!("  {:<8} {}", command.name, command.about));
    }
    Ok(())
}
