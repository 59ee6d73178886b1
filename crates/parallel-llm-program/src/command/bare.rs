//! A call whose first argument is no command: a bare question goes to `ask`.
//!
//! A question costs money, so whatever could be a misspelt command is refused, with the command that was probably meant. A
//! bare question has white space, ends with a question mark, or is a file (`@FILE`) or stdin (`-`).

use std::ffi::OsString;

use clap::Command;
use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use super::{Arguments, Work, help, synonyms};
use crate::called;

/// The longest argument shown in a message, in characters.
const SHOWN_CHARS_MAX: usize = 60;
/// The most words of a text whose first word is taken for a misspelt command: longer texts are sentences.
const COMMAND_WORDS_MAX: usize = 3;
/// The fewest unquoted words that are taken for a question whose quotes are missing.
const QUESTION_WORDS_MIN: usize = 3;
/// Question marks: Latin, full-width and Arabic.
const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];

/// What is wrong with the arguments.
pub(super) enum Mistake {
    /// An error of the parser, or help that was asked for.
    Parser(Box<clap::Error>),
    /// A call without a command that is no question.
    NoCommand(Failure),
}

impl From<clap::Error> for Mistake {
    fn from(error: clap::Error) -> Self {
        Self::Parser(error.into())
    }
}

impl From<Failure> for Mistake {
    fn from(failure: Failure) -> Self {
        Self::NoCommand(failure)
    }
}

/// Reads a call again that was not understood because of this error.
pub(super) fn parse(arguments: &[OsString], error: clap::Error) -> Result<Arguments, Mistake> {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let commands = help::command();
    let first = match words.first() {
        Some(first) if error.use_stderr() && first != "help" && commands.find_subcommand(first).is_none() => {
            first
        }
        _ => return Err(error.into()),
    };
    if is_flag(first) {
        return match ask(arguments) {
            Ok(asked) if has_question(&asked, &commands) => Ok(asked),
            _ => Err(error.into()),
        };
    }
    if let Some(meant) = quoted_command(first, &commands) {
        return Err(quoted(first, meant).into());
    }
    if is_question(first, &commands) {
        return ask(arguments).map_err(Mistake::from);
    }
    Err(no_command(&words, &commands).into())
}

/// The same arguments as those of `ask`.
fn ask(arguments: &[OsString]) -> Result<Arguments, clap::Error> {
    let mut asking = arguments.to_vec();
    asking.insert(1, "ask".into());
    help::try_parse(&asking)
}

/// Whether the prompt begins with a bare question.
fn has_question(asked: &Arguments, commands: &Command) -> bool {
    let Some(super::Command::Work(Work::Ask(ask))) = &asked.command else { return false };
    let first = ask.prompt.first().map(|part| part.to_string_lossy());
    first.is_some_and(|part| quoted_command(&part, commands).is_none() && is_question(&part, commands))
}

fn is_flag(word: &str) -> bool {
    word.starts_with('-') && word != "-"
}

fn is_question(text: &str, commands: &Command) -> bool {
    let text = text.trim();
    // No command has these characters.
    let is_source = text.starts_with('@') || text == "-";
    let has_words = text.split_whitespace().nth(1).is_some();
    let word = text.trim_end_matches(QUESTION_MARKS);
    is_source || has_words || (word.len() < text.len() && meant(word, commands).is_none())
}

/// The command line that stands in one argument, its command spelt right.
fn quoted_command(text: &str, commands: &Command) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (first, rest) = words.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let name = match commands.find_subcommand(first) {
        Some(command) => command.get_name(),
        None if words.len() <= COMMAND_WORDS_MAX && is_lower_case(first) => nearest(first, names(commands))?,
        None => return None,
    };
    let is_short = words.len() <= COMMAND_WORDS_MAX;
    let nested = commands.find_subcommand(name).filter(|_| is_short && is_lower_case(rest[0]));
    let second = nested.and_then(|command| nearest(rest[0], names(command))).unwrap_or(rest[0]);
    let line: Vec<&str> =
        [called::name(), name, second].into_iter().chain(rest.iter().skip(1).copied()).collect();
    let is_asked = text.contains(QUESTION_MARKS);
    let is_command =
        !is_asked && help::try_parse(&line.iter().map(OsString::from).collect::<Vec<_>>()).is_ok();
    is_command.then(|| line.join(" "))
}

fn is_lower_case(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_lowercase())
}

/// The command that `word` is probably meant to be, with the command above it; commands of the first level first.
fn meant(word: &str, commands: &Command) -> Option<String> {
    let first_level = names(commands).chain(["help"]);
    if let Some(name) = nearest(word, first_level).filter(|name| *name != word) {
        // A nested command of exactly this name is nearer than a misspelt one.
        return Some(nested(word, commands).unwrap_or_else(|| name.to_owned()));
    }
    let below: Vec<&str> = shown(commands).flat_map(names).collect();
    nearest(word, below).and_then(|name| nested(name, commands))
}

/// The first nested command of this name.
fn nested(name: &str, commands: &Command) -> Option<String> {
    let above = shown(commands).find(|command| names(command).any(|below| below == name))?;
    Some(format!("{} {name}", above.get_name()))
}

fn names(command: &Command) -> impl Iterator<Item = &str> {
    shown(command).map(Command::get_name)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

fn no_command(words: &[String], commands: &Command) -> Failure {
    let program = called::name();
    let first = &words[0];
    let shown = safe::excerpt(first, SHOWN_CHARS_MAX);
    let failure = Failure::new(Code::Usage, format!("there is no command `{shown}`"));
    let texts: Vec<&str> = words.iter().map(String::as_str).take_while(|word| !is_flag(word)).collect();
    let is_sentence = texts.len() >= QUESTION_WORDS_MIN;
    // `what` is like `wait`, but `what is faster` is rather a question.
    let is_close = nearest(first, names(commands)).is_some() || nested(first, commands).is_some();
    if let Some(meant) = meant(first, commands).filter(|_| is_close || !is_sentence) {
        return failure.with_next(Next::Meant(meant.into()));
    }
    let after: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    if let Some(typed) = synonyms::command("", first, &after).filter(|_| !is_sentence) {
        return failure.with_next(Next::Type(format!("{program} {typed}").into()));
    }
    if is_sentence {
        let question = safe::excerpt(&texts.join(" "), SHOWN_CHARS_MAX);
        return failure.with_next(Next::WriteAs(format!("{program} \"{question}\"").into()));
    }
    let asking = Next::Type(format!("{program} ask \"{shown}\"").into());
    failure.with_next([Next::See(format!("{program} --help").into()), asking])
}

fn quoted(text: &str, meant: String) -> Failure {
    let program = called::name();
    let shown = safe::excerpt(text, SHOWN_CHARS_MAX);
    let asking = Next::Type(format!("{program} ask \"{shown}\"").into());
    Failure::new(Code::Usage, format!("`{shown}` in quotes is a command, not a question"))
        .with_next([Next::Type(meant.into()), asking])
}
