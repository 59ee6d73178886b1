//! What a short piece of text says, in the one way of writing it.

use super::Value;
use super::number::{self, Found};
use crate::wording;

/// The longest word for what a number counts, in bytes; a longer one is no such word.
const UNIT_BYTES_MAX: usize = 40;

/// Words that say it is so, and that it is not so.
const YES: &[&str] = &[
    "yes",
    "true",
    "ja",
    "wahr",
    "oui",
    "vrai",
    "sí",
    "verdadero",
    "sì",
    "vero",
    "sim",
    "да",
    "是",
    "はい",
    "예",
];
const NO: &[&str] =
    &["no", "false", "nein", "falsch", "non", "faux", "falso", "não", "нет", "否", "いいえ", "아니오"];

/// Words that may follow a label that is a word itself: `A is correct`, not `A dog`.
const AFTER_LABEL: &[&str] = &["is", "because", "since", "as", "und", "ist", "est", "es"];

/// The label that a piece names, alone or with the text of its option, or the option whose text it is.
pub(super) fn choice(piece: &str, options: &[(char, String)]) -> Option<char> {
    let bare = piece.trim().trim_start_matches(['(', '[', '*', '_', '"', '\'', '`', ' ', '{']);
    let bare = ["option ", "choice ", "Option ", "Choice ", "\\text{"]
        .iter()
        .fold(bare, |bare, word| bare.strip_prefix(word).unwrap_or(bare));
    let bare = bare.trim_start_matches(['(', '[', '*']);
    let is_named = |label: &char| options.iter().any(|(known, _)| known == label);
    let label = bare.chars().next().map(|first| first.to_ascii_uppercase()).filter(is_named);
    let stands_alone = || {
        let rest = &bare[1..];
        let word = rest.split_whitespace().next().unwrap_or_default();
        let is_cut_off = !rest.starts_with(|one: char| one.is_alphanumeric() || one == '\'' || one == '’');
        is_cut_off
            && (!rest.starts_with(char::is_whitespace)
                || word.is_empty()
                || AFTER_LABEL.contains(&word)
                || !word.starts_with(char::is_alphabetic))
    };
    label.filter(|_| stands_alone()).or_else(|| {
        let gist = wording::gist(piece.trim_matches(['*', '"', '`', ' ']));
        let mut same = options.iter().filter(|(_, text)| wording::gist(text) == gist);
        same.next().filter(|_| same.next().is_none()).map(|(label, _)| *label)
    })
}

/// The one number of a piece, or the one behind its last equals sign, with what it counts.
pub(super) fn quantity(piece: &str) -> Option<Value> {
    let plain = without_markup(piece);
    let last = plain.rsplit(['=', '≈']).next().unwrap_or(&plain);
    let all = number::all(last)?;
    let [Found { number, before, after }] = all.as_slice() else { return None };
    Some(Value::Number(*number, unit(before, after)))
}

/// Formulas and emphasis as plain text: `\frac{1}{2}` is `1/2`.
fn without_markup(piece: &str) -> String {
    let mut plain = piece.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac");
    while let Some((before, over, under, after)) = fraction(&plain) {
        plain = format!("{before}{over}/{under}{after}");
    }
    plain.replace("\\text", " ").replace(['*', '$', '_', '`', '{', '}', '\\'], " ")
}

fn fraction(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once("\\frac{")?;
    let (over, rest) = rest.split_once("}{")?;
    let (under, after) = rest.split_once('}')?;
    Some((before, over.trim(), under.trim(), after))
}

/// Whether two words count the same things: one, or many of them.
pub(super) fn is_same_unit(one: &str, other: &str) -> bool {
    let stem =
        |word: &str| word.strip_suffix("es").or_else(|| word.strip_suffix('s')).unwrap_or(word).to_owned();
    stem(one) == stem(other)
}

/// What a number counts: the word behind it, or the sign before or behind it.
fn unit(before: &str, after: &str) -> Option<String> {
    let sign = |text: Option<char>| text.filter(|one| "€£¥%°".contains(*one)).map(|one| one.to_string());
    let word =
        after.trim_start().split(|one: char| !one.is_alphabetic()).next().unwrap_or_default().to_lowercase();
    let word = ((1..=UNIT_BYTES_MAX).contains(&word.len())
        && !after.trim_start().starts_with(['.', ',', ';']))
    .then_some(word);
    sign(before.trim_end().chars().next_back()).or_else(|| sign(after.trim_start().chars().next())).or(word)
}

/// The yes or no that a piece begins with.
pub(super) fn truth(piece: &str) -> Option<bool> {
    let bare = piece.trim().trim_start_matches(['*', '_', '"', '`', '\'', '(']).to_lowercase();
    let starts = |words: &[&str]| {
        words.iter().any(|word| {
            let rest = bare.strip_prefix(word);
            rest.is_some_and(|rest| {
                !rest.starts_with(char::is_alphanumeric) || word.chars().all(|one| one as u32 > 0x2fff)
            })
        })
    };
    match (starts(YES), starts(NO)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}
