//! Mistakes in the arguments as failures of this program: the flag or value that is wrong, and what to type instead.

use std::error::Error;
use std::ffi::OsString;
use std::num::{ParseFloatError, ParseIntError};
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::{MachineStep, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_settings::settings::{Environment, Settings};

use super::synonyms;
use crate::called;
use crate::command::ask::continued;
use crate::command::line::{amount, help, typed_line};
use crate::command::setup::keys;

/// A longer call of words alone may be a question that begins like a command.
const SENTENCE_WORDS_MIN: usize = 4;
/// The names of values that are paths.
const PATHS: [&str; 3] = ["FILE", "PATH", "DIR"];

/// What people type to change a setting.
pub(super) const SETTERS: [&str; 5] = ["set", "edit", "unset", "add", "change"];

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
            if let Some(step) = as_value(flag, &path, arguments) {
                return failure(format!("`{flag}` is no flag of `{}`", path.join(" "))).with_next(step);
            }
            unknown_flag(flag, &path, arguments, failure(format!("there is no flag `{flag}`")))
        }
        (ErrorKind::UnknownArgument, Some(extra), _) => further_argument(extra, &path, arguments, failure),
        (ErrorKind::InvalidSubcommand, ..) => unknown_command(error, &path, arguments, failure),
        (ErrorKind::InvalidValue, Some(argument), Some(value)) => {
            let failure = failure(misfit(bare_name(argument), value));
            nearest::suggest_or_list(failure, value, &words(error, ContextKind::ValidValue))
        }
        (ErrorKind::ValueValidation, Some(argument), Some(value)) => {
            let refused = failure(invalid_value(error, bare_name(argument), value));
            match synonyms::flag(path.last().map_or("", String::as_str), "--port", Some(value)) {
                // A transport or a port where `serve` takes neither.
                Some(typed) if bare_name(argument) == "TRANSPORT" => {
                    refused.with_next(Next::Type(format!("{} {typed}", path.join(" ")).into()))
                }
                _ => match amount::plain(bare_name(argument), value) {
                    Some(plain) => {
                        refused.with_next(Next::WriteAs(format!("{} {plain}", bare_name(argument)).into()))
                    }
                    None => refused,
                },
            }
        }
        (ErrorKind::TooManyValues, Some(argument), _) => {
            failure(format!("`{}` takes no value", bare_name(argument)))
        }
        (ErrorKind::ArgumentConflict, Some(argument), _) => failure(conflict(error, bare_name(argument))),
        (ErrorKind::MissingRequiredArgument, ..) => {
            missing(&words(error, ContextKind::InvalidArg), &path, arguments, failure)
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

/// The words after this one.
fn following<'a>(word: &str, arguments: &'a [OsString]) -> Vec<&'a str> {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let at = words.iter().position(|other| *other == word).unwrap_or(words.len());
    words.into_iter().skip(at + 1).collect()
}

