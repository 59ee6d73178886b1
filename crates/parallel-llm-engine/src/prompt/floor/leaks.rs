//! Finds what leaked of the requested form into a text: markers with a wrong code or none, and the JSON of the form.

use super::words::{Word, head, lower, words};
use super::{FloorBasis, turns};
use crate::text::json;

/// The longest marker in bytes.
const MARK_BYTES_MAX: usize = 96;
/// The length of a code.
const CODE_BYTES: usize = 8;
/// The most words of a marker: `end of candidate AB 1234abcd`.
const MARK_WORDS_MAX: usize = 6;
/// The words that make a marker one of ours.
const KINDS: &[&str] = &["answer", "analysis", "candidate", "candidates", "objections", "request"];
/// The words that may be beside them.
const BESIDE: &[&str] =
    &["end", "begin", "start", "of", "the", "final", "own", "your", "code", "nonce", "json", "and", "id"];
/// Keys that only our forms have.
const KEYS: &[&str] =
    &["base", "claims", "dissent", "suspected", "suspected_injection", "supported_by", "ranking"];

/// So many of our keys at the beginning of lines are our analysis.
const FIELDS_MIN: usize = 2;
/// The longest key in bytes with what surrounds it.
const FIELD_BYTES_MAX: usize = 32;

/// A marker in a text.
#[derive(Clone, Copy)]
struct Mark {
    /// Whether an answer begins with it.
    begins_answer: bool,
    /// Whether something ends with it.
    is_end: bool,
    start: usize,
    end: usize,
}

/// A text without the leaks that can be cut off: what is around a marked answer, and a JSON object of the form.
pub(super) fn without(text: &str, basis: &FloorBasis<'_>) -> String {
    let text = turns::without(answer_between_marks(text, basis), basis);
    if !has_key(text, basis) {
        return text.to_owned();
    }
    let is_form =
        |found: &json::Document<'_>| KEYS.iter().any(|key| found.json.contains(&format!("\"{key}\"")));
    let Some(found) = json::objects(text).find(is_form) else { return text.to_owned() };
    let plain = |part: &str| part.trim().trim_end_matches("```json").trim_matches('`').trim().to_owned();
    let (before, behind) = (plain(&text[..found.range.start]), plain(&text[found.range.end..]));
    // An answer is longer than the words that introduce or follow the object.
    let rest = if behind.len() > before.len() { behind } else { before };
    if rest.is_empty() { text.to_owned() } else { rest }
}

/// The last answer that markers enclose, or the text before a marker that ends one.
fn answer_between_marks<'a>(text: &'a str, basis: &FloorBasis<'_>) -> &'a str {
    let marks = foreign_marks(text, basis);
    for (index, mark) in marks.iter().enumerate().rev() {
        let end = marks.get(index + 1).map_or(text.len(), |next| next.start);
        let answer = text[mark.end..end].trim();
        if mark.begins_answer && !answer.is_empty() {
            return answer;
        }
    }
    let ends = marks.first().filter(|_| marks.iter().all(|mark| mark.is_end));
    let before = ends.map(|end| text[..end.start].trim()).filter(|before| !before.is_empty());
    before.unwrap_or(text)
}

/// Whether a text still has a marker, a code or JSON of the form.
pub(super) fn remain(text: &str, basis: &FloorBasis<'_>) -> bool {
    let has_code =
        || words(text).any(|word| basis.codes.iter().any(|code| code.eq_ignore_ascii_case(word.text)));
    has_key(text, basis)
        || has_fields(text, basis)
        || !foreign_marks(text, basis).is_empty()
        || turns::remain(text, basis)
        || has_code()
}

/// Whether a text has our analysis as lines: `base: B` and `dissent: none`.
fn has_fields(text: &str, basis: &FloorBasis<'_>) -> bool {
    let fields = |text: &str| {
        let is_field = |key: &&&str| {
            text.lines().any(|line| {
                let line = line.trim_start_matches(['-', '*', ' ', '\t', '#', '|', '"', '{']);
                let line = head(line, FIELD_BYTES_MAX).to_lowercase();
                let behind = line.strip_prefix(**key).map(|rest| rest.trim_start_matches(['*', '"', ' ']));
                behind.is_some_and(|rest| rest.starts_with([':', '=']))
            })
        };
        KEYS.iter().chain(&["changes", "conflicts", "reasons"]).filter(is_field).count()
    };
    fields(text) >= FIELDS_MIN && basis.material().all(|known| fields(known) < FIELDS_MIN)
}

/// Whether a text has a key of our forms that neither the request nor a candidate has.
fn has_key(text: &str, basis: &FloorBasis<'_>) -> bool {
    let is_used = |text: &str, key: &str| {
        let quoted = format!("\"{key}\"");
        let follows = |at: usize| text[at + quoted.len()..].trim_start().starts_with(':');
        text.match_indices(&quoted).any(|(at, _)| follows(at)) || key.contains('_') && text.contains(key)
    };
    KEYS.iter().any(|key| is_used(text, key) && !basis.material().any(|known| is_used(known, key)))
}

/// The markers of a text, unless the request or a candidate has some, too.
fn foreign_marks(text: &str, basis: &FloorBasis<'_>) -> Vec<Mark> {
    let marks = marks(text, basis);
    let speaks_so = |known: &str| {
        let known_lower = known.to_lowercase();
        let has_tag = KINDS.iter().any(|kind| known_lower.contains(&format!("<{kind}")));
        has_tag || !self::marks(known, basis).is_empty()
    };
    if !marks.is_empty() && basis.material().any(speaks_so) {
        return Vec::new();
    }
    marks
}

