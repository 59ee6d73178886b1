//! Recognizes a text without a word of an answer: its frame, or places to be filled in.

use super::FloorBasis;
use super::words::lower;

/// What begins and ends a place to be filled in, or a part of a frame.
const FRAMES: [(&str, &str); 6] =
    [("{{", "}}"), ("<<<", ">>>"), ("<", ">"), ("[", "]"), ("===", "==="), ("---", "---")];
/// Words of a request for data.
const DATA_WORDS: [&str; 12] = [
    "json",
    "object",
    "objects",
    "dict",
    "dictionary",
    "list",
    "array",
    "schema",
    "config",
    "configuration",
    "payload",
    "format",
];
/// The fewest letters of a name in brackets.
const NAME_LETTERS_MIN: usize = 3;
/// The fewest names in brackets that make a form to be filled in.
const NAMES_MIN: usize = 2;

/// Whether a text is of this kind, and neither the request nor a candidate is.
pub(super) fn is_all(text: &str, basis: &FloorBasis<'_>) -> bool {
    let is_frame = is_framed(text) && !basis.material().any(|known| known.contains(['<', '[', '{', '=']));
    let is_form = names(text) >= NAMES_MIN && !basis.material().any(|known| names(known) > 0);
    let is_empty = is_empty_json(text) && !basis.candidates.iter().any(|(_, one)| is_empty_json(one));
    let is_code = |text: &str| text.contains("```") && text.trim_matches(['`', '\n', ' ']).is_empty();
    let is_bare = is_code(text) && !basis.material().any(is_code);
    let is_heading = |text: &str| text.lines().all(|line| line.trim().is_empty() || line.starts_with('#'));
    let is_only_headed = is_heading(text) && !basis.candidates.iter().any(|(_, one)| is_heading(one));
    is_frame || is_form || is_empty || is_bare || is_only_headed || is_data(text, basis)
}

/// Whether a text is data, where neither the request nor a candidate has any.
fn is_data(text: &str, basis: &FloorBasis<'_>) -> bool {
    let is_object = |text: &str| {
        let bare = text.trim().trim_start_matches("```json").trim_matches(['`', '\n', ' ']);
        bare.starts_with(['{', '['])
            && bare.contains('{')
            && serde_json::from_str::<serde::de::IgnoredAny>(bare).is_ok()
    };
    let asks = |word: &String| DATA_WORDS.contains(&word.as_str());
    is_object(text)
        && !basis.material().any(|known| known.contains(['{', '[']))
        && !lower(basis.request).iter().any(asks)
}

/// Whether everything that a text says stands in the frame of an answer.
fn is_framed(text: &str) -> bool {
    let mut rest = text.to_owned();
    for (open, close) in FRAMES {
        while let Some(begin) = rest.find(open) {
            let inside = begin + open.len();
            let Some(length) = rest[inside..].find(close) else { break };
            let words = &rest[inside..inside + length];
            let is_name = words.chars().all(|one| one.is_alphabetic() || " _/-".contains(one))
                && words.chars().filter(|one| one.is_alphabetic()).count() >= NAME_LETTERS_MIN;
            if !is_name {
                return false;
            }
            rest.replace_range(begin..inside + length + close.len(), " ");
        }
    }
    lower(&rest).is_empty() && !lower(text).is_empty()
}

/// How many places a text leaves: `[YEAR]`, `{plan}`, `____`.
fn names(text: &str) -> usize {
    let is_name = |name: &str, is_letter: fn(u8) -> bool| {
        name.len() >= NAME_LETTERS_MIN && name.bytes().all(|one| is_letter(one) || one == b' ' || one == b'_')
    };
    let between = |open: char, close: char, is_letter: fn(u8) -> bool| {
        let inside = text.split(open).skip(1).filter_map(move |piece| Some(piece.split_once(close)?.0));
        inside.filter(|name| is_name(name, is_letter)).count()
    };
    let blanks = text.split_whitespace().filter(|word| word.len() > 2 && word.bytes().all(|one| one == b'_'));
    between('[', ']', |one| one.is_ascii_uppercase())
        + between('{', '}', |one| one.is_ascii_lowercase())
        + blanks.count()
}

/// Whether a text is a JSON object whose values say nothing.
fn is_empty_json(text: &str) -> bool {
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
    let says_nothing = |value: &serde_json::Value| value.is_null() || value.as_str() == Some("");
    object.is_ok_and(|object| !object.is_empty() && object.values().all(says_nothing))
}
