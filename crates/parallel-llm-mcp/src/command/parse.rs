//! Parses the arguments, and reports mistakes in them.

use std::ffi::OsString;

use clap::error::ErrorKind;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use super::bare::{self, Mistake};
use super::{Arguments, PROGRAM, help};
use crate::exit;
use crate::terminal::console::Console;

/// Parses the arguments. Help that was asked for is printed, mistakes are reported, and the exit code is the error.
pub fn parse(console: &Console, arguments: &[OsString]) -> Result<Arguments, u8> {
    let read = help::try_parse(arguments).or_else(|error| bare::parse(arguments, error));
    read.map_err(|mistake| {
        let wants_json = arguments.iter().any(|argument| argument == "--json" || argument == "--jsonl");
        match mistake {
            Mistake::Parser(error) if !error.use_stderr() => {
                // Its own colours, where there are any, are harmless.
                console.help(&error.render(), false);
                return exit::ANSWER;
            }
            Mistake::Parser(error) if is_incomplete(&error) && !wants_json => {
                console.help(&error.render(), true);
            }
            Mistake::Parser(error) => console.fail(&misuse(&error), wants_json),
            Mistake::NoCommand(failure) => console.fail(&failure, wants_json),
        }
        exit::USAGE
    })
}

/// Whether a command that has commands stands alone.
fn is_incomplete(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// A mistake in the call as a failure of this program.
fn misuse(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let joined = |lines: &str| lines.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = text.split("\n\n");
    let message = joined(parts.next().unwrap_or_default());
    let message = if is_incomplete(error) {
        "a command is missing".to_owned()
    } else {
        message.trim_start_matches("error: ").to_owned()
    };
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or(PROGRAM);
    let command: Vec<&str> =
        usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let tips: Vec<String> =
        text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).map(joined).collect();
    let message = if tips.is_empty() { message } else { format!("{message}; {}", tips.join("; ")) };
    Failure::new(Code::Usage, message).with_next(Next::See(format!("{} --help", command.join(" ")).into()))
}