fn marks(text: &str, basis: &FloorBasis<'_>) -> Vec<Mark> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(mark) = bare_mark(line, basis) {
            found.push(Mark { start: at, end: at + line.len(), ..mark });
        } else if line.contains(['<', '[']) {
            found.extend(bracketed(line, basis).map(|mark| Mark {
                start: at + mark.start,
                end: at + mark.end,
                ..mark
            }));
        }
        at += line.len();
    }
    found
}

/// The markers of a line in brackets.
fn bracketed<'a>(line: &'a str, basis: &'a FloorBasis<'_>) -> impl Iterator<Item = Mark> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + line[from..].find(['<', '['])?;
            let open = &line[start..=start];
            let close = if open == "<" { '>' } else { ']' };
            let inner = line[start..].trim_start_matches(open);
            let depth = line.len() - start - inner.len();
            from = start + depth;
            let inner = head(inner, MARK_BYTES_MAX);
            let found = inner.find([close, '<', '[']).filter(|at| inner[*at..].starts_with(close));
            // A marker that begins a line need not be closed.
            let is_open = || depth > 1 && is_decoration(&line[..start]) && is_all_mark(inner, basis);
            let Some(length) = found.or_else(|| is_open().then_some(inner.len())) else { continue };
            let rest = line[start + depth + length..].trim_start_matches(close);
            let end = line.len() - rest.len();
            let is_alone = is_decoration(&line[..start]) && is_decoration(rest);
            if let Some(mark) =
                mark(&inner[..length], basis, (open == "<" && depth > 1, open == "<" && is_alone))
            {
                from = end;
                return Some(Mark { start, end, ..mark });
            }
        }
    })
}

/// Whether the rest of a line has only words of a marker.
fn is_all_mark(inner: &str, basis: &FloorBasis<'_>) -> bool {
    let is_ours = |word: Word<'_>| {
        let lower = word.text.to_lowercase();
        KINDS.contains(&lower.as_str())
            || BESIDE.contains(&lower.as_str())
            || is_code(&lower, basis)
            || is_label(&word, basis)
    };
    words(inner).all(is_ours) && !inner.contains([';', '"', '(', '<'])
}

/// A line that is a marker without its brackets. It must have a code, because these are plain words.
fn bare_mark(line: &str, basis: &FloorBasis<'_>) -> Option<Mark> {
    if line.len() > MARK_BYTES_MAX || line.contains(['<', '[']) {
        return None;
    }
    let is_sure = |word: Word<'_>| {
        let has = |kind: fn(&u8) -> bool| word.text.bytes().any(|byte| kind(&byte));
        let is_copied =
            word.text.len() == CODE_BYTES && has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase);
        is_copied || basis.codes.iter().any(|code| code == word.text)
    };
    mark(line, basis, (false, false)).filter(|_| words(line).any(is_sure))
}

/// The marker with these words. `is_double` and `is_alone` say whether it is in two angle brackets, and whether it is in
/// angle brackets and has its line for itself; any other needs a code.
fn mark(inner: &str, basis: &FloorBasis<'_>, (is_double, is_alone): (bool, bool)) -> Option<Mark> {
    let (mut kind, mut has_code, mut is_end) = (None, false, inner.trim_start().starts_with('/'));
    let (mut count, mut is_known) = (0, true);
    for word in words(inner) {
        let lower = word.text.to_lowercase();
        count += 1;
        if let Some(known) = KINDS.iter().find(|kind| **kind == lower) {
            kind = Some(*known);
        } else if is_code(&lower, basis) {
            has_code = true;
        } else if !BESIDE.contains(&lower.as_str()) && !is_label(&word, basis) && !is_place(&lower, basis) {
            is_known = false;
        }
        is_end |= lower == "end";
    }
    // With a code and a line of its own, a marker may be misspelt.
    let is_shaped = if is_known {
        kind.is_some_and(|kind| {
            is_double
                || has_code
                || kind == "candidate" && inner.contains('=')
                || is_alone && (kind == "analysis" || kind == "answer" || count > 1)
        })
    } else {
        is_double && is_alone && has_code
    };
    let begins_answer = kind == Some("answer") && is_known && !is_end;
    (is_shaped && count <= MARK_WORDS_MAX).then_some(Mark { begins_answer, is_end, start: 0, end: 0 })
}

/// Whether a word may be a code, rightly copied or not.
fn is_code(word: &str, basis: &FloorBasis<'_>) -> bool {
    let is_copied = (4..=12).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word.bytes().any(|byte| byte.is_ascii_digit());
    let is_hex = (6..=12).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_copied || is_hex || basis.codes.iter().any(|code| code == word)
}

fn is_label(word: &Word<'_>, basis: &FloorBasis<'_>) -> bool {
    basis.candidates.iter().any(|(label, _)| *label == word.text)
}

/// Whether a word is the number of a candidate.
fn is_place(word: &str, basis: &FloorBasis<'_>) -> bool {
    word.parse().is_ok_and(|place: usize| (1..=basis.candidates.len()).contains(&place))
}

/// Whether a text has no words.
fn is_decoration(text: &str) -> bool {
    lower(text).is_empty()
}
