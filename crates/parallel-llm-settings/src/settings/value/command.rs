//! Parses a program with its arguments, which is run without a shell.

use std::path::Path;

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::Advice;

use super::failure::invalid;
use super::words;

/// Most words of a command.
const WORDS_MAX: usize = 64;

/// A program and its arguments in one text, split like a shell does, without other shell syntax.
pub(in crate::settings) fn of_text(name: &str, text: &str) -> Result<Vec<String>, Failure> {
    if let Some(sign) = words::shell_syntax(text) {
        let message = format!("`{name}` is run without a shell, which alone understands `{sign}`");
        let next = Advice::QuoteOrShell;
        return Err(invalid(message).with_next(next));
    }
    let words = words::split(text).ok_or_else(|| {
        invalid(format!("`{name}` has a quote that is not closed")).with_next(Advice::CloseQuote)
    })?;
    of_words(name, words)
}

/// A program and its arguments as separate words.
pub(in crate::settings) fn of_words(name: &str, words: Vec<String>) -> Result<Vec<String>, Failure> {
    let count = words.len();
    if count > WORDS_MAX {
        return Err(invalid(format!("there are {count} words in `{name}`; at most {WORDS_MAX} are read")));
    }
    let program = words.first().map(String::as_str).unwrap_or_default();
    if program.trim().is_empty() || words.iter().any(|word| word.contains('\0')) {
        return Err(invalid(format!("`{name}` names no program")));
    }
    Ok(words)
}

/// Whether a program is named by a path, and not by a name to be found in `PATH`.
pub(in crate::settings) fn is_path(program: &str) -> bool {
    Path::new(program).components().count() > 1
}
