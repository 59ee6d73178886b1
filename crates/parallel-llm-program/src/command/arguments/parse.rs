//! Parses the arguments, and reports mistakes in them.

use std::ffi::OsString;

use super::bare::{self, Mistake};
use super::{mistyped, misuse};
use crate::command::Arguments;
use crate::command::line::help;
use crate::exit;
use crate::terminal::console::Console;

/// Parses the arguments. Help that was asked for is printed, mistakes are reported, and the exit code is the error.
pub fn parse(console: &Console, arguments: &[OsString]) -> Result<Arguments, u8> {
    read(arguments).map_err(|mistake| {
        let wants_json = arguments.iter().any(|argument| argument == "--json" || argument == "--jsonl");
        match mistake {
            Mistake::Parser(error) if !error.use_stderr() => {
                // Its own colours, where there are any, are harmless.
                console.help(&error.render(), false);
                return exit::ANSWER;
            }
            Mistake::Parser(error) if misuse::is_incomplete(&error) && !wants_json => {
                console.help(&error.render(), true);
            }
            Mistake::Parser(error) => console.fail(&misuse::failure(&error, arguments), wants_json),
            Mistake::NoCommand(failure) => console.fail(&failure, wants_json),
        }
        exit::USAGE
    })
}

fn read(arguments: &[OsString]) -> Result<Arguments, Mistake> {
    mistyped::check_dashes(arguments)?;
    mistyped::check_hyphens(arguments)?;
    let mut read = help::try_parse(arguments).or_else(|error| bare::parse(arguments, error))?;
    mistyped::check(&mut read, arguments)?;
    Ok(read)
}