/// An argument behind the last one that a command takes.
fn further_argument(
    extra: &str,
    path: &[String],
    arguments: &[OsString],
    failure: impl Fn(String) -> Failure,
) -> Failure {
    if path.get(1).is_some_and(|name| name == "keys") && path.last().is_some_and(|name| name == "set") {
        let provider = following("set", arguments).into_iter().find(|word| !word.starts_with('-'));
        return keys::in_history(provider.unwrap_or_default());
    }
    let refused = failure(format!("`{}` takes no further argument, but there is `{extra}`", path.join(" ")));
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let behind = path.len().min(words.len());
    let is_it = |word: &String| word == extra;
    let found = match command_at(path).get_positionals().next() {
        None => words[behind..].iter().position(is_it).map(|at| at + behind),
        // The same word may stand in its right place before.
        Some(_) => words.iter().rposition(is_it),
    };
    let Some(at) = found.filter(|at| *at > 0) else { return refused };
    let is_word = |word: &str| {
        ["show", "list", "get", "describe"].contains(&word) && path.last().is_none_or(|name| name != word)
    };
    let flag = synonyms::flag_of_value(&path[1..].join(" ")).filter(|_| !continued::is_run(extra));
    // `--since last week`.
    let amount =
        (at > 1).then(|| amount::plain(&words[at - 2], &format!("{} {extra}", words[at - 1]))).flatten();
    let is_further = |place: usize| words[at..=place].iter().all(|word| !word.starts_with('-'));
    let line = typed_line::again(arguments, |place, word| match (&amount, flag) {
        (Some(plain), _) if place + 1 == at => Some(vec![plain.clone()]),
        (Some(_), _) if place >= at && is_further(place) => Some(Vec::new()),
        (Some(_), _) => None,
        // `presets show quick`, where `presets quick` is meant.
        _ if place + 1 == at && is_word(word) => Some(Vec::new()),
        (_, Some(flag)) if place == at => Some(vec![flag.to_owned(), typed_line::quoted(word)]),
        (_, None) if place >= at && is_further(place) && !is_word(&words[at - 1]) => Some(Vec::new()),
        _ => None,
    });
    let mut steps = vec![Next::Type(line.into())];
    // Several words behind a command without commands may be a question that begins with its name.
    let is_sentence = words.len() > SENTENCE_WORDS_MIN
        && path.len() == 2
        && words[1..].iter().all(|word| !word.starts_with('-'));
    if is_sentence {
        let question = typed_line::quoted(&words[1..].join(" "));
        steps.push(Next::Type(format!("{} ask {question}", path[0]).into()));
    }
    refused.with_next(steps)
}

/// Arguments that a command needs: each named, with a call that has them.
fn missing(
    missing: &[&str],
    path: &[String],
    arguments: &[OsString],
    failure: impl Fn(String) -> Failure,
) -> Failure {
    let line = path.join(" ");
    let given = arguments.iter().filter_map(|argument| argument.to_str());
    if let Some((flag, companion)) =
        missing.first().and_then(|flag| synonyms::companion(given, bare_name(flag)))
    {
        let name = companion.split(' ').next().unwrap_or(companion);
        let again = typed_line::again(arguments, |_, word| {
            let is_it = word.split('=').next() == Some(flag);
            is_it.then(|| vec![companion.to_owned(), typed_line::quoted(word)])
        });
        let with_both = Next::Type(again.into());
        return failure(format!("`{flag}` works only with `{name}`, which is missing")).with_next(with_both);
    }
    let names: Vec<String> = missing.iter().map(|name| alternatives(name)).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    let refused = failure(format!("{} {are} missing", names.join(" and ")));
    let command = command_at(path);
    let positional = |name: &str| {
        command.get_positionals().find(|argument| {
            argument.get_value_names().is_some_and(|names| names.iter().any(|other| other.as_str() == name))
        })
    };
    let named: Vec<&str> = missing.iter().map(|name| bare_name(name)).collect();
    if let Some(values) = named.first().and_then(|name| positional(name)).map(clap::Arg::get_possible_values)
        && let [first, ..] = values.as_slice()
    {
        let names: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        let example = Next::Type(format!("{line} {}", first.get_name()).into());
        return refused.with_next([example, Next::choose_one(names)]);
    }
    let samples: Option<Vec<&str>> = named.iter().map(|name| synonyms::sample(name)).collect();
    match samples {
        Some(samples) => {
            let page = refused.next_steps().to_vec();
            let given = typed_line::again(arguments, |_, _| None);
            let typed = Next::Type(format!("{given} {}", samples.join(" ")).into());
            refused.with_next(std::iter::once(typed).chain(page).collect::<Vec<_>>())
        }
        None => refused,
    }
}

