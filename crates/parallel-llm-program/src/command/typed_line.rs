//! The call as it was typed, written again with a part of it changed: a next step that does what was meant when it is
//! pasted.

use std::ffi::OsString;
use std::io::IsTerminal;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use crate::called;

/// The longest argument that is repeated, in characters. A longer one is a question, and stands for itself.
const WORD_CHARS_MAX: usize = 120;
/// What stands for a longer one.
const QUESTION: &str = "\"QUESTION\"";

/// The call with each argument replaced by these; `None` keeps it.
pub(super) fn again(arguments: &[OsString], change: impl Fn(usize, &str) -> Option<Vec<String>>) -> String {
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
pub(super) fn asking(arguments: &[OsString]) -> String {
    let program = called::name();
    let line = again(arguments, |_, _| None).replacen(program, &format!("{program} ask"), 1);
    if std::io::stdin().is_terminal() { format!("{line} {QUESTION}") } else { line }
}

/// The refusal of a command that needs `--yes`, with the call that has it.
pub(super) fn unconfirmed(message: impl AsRef<str>) -> Failure {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let line = again(&arguments, |_, _| None);
    Failure::new(Code::Usage, message).with_next(Next::Type(format!("{line} --yes").into()))
}

/// An argument as a shell takes it back. Backticks would end its place in a message.
pub(super) fn quoted(argument: &str) -> String {
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
