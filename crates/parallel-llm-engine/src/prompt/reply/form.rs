//! Recognizes the JSON behind a synthesizer's answer, and keeps it out of the text while the reply streams.
//!
//! Invariants: a text loses nothing but an object of the form and the fence or heading around it; a reply that is only such an
//! object keeps it, for the floor to judge; the time is linear in the reply, whatever it holds.

use serde_json::Value;

use super::Object;
use crate::text::json;

/// The keys of the form, and of the form that stored runs have.
const KEYS: [&str; 8] =
    ["base", "changes", "claims", "dissent", "suspected", "suspected_injection", "discarded", "blind_spots"];
/// The most bytes after a bracket by which an object is told to be of the form.
const OPENING_BYTES_MAX: usize = 256;
/// The most lines of a fence, a marker or a heading before an object, and their most bytes.
const LEAD_LINES_MAX: usize = 4;
const LEAD_BYTES_MAX: usize = 64;
/// The characters around them.
const DECORATION: &str = "*_#=-~`:<>/| \t";
/// The fence of code.
const FENCE: &str = "```";
/// The words of a heading, and of a marker without the right code.
const HEADING_WORDS: [&str; 2] = ["json", "analysis"];
const MARKER_WORDS: [&str; 3] = ["end", "answer", "analysis"];

/// Whether an object is of the form: by two of its members, or by its only one if that says something.
pub(super) fn is_form(object: &Object) -> bool {
    let shaped = object.iter().filter(|(key, value)| has_shape(key, value)).count();
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    shaped > 1 || shaped == 1 && object.len() == 1 && !object.values().any(is_empty)
}

/// Whether a member has a key of the form and a value as it has there.
fn has_shape(key: &str, value: &Value) -> bool {
    let lists = |member: &str| {
        let list = value.as_array();
        list.is_some_and(|list| list.iter().all(|one| one.get(member).is_some()))
    };
    match key {
        "base" => value.is_null() || value.as_str().is_some_and(is_label),
        "changes" => lists("what"),
        "claims" => lists("text"),
        "dissent" => value.is_null() || value.is_string() || value.is_array(),
        key => KEYS.contains(&key) && value.is_array(),
    }
}

/// Whether a string can be the label of a candidate: `B`, `Candidate B`.
fn is_label(name: &str) -> bool {
    let label = name.trim().rsplit(' ').next().unwrap_or_default();
    (1..=2).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The last object of the form in a text.
pub(super) fn last_form(text: &str) -> Option<Object> {
    let read = |found: json::Document<'_>| serde_json::from_str::<Object>(&found.json).ok();
    json::objects(text).filter_map(read).filter(is_form).last()
}

/// Whether a text that begins with a bracket begins with an object of the form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Yes,
    No,
    /// The text ends too early.
    Maybe,
}

/// The rest of an opening that is compared piece by piece.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    /// Skips white space and one of these characters, and returns it.
    fn skip(&mut self, expected: &[char]) -> Result<char, Opening> {
        let next = self.next()?;
        self.0 = self.0.strip_prefix(expected).ok_or(Opening::No)?;
        Ok(next)
    }

    /// The next character that is not white space.
    fn next(&mut self) -> Result<char, Opening> {
        self.0 = self.0.trim_start();
        self.0.chars().next().ok_or(Opening::Maybe)
    }
}

impl Opening {
    fn of(text: &str) -> Self {
        let window = &text[..text.floor_char_boundary(OPENING_BYTES_MAX)];
        match Self::read(Rest(window)) {
            Ok(true) => Self::Yes,
            Err(Self::Maybe) if window.len() == text.len() => Self::Maybe,
            Ok(false) | Err(_) => Self::No,
        }
    }

    /// Whether an opening is of the form, or why that cannot be said. Some models quote as Python does.
    fn read(mut rest: Rest<'_>) -> Result<bool, Self> {
        rest.skip(&['{'])?;
        let quote = rest.skip(&['"', '\''])?;
        let Some((key, behind)) = rest.0.split_once(quote) else {
            let is_begun = KEYS.iter().any(|key| key.starts_with(rest.0));
            return Err(if is_begun { Self::Maybe } else { Self::No });
        };
        rest.0 = behind;
        if !KEYS.contains(&key) {
            return Ok(false);
        }
        rest.skip(&[':'])?;
        match (key, rest.next()?) {
            ("base" | "dissent", 'n' | 'N') => Ok(true),
            ("dissent", first) => Ok(first == quote || first == '['),
            ("base", first) => {
                rest.skip(&[quote])?;
                let label = rest.0.split_once(quote).ok_or(Self::Maybe)?.0;
                Ok(first == quote && is_label(label))
            }
            ("changes" | "claims", _) => {
                rest.skip(&['['])?;
                Ok(matches!(rest.next()?, '{' | ']'))
            }
            (_, first) => Ok(first == '['),
        }
    }
}

