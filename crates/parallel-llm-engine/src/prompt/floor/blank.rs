//! Recognizes a text without a word of an answer: its frame, or places to be filled in.

use std::collections::BTreeSet;

use super::FloorBasis;
use super::words::{head, lower};

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
/// The fewest names in brackets that make a form to be filled in, and their share of all words, in hundredths.
const NAMES_MIN: usize = 2;
const NAMES_PERCENT: usize = 20;
/// So few signs in so long a text are no drawing.
const SIGNS_MAX: usize = 2;
const SIGNS_BYTES_MAX: usize = 8;
/// The longest name in brackets, in bytes.
const NAME_BYTES_MAX: usize = 40;

/// Whether a text is of this kind, and neither the request nor a candidate is.
pub(super) fn is_all(text: &str, basis: &FloorBasis<'_>) -> bool {
    let is_frame = is_framed(text) && !basis.material().any(|known| known.contains(['<', '[', '{', '=']));
    let places = names(text);
    let is_form = places >= NAMES_MIN
        && places * 100 >= lower(text).len() * NAMES_PERCENT
        && !basis.material().any(|known| names(known) > 0);
    let ways: [fn(&str) -> bool; 5] = [is_empty_json, is_unfilled, has_empty_code, is_headed, is_empty_table];
    let is_blank =
        ways.into_iter().any(|is_so| is_so(text) && !basis.candidates.iter().any(|(_, one)| is_so(one)));
    is_frame
        || is_form
        || is_blank
        || is_address(text, basis)
        || is_data(text, basis)
        || is_drawn(text, basis)
}

/// Whether a block of code is empty, and no other is there.
fn has_empty_code(text: &str) -> bool {
    let (mut open, mut has_block) = (None, false);
    for line in text.lines().map(str::trim) {
        let depth = line.len() - line.trim_start_matches('`').len();
        match open {
            None if depth >= 3 => open = Some(depth),
            Some(fence) if depth >= fence && line.len() == depth => (open, has_block) = (None, true),
            Some(_) if !line.is_empty() => return false,
            _ => {}
        }
    }
    has_block
}

/// Whether a text is nothing but headings: `# One`, `Act 1:`.
fn is_headed(text: &str) -> bool {
    let is_heading = |line: &&str| {
        let named = line.trim_start_matches('#');
        named.len() < line.len() && named.starts_with(' ') || line.trim_end_matches('*').ends_with(':')
    };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.len() > 1 && lines.iter().all(is_heading)
}

/// Whether at least a third of the lines only say that something is to be done.
fn is_unfilled(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_open = |line: &&&str| {
        let bare = line.trim_matches(|one: char| !one.is_alphanumeric());
        matches!(
            bare.to_lowercase().as_str(),
            "todo" | "tbd" | "tba" | "to be done" | "to be determined" | "lorem ipsum"
        )
    };
    let open = lines.iter().filter(is_open).count();
    open >= NAMES_MIN && open * 3 >= lines.len()
}

/// Whether a text is a table with nothing below its head.
fn is_empty_table(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_empty = |line: &&str| !line.contains(char::is_alphanumeric);
    lines.len() > 2 && lines.iter().all(|line| line.starts_with('|')) && lines[1..].iter().all(is_empty)
}

/// Whether a text is only a web address that neither the request nor a candidate has.
fn is_address(text: &str, basis: &FloorBasis<'_>) -> bool {
    (text.starts_with("https://") || text.starts_with("http://"))
        && !text.contains(char::is_whitespace)
        && !basis.material().any(|known| known.contains("http") || known.contains(text))
}

/// Whether a text has only signs: those of emphasis, the same few again and again, or some where most candidates are prose.
fn is_drawn(text: &str, basis: &FloorBasis<'_>) -> bool {
    if text.contains(char::is_alphanumeric) {
        return false;
    }
    let signs: BTreeSet<char> = text.chars().filter(|one| !one.is_whitespace()).collect();
    let is_emphasis = signs.iter().all(|one| "*_`#~".contains(*one));
    let is_prose =
        |known: &str| lower(known).iter().filter(|word| word.len() >= NAME_LETTERS_MIN).count() >= 3;
    let prose = basis.candidates.iter().filter(|(_, one)| is_prose(one)).count();
    let have_words = basis.candidates.iter().all(|(_, one)| one.contains(char::is_alphanumeric));
    is_emphasis && !basis.candidates.iter().any(|(_, one)| one.contains(text))
        || signs.len() <= SIGNS_MAX && text.len() > SIGNS_BYTES_MAX && have_words
        || prose * 2 > basis.candidates.len()
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

/// How many words stand in places that a text leaves: `[YEAR]`, `[Insert opening]`, `{plan}`, `____`.
fn names(text: &str) -> usize {
    let is_name = |name: &str| {
        (NAME_LETTERS_MIN..=NAME_BYTES_MAX).contains(&name.len())
            && name.starts_with(|one: char| one.is_ascii_alphabetic())
            && name.bytes().all(|one| one.is_ascii_alphanumeric() || b" _'-/".contains(&one))
    };
    // What follows makes a link or an index of it.
    let in_brackets = text.split('[').skip(1).filter_map(|piece| piece.split_once(']'));
    let in_brackets = in_brackets
        .filter(|(name, behind)| is_name(name) && !behind.starts_with(['(', '[', ':', '=']))
        .map(|(name, _)| lower(name).len());
    let is_variable = |name: &&str| name.bytes().all(|one| one.is_ascii_lowercase() || b" _".contains(&one));
    // A command of LaTeX stands before its braces.
    let in_braces = text.match_indices('{').filter(|(at, _)| !text[..*at].ends_with(char::is_alphanumeric));
    let in_braces =
        in_braces.filter_map(|(at, _)| Some(head(&text[at + 1..], NAME_BYTES_MAX + 1).split_once('}')?.0));
    let in_braces = in_braces.filter(|name| is_name(name) && is_variable(name)).map(|name| lower(name).len());
    let blanks = text.split_whitespace().filter(|word| word.len() > 2 && word.bytes().all(|one| one == b'_'));
    in_brackets.sum::<usize>() + in_braces.sum::<usize>() + blanks.count()
}

/// Whether a text is a JSON object whose values say nothing.
fn is_empty_json(text: &str) -> bool {
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
    let says_nothing = |value: &serde_json::Value| value.is_null() || value.as_str() == Some("");
    object.is_ok_and(|object| !object.is_empty() && object.values().all(says_nothing))
}
