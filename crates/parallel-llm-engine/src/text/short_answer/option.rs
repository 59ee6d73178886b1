//! The options of a request, and the option an answer names.

use super::literal::{sentence, unwrapped};

/// The most options: the letters there are.
const OPTIONS_MAX: usize = 26;
/// The longest option in bytes. What is longer is a paragraph that begins with a letter.
const OPTION_BYTES_MAX: usize = 1_000;

/// An option: its label in upper case, and its text.
pub(super) type Choice = (char, String);

/// The options of a request: lines, else pieces, that begin with `A)`, `(A)`, `A.` or `A:`, in order from `A`. Empty if it has
/// fewer than two.
pub(super) fn listed(request: &str) -> Vec<Choice> {
    let lines = in_order(request.lines().filter_map(of_line));
    let found =
        if lines.len() > 1 { lines } else { in_order(request.split('(').skip(1).filter_map(bracketed)) };
    if found.len() > 1 { found } else { Vec::new() }
}

/// The options whose labels follow the alphabet from `A`.
fn in_order(options: impl Iterator<Item = Choice>) -> Vec<Choice> {
    let mut found = Vec::new();
    for (label, text) in options {
        if label as usize == 'A' as usize + found.len() && found.len() < OPTIONS_MAX {
            found.push((label, text));
        }
    }
    found
}

/// What may stand before the first option on its line.
const HEADINGS: [&str; 3] = ["options:", "choices:", "answer choices:"];

/// The option that a line is. Before the first one its heading may stand.
pub(super) fn of_line(line: &str) -> Option<Choice> {
    let own = line.trim_start();
    let behind = |heading: &&str| {
        own.get(..heading.len())
            .filter(|begin| begin.eq_ignore_ascii_case(heading))
            .map(|_| &own[heading.len()..])
    };
    let line = HEADINGS.iter().find_map(behind).unwrap_or(own);
    let line = line.trim_start().trim_start_matches(['-', '*', '•', '(', '[', ' ']);
    let label = line.chars().next().filter(char::is_ascii_alphabetic)?;
    let text = line[1..].trim_start_matches('*').strip_prefix([')', '.', ':', ']'])?.trim_start_matches('*');
    (text.starts_with(char::is_whitespace) && !text.trim().is_empty() && text.len() <= OPTION_BYTES_MAX)
        .then(|| (label.to_ascii_uppercase(), text.trim().to_owned()))
}

/// The option that a piece of a line is, such as `A) Paris ` behind a bracket.
fn bracketed(piece: &str) -> Option<Choice> {
    let label = piece.chars().next().filter(char::is_ascii_alphabetic)?;
    let text = piece[1..].strip_prefix(')')?.lines().next()?.trim().trim_end_matches([',', ';']);
    let without_end = |text, end: &&str| str::strip_suffix(text, end).unwrap_or(text);
    let text = [" or", " and", "?", "."].iter().fold(text, without_end).trim_end_matches(',');
    (!text.is_empty() && text.len() <= OPTION_BYTES_MAX)
        .then(|| (label.to_ascii_uppercase(), text.to_owned()))
}

/// The label of the option that a whole piece of text names: by its label, with the text of its option or alone, or by that text.
pub(super) fn named(piece: &str, options: &[Choice]) -> Option<char> {
    let commands = ["\\textbf{", "\\text{", "\\mathrm{", "\\mathbf{", "\\textrm{"];
    let without = |plain: String, open: &&str| {
        if plain.contains(open) { plain.replace(open, "").replace('}', " ") } else { plain }
    };
    let plain = commands.iter().fold(piece.to_owned(), without);
    let bare = sentence(&plain);
    let leads = ["the correct answer is ", "the correct option is ", "option ", "choice ", "answer "];
    let behind = |lead: &&str| {
        bare.get(..lead.len()).filter(|found| found.eq_ignore_ascii_case(lead)).map(|_| &bare[lead.len()..])
    };
    let bare = sentence(leads.iter().find_map(behind).unwrap_or(bare));
    match (by_label(bare, options), by_text(bare, options)) {
        // A label that is also the text of another option is ambiguous.
        (Some(label), Some(other)) if label != other => None,
        (label, other) => label.or(other),
    }
}

/// The label at the beginning of a text, if nothing but the text of its option follows.
fn by_label(text: &str, options: &[Choice]) -> Option<char> {
    let (close, text) = match text.chars().next()? {
        '(' => (Some(')'), &text[1..]),
        '[' => (Some(']'), &text[1..]),
        '{' => (Some('}'), &text[1..]),
        _ => (None, text),
    };
    let text = text.strip_prefix("**").unwrap_or(text);
    let first = text.chars().next().filter(char::is_ascii_alphabetic)?;
    let label = first.to_ascii_uppercase();
    let own = &options.iter().find(|(known, _)| *known == label)?.1;
    let rest = text[1..].trim_start_matches("**");
    let rest = close.map_or(Some(rest), |close| rest.strip_prefix(close))?;
    let rest = unwrapped(rest.trim_start_matches("**"));
    if rest.is_empty() || rest == "**" {
        return Some(label);
    }
    // `A dog` is no label, `a) one` is.
    let behind = rest.strip_prefix([')', '.', ':', ',', ']', '-', '–', '—']).or(close.map(|_| rest))?;
    let behind = sentence(behind.trim_start_matches([')', ']', ':', '.', '*', ' ']));
    (behind.is_empty() || is_text(behind, own)).then_some(label)
}

/// Whether a text equals that of an option, except for its final mark and case.
fn is_text(text: &str, own: &str) -> bool {
    sentence(text).to_lowercase() == sentence(own).to_lowercase()
}

/// The option with this text: exactly, or ignoring case if no other matches.
fn by_text(text: &str, options: &[Choice]) -> Option<char> {
    let exact: Vec<&Choice> = options.iter().filter(|(_, own)| sentence(own) == text).collect();
    let alike: Vec<&Choice> = options.iter().filter(|(_, own)| is_text(text, own)).collect();
    match (exact.as_slice(), alike.as_slice()) {
        ([only], _) | ([], [only]) => Some(only.0),
        _ => None,
    }
}
