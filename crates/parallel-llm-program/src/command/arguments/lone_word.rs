//! A question that is hardly meant as one: a word that names a file, a pattern, an address or a command, or a command with its
//! subcommand.

use std::ffi::OsString;
use std::path::Path;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::attachment;

use super::synonyms;
use crate::called;
use crate::command::ask::question::Ask;
use crate::command::line::{help, near_file, typed_line};

/// The beginnings of a path, here or elsewhere.
const ROOTS: [&str; 6] = ["/", "./", "../", "~/", ".\\", "..\\"];
/// The longest ending of a file's name, in letters.
const ENDING_CHARS_MAX: usize = 5;
/// Words for leaving other programs.
const LEAVING: [&str; 4] = ["exit", "quit", "q", "bye"];
/// Answers to a question that this program has not asked.
const REPLIES: [&str; 4] = ["y", "n", "yes", "no"];

/// Refuses a question of one word that names a file, or looks like a path, a pattern or an address, and one that begins like a
/// command with its subcommand. The refusal of a word that is a command is left to whoever knows whether a text is piped beside it.
pub(super) fn check(ask: &mut Ask, arguments: &[OsString]) -> Result<(), Failure> {
    let [only] = ask.prompt.as_slice() else {
        return typed_command(ask, arguments).map_or(Ok(()), Err);
    };
    let Some(word) = only.to_str().filter(|word| !word.starts_with('@') && *word != "-") else {
        return Ok(());
    };
    let Some(at) = place(word, arguments) else { return Ok(()) };
    if let Some(failure) = no_text(word, at, arguments) {
        return Err(failure);
    }
    if ask.continued.is_none() && ask.template.is_none() && ask.system.is_none() {
        ask.lone_command = command(word, at, arguments);
    }
    Ok(())
}

/// The place of a word of the question among the arguments.
fn place(word: &str, arguments: &[OsString]) -> Option<usize> {
    let words = typed_line::words(arguments);
    let is_value = |at: &usize| *at > 1 && typed_line::takes_value(&words[*at - 1]);
    let mut places = (1..words.len()).filter(|at| words[*at] == word);
    // Behind `--` everything is text; behind `-c` it may be the question.
    places.clone().find(|at| !is_value(at)).or_else(|| places.next())
}

/// The refusal of several words that begin like a command of this program with a subcommand.
fn typed_command(ask: &Ask, arguments: &[OsString]) -> Option<Failure> {
    let words: Option<Vec<&str>> = ask.prompt.iter().map(|word| word.to_str()).collect();
    let words = words?;
    let [name, nested, ..] = words[..] else { return None };
    help::command().find_subcommand(name)?.find_subcommand(nested)?;
    let at = place(name, arguments)?;
    let line = typed_line::words(arguments).into_iter().skip(at);
    let line: Vec<String> = line.map(|word| typed_line::quoted(&word)).collect();
    let places: Vec<usize> = words.iter().filter_map(|word| place(word, arguments)).collect();
    let question = typed_line::quoted(&words.join(" "));
    let as_text = typed_line::again(arguments, |place, _| match places.contains(&place) {
        true if place == at => Some(vec![question.clone()]),
        true => Some(Vec::new()),
        false => None,
    });
    let steps =
        [Next::Type(format!("{} {}", called::name(), line.join(" ")).into()), Next::Type(as_text.into())];
    Some(Failure::new(Code::Usage, format!("`{name} {nested}` is hardly a question")).with_next(steps))
}

