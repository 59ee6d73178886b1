//! The call as it was typed: its words and flags, and the call written again with a part of it changed, a next step that does
//! what was meant when it is pasted.

use std::ffi::OsString;
use std::io::IsTerminal;

use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_settings::keys;

use super::help;
use crate::called;

/// The longest argument that is repeated, in characters. A longer one is a question, and stands for itself.
const WORD_CHARS_MAX: usize = 120;
/// What stands for a longer one.
pub(in crate::command) const QUESTION: &str = "\"QUESTION\"";

/// What ends the flags.
pub(in crate::command) const END_OF_FLAGS: &str = "--";
/// Question marks: Latin, full-width and Arabic.
pub(in crate::command) const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];

/// The longest argument shown in a message, in characters.
const SHOWN_CHARS_MAX: usize = 60;

/// An argument as a message shows it.
pub(in crate::command) fn shown(argument: &str) -> String {
    safe::excerpt(argument, SHOWN_CHARS_MAX)
}

/// The call with each argument replaced by these; `None` keeps it.
pub(in crate::command) fn again(
    arguments: &[OsString],
    change: impl Fn(usize, &str) -> Option<Vec<String>>,
) -> String {
    let mut line = called::name().to_owned();
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let argument = argument.to_string_lossy();
        for word in change(at, &argument).unwrap_or_else(|| vec![quoted(&argument)]) {
            line.push(' ');
            line += &word;
        }
    }
    line
}

/// The call as one of `ask`, with a question unless one is piped.
pub(in crate::command) fn asking(arguments: &[OsString]) -> String {
    let program = called::name();
    let line = again(arguments, |_, _| None).replacen(program, &format!("{program} ask"), 1);
    if std::io::stdin().is_terminal() { format!("{line} {QUESTION}") } else { line }
}

/// The refusal of a command that needs `--yes`, with the call that has it.
pub(in crate::command) fn unconfirmed(message: impl AsRef<str>) -> Failure {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let line = again(&arguments, |_, _| None);
    Failure::new(Code::Usage, message).with_next(Next::Type(format!("{line} --yes").into()))
}

/// The call with the argument at this place behind `--`, where everything is text.
pub(in crate::command) fn literally(arguments: &[OsString], place: usize) -> String {
    let line = again(arguments, |at, _| (at == place).then(Vec::new));
    let text = arguments.get(place).map(|text| quoted(&text.to_string_lossy())).unwrap_or_default();
    format!("{line} -- {text}")
}

/// The first flag among these words and all behind it, with a blank in front: a line to type keeps what limits it, such as
/// `--dry-run`. Nothing if a word may be a key.
pub(in crate::command) fn flags(words: &[&str]) -> String {
    let behind = words.iter().skip_while(|word| !word.starts_with('-') || **word == "-");
    let behind: Vec<&str> = behind.copied().collect();
    let is_of_key = |name: &str| ["--api-key", "--key", "--token", "--secret", "--password"].contains(&name);
    if behind.iter().any(|word| word.split('=').any(|part| keys::is_key(part) || is_of_key(part))) {
        return String::new();
    }
    behind.iter().flat_map(|word| [" ".to_owned(), quoted(word)]).collect()
}

/// An argument as a shell takes it back. Backticks would end its place in a message.
pub(in crate::command) fn quoted(argument: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@,+%~".contains(letter);
    if argument.chars().count() > WORD_CHARS_MAX || argument.contains(['`', '\n']) {
        return QUESTION.to_owned();
    }
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    if !argument.contains(['"', '$', '\\', '!']) {
        return format!("\"{argument}\"");
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// The arguments as text, up to the sign behind which everything is text.
pub(in crate::command) fn words(arguments: &[OsString]) -> Vec<String> {
    let words = arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
    words.take_while(|word| word != END_OF_FLAGS).collect()
}

/// Whether an argument is a flag of `ask`.
pub(in crate::command) fn is_flag_of_ask(word: &OsString) -> bool {
    let word = word.to_string_lossy();
    let name = word.split('=').next().unwrap_or_default();
    find_flag(name, |_| true)
}

/// Whether a word is a flag of `ask` whose value follows after a blank.
pub(in crate::command) fn takes_value(word: &str) -> bool {
    find_flag(word, |flag| flag.get_action().takes_values())
}

/// Whether a word is a flag of `ask` that does not stand without a value.
pub(in crate::command) fn needs_value(word: &str) -> bool {
    find_flag(word, |flag| {
        flag.get_action().takes_values() && flag.get_num_args().is_none_or(|count| count.min_values() > 0)
    })
}

/// Whether `ask` has a flag of this name for which this holds.
fn find_flag(word: &str, holds: impl Fn(&clap::Arg) -> bool) -> bool {
    let commands = help::command();
    let Some(ask) = commands.find_subcommand("ask") else { return false };
    ask.get_arguments().any(|argument| {
        let is_it = match word.strip_prefix("--") {
            Some(name) => argument.get_long() == Some(name),
            None => word.len() == 2 && argument.get_short().is_some_and(|short| word == format!("-{short}")),
        };
        is_it && holds(argument)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_back_what_was_typed() {
        for (argument, word) in [
            ("ask", "ask"),
            ("a b", "\"a b\""),
            ("*.rs", "\"*.rs\""),
            ("what's $5?", r"'what'\''s $5?'"),
            ("", "\"\""),
            ("two\nlines", QUESTION),
        ] {
            assert_eq!(quoted(argument), word);
        }
    }
}