/// How to write a value or a text that begins with a hyphen, if that is what was taken for a flag.
fn as_value(flag: &str, path: &[String], arguments: &[OsString]) -> Option<Next> {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    // The parser names the letter of a word that it took for several flags.
    let is_it = |word: &&str| word.starts_with(flag) && (word.len() == flag.len() || !flag.starts_with("--"));
    let at = words.iter().position(is_it).filter(|at| *at > 0)?;
    let (word, before) = (words[at], words[at - 1]);
    let command = command_at(path);
    let taker = command.get_arguments().find(|argument| {
        let is_long = before.strip_prefix("--").is_some_and(|name| argument.get_long() == Some(name));
        is_long || argument.get_short().is_some_and(|short| before == format!("-{short}"))
    });
    if let Some(taker) = taker.filter(|taker| taker.get_action().takes_values()) {
        let is_path = taker
            .get_value_names()
            .is_some_and(|names| names.iter().any(|name| PATHS.contains(&name.as_str())));
        // No amount is below zero.
        let amount = word[1..].starts_with(|digit: char| digit.is_ascii_digit());
        if let Some(plain) = amount::plain(before, &word[1..]).filter(|_| amount) {
            return Some(Next::WriteAs(format!("{before} {plain}").into()));
        }
        let value = if is_path { format!("{before} ./{word}") } else { format!("{before}={word}") };
        return (is_path || before.starts_with("--")).then(|| Next::WriteAs(value.into()));
    }
    // A text of several words is the question.
    let is_text = word.contains(char::is_whitespace) && path.get(1).is_some_and(|name| name == "ask");
    is_text.then(|| {
        let place = arguments.iter().position(|argument| argument.to_str() == Some(word));
        Next::Type(typed_line::literally(arguments, place.unwrap_or(at)).into())
    })
}

fn unknown_flag(flag: &str, path: &[String], arguments: &[OsString], failure: Failure) -> Failure {
    let joined = |word: &OsString| word.to_str()?.strip_prefix(flag)?.strip_prefix('=').map(str::to_owned);
    let after = arguments.iter().find_map(joined);
    let after = after.or_else(|| following(flag, arguments).first().map(|&word| word.to_owned()));
    let command = path.get(1).map_or("", String::as_str);
    if ["-V", "--version"].contains(&flag) {
        return failure.with_next(Next::Type(format!("{} --version", path[0]).into()));
    }
    let is_known = |typed: &String| {
        let first = typed.split([' ', '=']).next().unwrap_or_default();
        let has = |name| command_at(path).get_arguments().any(|argument| argument.get_long() == Some(name));
        command.is_empty() || first.strip_prefix("--").is_none_or(has)
    };
    if let Some(typed) = without_prompt_flag(flag, arguments).filter(|_| command == "ask") {
        return failure.with_next(Next::Type(typed.into()));
    }
    if let Some(typed) = synonyms::flag(command, flag, after.as_deref()).filter(is_known) {
        let is_whole = !typed.starts_with(['-', '"']) || command.is_empty();
        let step = match (is_whole, command) {
            (true, _) => Next::Type(format!("{} {typed}", path[0]).into()),
            (false, "serve") => Next::Type(format!("{} {typed}", path.join(" ")).into()),
            (false, _) => Next::WriteAs(typed.into()),
        };
        return failure.with_next(step);
    }
    let mut command = command_at(path);
    // Makes the flags `--help` and `--version`.
    command.build();
    let known: Vec<String> =
        command.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
    let of_ask = || {
        let ask = command.find_subcommand("ask")?.clone();
        let name = flag.split('=').next().unwrap_or(flag).trim_start_matches('-');
        let is_it = |argument: &clap::Arg| {
            argument.get_long() == Some(name)
                || argument
                    .get_short()
                    .is_some_and(|short| name.starts_with(short) && !flag.starts_with("--"))
        };
        ask.get_arguments().any(is_it).then(|| typed_line::asking(arguments))
    };
    if let Some(typed) = of_ask().filter(|_| path.len() == 1) {
        let message = format!("`{flag}` is a flag of `ask`, and no question stands behind it");
        return Failure::new(Code::Usage, message).with_next(Next::Type(typed.into()));
    }
    // One letter is not like another: only flags with a name are suggested.
    let meant = flag.strip_prefix("--").and_then(|name| {
        let name = name.split('=').next().unwrap_or_default();
        let found = nearest::nearest(name, known.iter().map(|known| &known[2..]))?;
        Some(format!("--{found}"))
    });
    if let Some(meant) = meant {
        return nearest::suggest(failure, Some(meant));
    }
    failure
}