/// A text on its way, of which the part is held back that may be an object of the form.
#[derive(Clone, Debug, Default)]
pub(super) struct WithoutForm {
    held: String,
    /// Whether some of the text has been returned.
    has_begun: bool,
    /// Whether what is held begins with an object of the form. It is read when the text has ended.
    is_object: bool,
}

impl WithoutForm {
    /// Takes the next piece and returns the text that is decided now.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        if self.is_object {
            return String::new();
        }
        let found = next_opening(&self.held, 0);
        self.is_object = found.is_some_and(|(_, opening)| opening == Opening::Yes);
        let end = found.map_or(self.held.len(), |(at, _)| at);
        let sure = Lead::before(&self.held[..end], self.has_begun, Line::may_lead).at;
        let rest = self.held.split_off(sure);
        self.has_begun |= sure > 0;
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns the rest after the last piece, without objects of the form.
    pub(super) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let mut kept = String::new();
        let mut from = 0;
        while let Some((at, opening)) = next_opening(&held, from) {
            let object = json::leading(&held[at..]);
            let end = object.as_ref().map_or(held.len(), |found| at + found.range.end);
            let read = object.as_ref().and_then(|found| serde_json::from_str::<Object>(&found.json).ok());
            let behind = held[end..].trim_start();
            let is_fenced = behind.starts_with(FENCE);
            let leads = |line: Line<'_>| line.leads(is_fenced);
            let lead = Lead::before(&held[from..at], self.has_begun || from > 0, leads);
            let before = from + lead.at;
            let is_form = match read {
                Some(read) => is_form(&read),
                // It was cut, or is not quite JSON.
                None => opening == Opening::Yes || held[before..at].contains('\n'),
            };
            kept.push_str(&held[from..if is_form { before } else { end }]);
            let is_closed = is_form && is_fenced && lead.has_fence;
            from = if is_closed { held.len() - behind.len() + FENCE.len() } else { end };
        }
        kept.push_str(&held[from..]);
        match kept.trim() {
            "" if !self.has_begun => held,
            _ if self.has_begun => kept.trim_end().to_owned(),
            kept => kept.to_owned(),
        }
    }
}

/// The first place from a byte on where an object of the form may begin.
fn next_opening(text: &str, from: usize) -> Option<(usize, Opening)> {
    let places = text[from..].match_indices('{').map(|(at, _)| from + at);
    places.map(|at| (at, Opening::of(&text[at..]))).find(|(_, opening)| *opening != Opening::No)
}

/// What leads to an object: a fence, a marker or a heading, and the white space before it.
struct Lead {
    /// The byte where it begins.
    at: usize,
    has_fence: bool,
}

impl Lead {
    /// The lead at the end of a text. `is_continued` says whether the text continues a line.
    fn before<'t>(text: &'t str, is_continued: bool, leads: impl Fn(Line<'t>) -> bool) -> Self {
        let (mut end, mut has_fence) = (text.len(), false);
        for _ in 0..LEAD_LINES_MAX {
            let trimmed = text[..end].trim_end();
            let start = trimmed.rfind('\n').map_or(0, |at| at + 1);
            let line = &trimmed[start..];
            let is_whole = start > 0 || !is_continued;
            if line.is_empty() || line.len() > LEAD_BYTES_MAX || !is_whole || !leads(Line(line)) {
                break;
            }
            has_fence |= line.trim_start().starts_with(FENCE);
            end = start;
        }
        Self { at: text[..end].trim_end().len(), has_fence }
    }
}

/// A line that may lead to an object.
#[derive(Clone, Copy)]
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    /// Its words, if there is nothing else but Markdown and brackets of a marker.
    fn words(self) -> Option<impl Iterator<Item = &'a str>> {
        let is_known = |one: char| one.is_ascii_alphanumeric() || DECORATION.contains(one);
        let words = self.0.split(|one: char| !one.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        self.0.chars().all(is_known).then_some(words)
    }

    /// Whether a word can be in it, or can begin one that is. A marker can have a code.
    fn has(self, word: &str, is_whole: bool) -> bool {
        let word = word.to_ascii_lowercase();
        let is_meant = |known: &&str| if is_whole { **known == word } else { known.starts_with(&word) };
        let is_marker =
            self.0.trim_start_matches(|one: char| one != '<' && DECORATION.contains(one)).starts_with('<');
        let known: &[&str] = if is_marker { &MARKER_WORDS } else { &HEADING_WORDS };
        known.iter().any(is_meant) || is_marker && word.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Whether it leads to the object behind it. A bare fence does so only if another one follows the object: else it closes
    /// the code before.
    fn leads(self, is_fenced: bool) -> bool {
        let is_lead = self.words().is_some_and(|mut words| words.all(|word| self.has(word, true)));
        is_lead && (is_fenced || self.0.trim() != FENCE)
    }

    /// Whether it may lead to an object behind it when it has ended.
    fn may_lead(self) -> bool {
        self.words().is_some_and(|mut words| words.all(|word| self.has(word, false)))
    }
}
