//! A call whose first argument is no command: a bare question goes to `ask`.
//!
//! A question costs money, so whatever could be a misspelt command is refused, with the command that was probably meant. A
//! bare question has white space, ends with a question mark, or is a file (`@FILE`) or stdin (`-`).

use std::ffi::OsString;

use clap::Command;
use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use super::{lone_word, misuse, synonyms};
use crate::called::{self, SHORT};
use crate::command::ask::continued;
use crate::command::line::help::{names, nested, shown};
use crate::command::line::typed_line::QUESTION_MARKS;
use crate::command::line::{help, typed_line};
use crate::command::setup::keys;
use crate::command::setup::keys::is_like_key;
use crate::command::{Arguments, Work};
use parallel_llm_settings::PROGRAM;
use parallel_llm_settings::keys::is_key;

/// The most words of a text whose first word is taken for a misspelt command: longer texts are sentences.
const COMMAND_WORDS_MAX: usize = 3;
/// The fewest unquoted words that are taken for a question whose quotes are missing.
const QUESTION_WORDS_MIN: usize = 3;
/// The place of a bare question among the arguments of `ask`.
const ASKED_PLACE: usize = 2;

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
    if let Some(refused) = quoted_command(first, &commands) {
        return Err(refused.into());
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
    let Some(crate::command::Command::Work(Work::Ask(ask))) = &asked.command else { return false };
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
    let is_command =
        || nearest(word, names(commands).chain(["help"])).is_some() || nested(word, commands).is_some();
    is_source || has_words || (word.len() < text.len() && !is_command())
}

/// The refusal of a command line that stands in one argument; `None` for a question that only begins like one.
fn quoted_command(text: &str, commands: &Command) -> Option<Failure> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_program = |word: &str| [PROGRAM, SHORT].contains(&word);
    let words = if words.first().is_some_and(|word| is_program(word)) { &words[1..] } else { &words[..] };
    let is_short = words.len() <= COMMAND_WORDS_MAX;
    let (first, mut rest) = words.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let like = |word: &str, command: &Command| {
        let is_near = is_short && is_lower_case(word);
        let exact = names(command).find(|name| *name == word);
        exact.or_else(|| nearest(word, names(command)).filter(|_| is_near)).map(str::to_owned)
    };
    let mut path = vec![like(first, commands)?];
    let mut command = commands.find_subcommand(&path[0])?;
    while let Some(inner) = rest.first().and_then(|word| like(word, command)) {
        command = command.find_subcommand(&inner)?;
        path.push(inner);
        rest = &rest[1..];
    }
    let line: Vec<OsString> = std::iter::once(called::name())
        .chain(path.iter().map(String::as_str))
        .chain(rest.iter().copied())
        .map(OsString::from)
        .collect();
    let holds_key = path[0] == "keys" && rest.iter().any(|word| is_like_key(word));
    if holds_key {
        return Some(quoted_key(&path));
    }
    let error = help::try_parse(&line).err().filter(clap::Error::use_stderr);
    let is_call = has_flag(command, rest)
        || (path[0] == "config" && is_short_setter(rest))
        || (!text.contains(QUESTION_MARKS) && is_whole(&path, rest, error.is_none()));
    is_call.then(|| quoted(text, &line, error))
}

/// Whether the words behind a command are what it takes, and hardly prose.
fn is_whole(path: &[String], rest: &[&str], is_parsed: bool) -> bool {
    let is_name = |word: &str| word.contains(|letter: char| !letter.is_ascii_alphabetic());
    match (path, rest) {
        (_, []) => path.len() > 1,
        ([_, _, ..], [word, ..]) => is_parsed || (is_name(word) && !word.contains('\'')),
        // What these take may be any word of a language.
        ([command], _) if command == "ask" => false,
        ([command], [word]) if command == "explain" => is_parsed && word.contains('_'),
        ([_], [_]) => is_parsed,
        ([command], [word, argument, ..]) => {
            synonyms::command(command, word, &[]).is_some() && argument.starts_with('@')
        }
        ([], _) => false,
    }
}

