//! Mistakes in the arguments as failures of this program: the flag or value that is wrong, and what to type instead.

use std::error::Error;
use std::ffi::OsString;
use std::num::{ParseFloatError, ParseIntError};

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use super::help;
use crate::called;

/// Whether a command that has commands stands alone.
pub(super) fn is_incomplete(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// The parser's error about these arguments as a failure.
pub(super) fn failure(error: &clap::Error, arguments: &[OsString]) -> Failure {
    let text = error.render().to_string();
    let path = path(&text, arguments);
    let failure = |message: String| {
        let page = Next::See(format!("{} --help", path.join(" ")).into());
        Failure::new(Code::Usage, message).with_next(page)
    };
    if is_incomplete(error) {
        return failure("a command is missing".to_owned());
    }
    let argument = word(error, ContextKind::InvalidArg);
    let value = word(error, ContextKind::InvalidValue);
    match (error.kind(), argument, value) {
        (ErrorKind::UnknownArgument, Some(flag), _) if flag.starts_with('-') => {
            unknown_flag(flag, &path, failure(format!("there is no flag `{flag}`")))
        }
        (ErrorKind::UnknownArgument, Some(extra), _) => {
            failure(format!("`{}` takes no further argument, but there is `{extra}`", path.join(" ")))
        }
        (ErrorKind::InvalidSubcommand, ..) => unknown_command(error, &path, failure),
        (ErrorKind::InvalidValue, Some(argument), Some(value)) => {
            let failure = failure(misfit(bare_name(argument), value));
            nearest::suggest_or_list(failure, value, &words(error, ContextKind::ValidValue))
        }
        (ErrorKind::ValueValidation, Some(argument), Some(value)) => {
            failure(invalid_value(error, bare_name(argument), value))
        }
        (ErrorKind::TooManyValues, Some(argument), _) => {
            failure(format!("`{}` takes no value", bare_name(argument)))
        }
        (ErrorKind::ArgumentConflict, Some(argument), _) => failure(conflict(error, bare_name(argument))),
        (ErrorKind::MissingRequiredArgument, ..) => {
            let missing = words(error, ContextKind::InvalidArg);
            let missing: Vec<String> = missing.into_iter().map(alternatives).collect();
            failure(format!("{} is missing", missing.join(" and ")))
        }
        _ => {
            let first = text.split("\n\n").next().unwrap_or_default();
            let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
            failure(line.trim_start_matches("error: ").to_owned())
        }
    }
}

/// The words before the flags: the program and its commands. The parser names them in most errors.
fn path(text: &str, arguments: &[OsString]) -> Vec<String> {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    if let Some(usage) = usage {
        let words = usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-', '"']));
        return words.map(str::to_owned).collect();
    }
    let mut path = vec![called::name().to_owned()];
    let mut command = help::command();
    for argument in arguments.iter().skip(1) {
        let Some(inner) = argument.to_str().and_then(|word| command.find_subcommand(word)) else { break };
        path.push(inner.get_name().to_owned());
        command = inner.clone();
    }
    path
}

/// The command at the end of such a path.
fn command_at(path: &[String]) -> Command {
    path.iter().skip(1).fold(help::command(), |command, name| match command.find_subcommand(name) {
        Some(inner) => inner.clone(),
        None => command,
    })
}

fn unknown_flag(flag: &str, path: &[String], failure: Failure) -> Failure {
    let mut command = command_at(path);
    // Makes the flags `--help` and `--version`.
    command.build();
    let known: Vec<String> =
        command.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
    // One letter is not like another: only flags with a name are suggested.
    let meant = flag.strip_prefix("--").and_then(|name| {
        let name = name.split('=').next().unwrap_or_default();
        let found = nearest::nearest(name, known.iter().map(|known| &known[2..]))?;
        Some(format!("--{found}"))
    });
    if let Some(meant) = meant {
        return nearest::suggest(failure, Some(meant));
    }
    if path.get(1).is_some_and(|name| name == "ask") {
        let page = failure.next_steps().to_vec();
        let as_text = Next::Type(format!("{} -- \"{flag}\"", path.join(" ")).into());
        return failure.with_next(page.into_iter().chain([as_text]).collect::<Vec<_>>());
    }
    failure
}

fn unknown_command(error: &clap::Error, path: &[String], failure: impl Fn(String) -> Failure) -> Failure {
    let name = word(error, ContextKind::InvalidSubcommand).unwrap_or_default();
    let command = command_at(path);
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    let known: Vec<&str> = shown.map(Command::get_name).collect();
    let failure = failure(format!("`{}` has no command `{name}`", path.join(" ")));
    match nearest::nearest(name, known.iter().copied()) {
        Some(meant) => {
            let line: Vec<&str> = path.iter().skip(1).map(String::as_str).chain([meant]).collect();
            nearest::suggest(failure, Some(line.join(" ")))
        }
        None => nearest::suggest_or_list(failure, name, &known),
    }
}

/// The message about a value that its argument refuses.
fn invalid_value(error: &clap::Error, argument: &str, value: &str) -> String {
    let why = error.source();
    if why.is_some_and(|why| why.downcast_ref::<ParseIntError>().is_some()) {
        return format!("`{argument}` takes a whole number, not `{value}`");
    }
    if why.is_some_and(|why| why.downcast_ref::<ParseFloatError>().is_some()) {
        return format!("`{argument}` takes a number, not `{value}`");
    }
    let why = why.map(ToString::to_string).unwrap_or_default();
    let range = why.strip_prefix(&format!("{value} is not in ")).and_then(|range| range.split_once("..="));
    match range {
        // The largest number of its type means nothing to a user.
        Some((from, to)) if to == u32::MAX.to_string() => {
            format!("`{argument}` takes a whole number from {from} on, not `{value}`")
        }
        Some((from, to)) => {
            format!("`{argument}` takes a whole number from {from} to {to}, not `{value}`")
        }
        // Most readers say what they take.
        None if why.starts_with("a ") || why.starts_with("an ") => {
            format!("`{argument}` takes {why}, not `{value}`")
        }
        None => format!("{}: {why}", misfit(argument, value)),
    }
}

fn misfit(argument: &str, value: &str) -> String {
    if value.is_empty() {
        return format!("`{argument}` needs a value");
    }
    format!("`{argument}` cannot be `{value}`")
}

fn conflict(error: &clap::Error, argument: &str) -> String {
    let others = words(error, ContextKind::PriorArg);
    let others: Vec<&str> = others.into_iter().map(bare_name).collect();
    if others.is_empty() || others == [argument] {
        return format!("`{argument}` is given more than once");
    }
    let others: Vec<String> = others.iter().map(|other| format!("`{other}`")).collect();
    format!("`{argument}` cannot be combined with {}", others.join(" and "))
}

/// An argument without the name of its value: `--budget` of `--budget <USD>`, `CLIENT` of `[CLIENT]`.
fn bare_name(argument: &str) -> &str {
    let first = argument.split([' ', '=']).next().unwrap_or(argument);
    if first.starts_with('-') {
        return first.trim_end_matches('[');
    }
    first.trim_matches(['[', ']', '<', '>', '.'])
}

/// The arguments of which one is missing: `RUN` or `--all` of `<RUN|--all>`.
fn alternatives(missing: &str) -> String {
    let names = missing.trim_start_matches('<').split('|');
    names.map(|name| format!("`{}`", bare_name(name))).collect::<Vec<_>>().join(" or ")
}

fn word(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

fn words(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text],
        Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}