/// The refusal of a word, the argument at this place, that names a file or looks like a name.
pub(super) fn no_text(word: &str, at: usize, arguments: &[OsString]) -> Option<Failure> {
    let path = near_file::at_home(Path::new(word));
    let instead = |words: Vec<String>| {
        Next::Type(typed_line::again(arguments, |place, _| (place == at).then(|| words.clone())).into())
    };
    let attached =
        || instead(vec!["-a".to_owned(), typed_line::quoted(word), typed_line::QUESTION.to_owned()]);
    let is_pattern = is_pattern(word);
    let local = word.strip_prefix("file://").filter(|path| !path.contains([' ', '%']));
    let (what, step) = if let Some(local) = local {
        (
            "is the address of a file, and would be sent as the question",
            Some(instead(vec![format!("@{}", typed_line::quoted(local))])),
        )
    } else if attachment::is_address(&path) {
        ("is an address, and nothing is fetched", Some(Next::Do(Advice::SaveFileFirst)))
    } else if path.is_dir() {
        ("is a folder, and its name would be sent as the question", Some(attached()))
    } else if path.exists() {
        let file = instead(vec![format!("@{}", typed_line::quoted(word))]);
        ("is a file, and its name would be sent as the question", Some(file))
    } else if let Some(failure) = word.strip_prefix('/').and_then(|name| command(name, at, arguments)) {
        return Some(failure);
    } else if is_pattern && attachment::finds(&path) {
        ("is a pattern, and would be sent as the question", Some(attached()))
    } else if is_pattern {
        ("is a pattern that fits nothing here, and would be sent as the question", None)
    } else if is_path(word) {
        let meant = near_file::meant("@", &path).map(|meant| Next::Meant(meant.into()));
        ("is the name of nothing here, and would be sent as the question", meant)
    } else {
        return None;
    };
    let literally = Next::Type(typed_line::literally(arguments, at).into());
    let message = format!("`{}` {what}", typed_line::shown(word));
    Some(
        Failure::new(Code::Usage, message).with_next(step.into_iter().chain([literally]).collect::<Vec<_>>()),
    )
}

/// Whether a word ends another program, or answers it.
pub(super) fn is_reply(word: &str) -> bool {
    LEAVING.iter().chain(&REPLIES).any(|reply| word.eq_ignore_ascii_case(reply))
}

/// The refusal of a word, the argument at this place, that is a command of this or of another program.
pub(super) fn command(word: &str, at: usize, arguments: &[OsString]) -> Option<Failure> {
    let program = called::name();
    let name = word.to_lowercase();
    let commands = help::command();
    let typed = |line: &str| Some(Next::Type(format!("{program} {line}").into()));
    let step = if name == "help" {
        Some(Next::See(format!("{program} ask --help").into()))
    } else if name == "ask" {
        typed("ask \"QUESTION\"")
    } else if commands.find_subcommand(&name).is_some() {
        typed(&name)
    } else if let Some(line) = help::nested(&name, &commands).or_else(|| synonyms::command("", &name, &[])) {
        typed(&line)
    } else if REPLIES.contains(&&*name) {
        typed(&format!("ask -c {}", typed_line::quoted(word)))
    } else if LEAVING.contains(&&*name) {
        None
    } else {
        return None;
    };
    let literally = Next::Type(typed_line::literally(arguments, at).into());
    let failure = Failure::new(Code::Usage, format!("`{word}` is hardly a question"));
    Some(failure.with_next(step.into_iter().chain([literally]).collect::<Vec<_>>()))
}

/// Whether a word has the form of a pattern, and not of a product such as `2*3`.
fn is_pattern(word: &str) -> bool {
    let is_at_end = word.starts_with('*') || word.ends_with('*');
    is_name(word) && word.contains('*') && (is_at_end || word.contains("/*") || ending(word).is_some())
}

/// Whether a word has the form of a path, or of a file's name.
fn is_path(word: &str) -> bool {
    is_name(word) && (ROOTS.iter().any(|root| word.starts_with(root)) || ending(word).is_some())
}

fn is_name(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-+~*:/\\{},".contains(letter))
}

/// What stands behind the last dot of a file's name.
fn ending(word: &str) -> Option<&str> {
    let (name, ending) = word.rsplit_once('.')?;
    let has_ending = (1..=ENDING_CHARS_MAX).contains(&ending.len())
        && ending.starts_with(|letter: char| letter.is_ascii_lowercase())
        && ending.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (has_ending && !name.is_empty()).then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_patterns_look_like_them() {
        for path in
            ["./missing.txt", "../x", "~/q", "/tmp/nothing", "missing.sql", "src/nope.rs", "C:\\a.txt"]
        {
            assert!(is_path(path) && !is_pattern(path), "{path}");
        }
        for pattern in ["*.sql", "src/*", "**/*.rs", "test_*", "*", "a*.txt", "src/{a,b}*.rs"] {
            assert!(is_pattern(pattern), "{pattern}");
        }
        for word in
            ["TCP/IP", "1/2", "2*3", "3.14", "why?", "etc.", "什么是node.js", "ASP.NET", "f(x.y)", "rust"]
        {
            assert!(!is_path(word) && !is_pattern(word), "{word}");
        }
    }
}