/// Whether a flag stands right behind the command, or one of its own further on.
fn has_flag(command: &Command, rest: &[&str]) -> bool {
    let is_long = |word: &str| {
        word.strip_prefix("--").is_some_and(|name| name.starts_with(|one: char| one.is_ascii_alphabetic()))
    };
    let is_short =
        |word: &str| word.len() == 2 && word.starts_with('-') && word.as_bytes()[1].is_ascii_alphabetic();
    let is_own = |word: &&str| {
        let name = word.split('=').next().unwrap_or(word);
        command
            .get_arguments()
            .any(|argument| argument.get_long().is_some_and(|long| name == format!("--{long}")))
    };
    rest.first().is_some_and(|word| is_long(word) || is_short(word)) || rest.iter().any(is_own)
}

/// Whether these words set something, as `config set` does in other programs.
fn is_short_setter(rest: &[&str]) -> bool {
    rest.len() <= COMMAND_WORDS_MAX && rest.first().is_some_and(|word| misuse::SETTERS.contains(word))
}

/// The refusal of a key in quotes. The key is not shown, and the command reads it from the terminal.
fn quoted_key(path: &[String]) -> Failure {
    let program = called::name();
    let line = path.join(" ");
    Failure::new(
        Code::Usage,
        format!("`{line} ...` in quotes is a command, not a question, and seems to hold a key"),
    )
    .with_next(Next::Type(format!("{program} keys set openrouter").into()))
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

fn no_command(words: &[String], commands: &Command) -> Failure {
    let program = called::name();
    let first = &words[0];
    let shown = typed_line::shown(first);
    let failure = Failure::new(Code::Usage, format!("there is no command `{shown}`"));
    let typed = |line: String| failure.clone().with_next(Next::Type(format!("{program} {line}").into()));
    let texts: Vec<&str> = words.iter().map(String::as_str).take_while(|word| !is_flag(word)).collect();
    let is_sentence = texts.len() >= QUESTION_WORDS_MIN;
    if is_key(first) {
        return keys::in_history("");
    }
    let after: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let flags = typed_line::flags(&after);
    if continued::is_id(first) {
        return typed(format!("runs show {first}{flags}"));
    }
    let asking: Vec<OsString> =
        [program, "ask"].into_iter().chain(words.iter().map(String::as_str)).map(OsString::from).collect();
    if let Some(refused) = lone_word::no_text(first, ASKED_PLACE, &asking).filter(|_| texts.len() == 1) {
        return refused;
    }
    if let Some(line) = synonyms::command("", first, &after).filter(|_| !is_sentence) {
        return typed(line);
    }
    // `exit` is like `export`, but hardly meant as it.
    if texts.len() == 1 && lone_word::is_reply(first) {
        let refused = lone_word::command(first, ASKED_PLACE, &asking);
        return failure.with_next(refused.map(|refused| refused.next_steps().to_vec()).unwrap_or_default());
    }
    // `what` is like `wait`, but `what is faster` is rather a question.
    let exact = nested(first, commands);
    let is_close = nearest(first, names(commands)).is_some() || exact.is_some();
    if let Some(meant) = meant(first, commands).filter(|_| is_close || !is_sentence) {
        let behind = texts.iter().skip(1).filter(|_| exact.is_some() && !is_sentence);
        let line = std::iter::once(meant).chain(behind.map(|word| typed_line::quoted(word)));
        let line = line.collect::<Vec<_>>().join(" ");
        return failure.with_next(Next::Meant(format!("{line}{flags}").into()));
    }
    if is_sentence {
        let question = typed_line::shown(&texts.join(" "));
        return failure.with_next(Next::WriteAs(format!("{program} \"{question}\"{flags}").into()));
    }
    let asking = Next::Type(format!("{program} ask \"{shown}\"{flags}").into());
    failure.with_next([Next::See(format!("{program} --help").into()), asking])
}

/// The refusal of a command in quotes, with the line to type, or with what is wrong in it.
fn quoted(text: &str, line: &[OsString], error: Option<clap::Error>) -> Failure {
    let program = called::name();
    let shown = typed_line::shown(text);
    let failure = Failure::new(Code::Usage, format!("`{shown}` in quotes is a command, not a question"));
    let mut next = match error {
        None => {
            let words: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
            vec![Next::Type(words.join(" ").into())]
        }
        Some(error) => misuse::failure(&error, line).next_steps().to_vec(),
    };
    next.push(Next::Type(format!("{program} ask \"{shown}\"").into()));
    failure.with_next(next)
}
