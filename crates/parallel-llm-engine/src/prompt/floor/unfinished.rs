//! Recognizes a text that stops before its end, although nothing said so on its way.

use super::FloorBasis;
use super::vocabulary::DANGLING;
use super::words::lower;

/// The fewest words of a text of which it is told. Shorter ones may be anything.
const WORDS_MIN: usize = 8;

/// Whether a text is open where it ends, and no candidate is.
pub(super) fn is_open(text: &str, basis: &FloorBasis<'_>) -> bool {
    ends_open(text) && !basis.candidates.iter().any(|(_, one)| ends_open(one))
        || breaks_off(text) && basis.candidates.iter().all(|(_, one)| is_closed(one))
}

/// Whether a text ends within a block of code, a JSON object, brackets, emphasis, or behind a word that another must follow.
fn ends_open(text: &str) -> bool {
    let text = text.trim_end();
    if !text.matches("```").count().is_multiple_of(2) || is_open_json(text) {
        return true;
    }
    let mut lines = text.lines().rev().map(str::trim);
    let (line, before) = (lines.next().unwrap_or(text), lines.next().unwrap_or_default());
    // A code that begins, the number of a list, and a row that is shorter than the one before.
    let is_number = line.strip_suffix(['.', ')']).is_some_and(|number| number.parse::<u8>().is_ok());
    let is_row = before.starts_with('|') && line.starts_with('|');
    if !line.starts_with("```") && !line.matches('`').count().is_multiple_of(2)
        || is_number && before.starts_with(|one: char| one.is_ascii_digit()) && before.contains(' ')
        || is_row && line.matches('|').count() < before.matches('|').count()
    {
        return true;
    }
    let words = lower(text);
    if words.len() < WORDS_MIN {
        let is_word = words.len() == 1 && words.iter().any(|word| word.len() > 1 && DANGLING.has(word));
        return is_word || words.len() > 1 && text.ends_with([',', '(']);
    }
    let is_prose = !line.contains(['`', '$', '\\', '|']) && !line.contains("://");
    let last = text.rsplit(|one: char| !one.is_alphabetic()).next();
    let dangles = last.is_some_and(|last| DANGLING.has(last));
    let count = |one: char| line.matches(one).count();
    let is_within = text.ends_with([',', '(', '[', '–', '×', '+', '='])
        || count('(') > count(')') && !line.contains(":(")
        || is_emphatic(line);
    is_prose && (dangles || is_within)
}

/// Whether emphasis begins in a line and does not end. `n**2` is none.
fn is_emphatic(line: &str) -> bool {
    let pieces: Vec<&str> = line.split("**").collect();
    let begins =
        |two: &[&str]| !two[0].ends_with(char::is_alphanumeric) && two[1].starts_with(char::is_alphanumeric);
    pieces.len().is_multiple_of(2) && pieces.windows(2).any(begins)
}

/// Whether a text is a JSON object or list without its end.
fn is_open_json(text: &str) -> bool {
    text.starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// Whether the last sentence of a text in prose has no end, although those before it have one.
fn breaks_off(text: &str) -> bool {
    let line = text.lines().next_back().unwrap_or(text).trim();
    let is_prose = line.starts_with(|one: char| one.is_alphabetic() || one == '"');
    let has_sentence = [". ", "! ", "? "].iter().any(|end| line.contains(end));
    let last = line.rsplit(". ").next().unwrap_or(line);
    is_prose
        && has_sentence
        && last.split(' ').count() >= WORDS_MIN - 2
        && line.ends_with(|one: char| one.is_alphabetic())
        && !line.contains(['`', '$', '\\'])
}

/// Whether a text ends as a sentence does.
fn is_closed(text: &str) -> bool {
    text.trim_end().ends_with(['.', '!', '?', '…', '"', '”', ')'])
}
