//! Recognizes a text that stops before its end, although nothing said so on its way.

use super::FloorBasis;
use super::vocabulary::DANGLING;
use super::words::lower;

/// The fewest words of a text of which it is told. Shorter ones may be anything.
const WORDS_MIN: usize = 8;
/// The fewest words of a sentence that ends within.
const SENTENCE_WORDS_MIN: usize = 4;

/// Whether a text is open where it ends, and no candidate is.
pub(super) fn is_open(text: &str, basis: &FloorBasis<'_>) -> bool {
    ends_open(text) && !basis.candidates.iter().any(|(_, one)| ends_open(one)) || breaks_off(text, basis)
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
        // `What it is` may be a title.
        let is_sentence = words.len() >= SENTENCE_WORDS_MIN
            && text.ends_with(char::is_alphabetic)
            && words
                .last()
                .is_some_and(|last| matches!(last.as_str(), "because" | "the" | "and" | "or" | "of" | "is"));
        return is_word || is_sentence || words.len() > 1 && text.ends_with([',', '(']);
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

/// Whether a text in prose ends within a word that the request or a candidate has whole.
fn breaks_off(text: &str, basis: &FloorBasis<'_>) -> bool {
    let line = text.lines().next_back().unwrap_or(text).trim();
    let has_sentence = [". ", "! ", "? "].iter().any(|end| line.contains(end));
    let Some(last) = line.rsplit(' ').next().map(str::to_lowercase) else { return false };
    if !has_sentence
        || last.len() < 2
        || !last.chars().all(char::is_alphabetic)
        || lower(text).len() < WORDS_MIN
    {
        return false;
    }
    let known: Vec<String> = basis.material().flat_map(lower).collect();
    let is_longer = |word: &String| word.len() > last.len() + 1 && word.starts_with(&last);
    !known.contains(&last) && known.iter().any(is_longer)
}