/// The call without the flag that other programs have for the question, which stands there by itself.
fn without_prompt_flag(flag: &str, arguments: &[OsString]) -> Option<String> {
    let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
    let is_it = ["--prompt", "-p", "--question"].contains(&name);
    let text = value.map(typed_line::quoted);
    let is_last = arguments.last().is_some_and(|last| last == flag) && value.is_none();
    let text = text.or_else(|| is_last.then(|| typed_line::QUESTION.to_owned()));
    is_it.then(|| {
        typed_line::again(arguments, |_, word| {
            let is_flag = word == flag || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
            is_flag.then(|| match word.split_once('=') {
                Some((_, value)) => vec![typed_line::quoted(value)],
                None => text.iter().cloned().collect(),
            })
        })
    })
}

fn unknown_command(
    error: &clap::Error,
    path: &[String],
    arguments: &[OsString],
    failure: impl Fn(String) -> Failure,
) -> Failure {
    let name = word(error, ContextKind::InvalidSubcommand).unwrap_or_default();
    let (above, after) = (path[1..].join(" "), following(name, arguments));
    let flags = typed_line::flags(&after);
    if above == "config" && SETTERS.contains(&name) {
        return set_in_file(after.first().copied());
    }
    if above == "keys" && keys::is_like_key(name) {
        return keys::in_history("");
    }
    if above == "runs" && continued::is_run(name) {
        return failure(format!("`{name}` is a run, and no command of `{}`", path.join(" ")))
            .with_next(Next::Type(format!("{} show {name}{flags}", path.join(" ")).into()));
    }
    if above == "batch" && Path::new(name).is_file() {
        let typed = format!("{} submit {}{flags}", path.join(" "), typed_line::quoted(name));
        return failure(format!("`{name}` is a file, and no command of `{}`", path.join(" ")))
            .with_next(Next::Type(typed.into()));
    }
    if let Some(typed) = synonyms::command(&above, name, &after) {
        return failure(format!("`{}` has no command `{name}`", path.join(" ")))
            .with_next(Next::Type(format!("{} {typed}", path[0]).into()));
    }
    let command = command_at(path);
    let known: Vec<&str> = help::names(&command).collect();
    let failure = failure(format!("`{}` has no command `{name}`", path.join(" ")));
    match nearest::nearest(name, known.iter().copied()) {
        Some(meant) => {
            let line: Vec<&str> = path.iter().skip(1).map(String::as_str).chain([meant]).collect();
            nearest::suggest(failure, Some(line.join(" ")))
        }
        None => nearest::suggest_or_list(failure, name, &known),
    }
}

/// The answer to `config set NAME VALUE`: no command writes the file of settings, which holds the user's own comments.
fn set_in_file(name: Option<&str>) -> Failure {
    let here = std::env::current_dir().unwrap_or_default();
    let file = Settings::user_file_in(&Environment::read(), &here)
        .map_or_else(|| "a file".to_owned(), |file| format!("`{}`", file.display()));
    let failure = Failure::new(
        Code::Usage,
        format!("no command changes settings: they stand in {file}, which you write"),
    );
    let meant = name.and_then(|name| {
        let name = name.split('=').next().unwrap_or(name);
        Settings::setting_names()
            .find(|known| *known == name)
            .or_else(|| nearest::nearest(name, Settings::setting_names()))
    });
    let see = Next::See(format!("{} config show", called::name()).into());
    match meant {
        Some(setting) => failure.with_next([
            Next::Machine(MachineStep::SetAsUser {
                setting: setting.into(),
                variable: Some(format!("PARALLEL_LLM_{}", setting.to_ascii_uppercase()).into()),
            }),
            see,
        ]),
        None => failure.with_next(see),
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
