//! How a value is set under a name: `NAME=VALUE`, `name: value`, `("name", "value")`, `name("value")`, `<name>value</name>`.
//!
//! What always holds: only the beginning of the text after a name is read, so reading takes linear time.

use crate::attachment::secret::judgement::strength::VALUE_BYTES_MAX;

/// The longest type between a name and its value, in bytes: `&'static str`.
const TYPE_BYTES_MAX: usize = 48;
/// The longest words between a password and its value in prose, in bytes: `for the staging server is`.
const PROSE_BYTES_MAX: usize = 64;
/// What a sentence puts between a name and its value.
const SAYING: &[&str] = &[
    "is set to ",
    "was set to ",
    "set to ",
    "changed to ",
    "is now ",
    "is ",
    "was ",
    "ist ",
    "lautet ",
    "war ",
    "to ",
];

/// A value, and how it is set.
pub(super) struct Set<'a> {
    pub(super) value: &'a str,
    pub(super) how: How,
    pub(super) is_quoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// `NAME=VALUE`, without blanks.
    Glued,
    /// `name = value`, `name: value`, `name => value`, `name || "value"`.
    Spaced,
    /// `("name", "value")`.
    Listed,
    /// `name("value")`.
    Called,
    /// `<name>value</name>`, `name="NAME" value="VALUE"`.
    Tagged,
    /// `the name is value`.
    Said,
    /// `NAME VALUE`.
    Apart,
}

impl<'a> Set<'a> {
    /// What is set after a name.
    pub(super) fn after(rest: &'a str) -> Option<Self> {
        let rest = clipped(rest);
        let unquoted = rest.trim_start_matches(['"', '\'', '`', '\\', ']', ')', '*']);
        let is_name_quoted = rest[..rest.len() - unquoted.len()].contains(['"', '\'', '`']);
        let unquoted = after_length(unquoted);
        let sign = unquoted.trim_start();
        let is_apart = sign.len() < unquoted.len();
        if let Some(found) = with_sign(sign, is_apart).or_else(|| typed(sign)) {
            return found.checked();
        }
        let alternative = ["||", "??", "?:", "or "].iter().find_map(|word| sign.strip_prefix(word));
        let alternative = alternative.and_then(|rest| Self::new(rest.trim_start(), How::Spaced).quoted());
        let in_pair = || is_name_quoted.then(|| in_tag(unquoted).or_else(|| listed(sign))).flatten();
        if let Some(found) = alternative.or_else(in_pair) {
            return found.checked();
        }
        if let Some(rest) = unquoted.strip_prefix('>') {
            return Self::new(rest, How::Tagged).checked();
        }
        if let Some(rest) = sign.strip_prefix('(') {
            return Self::new(rest.trim_start(), How::Called).quoted();
        }
        if !is_apart {
            return None;
        }
        let saying = SAYING.iter().find_map(|word| sign.strip_prefix(word)).or_else(|| said_later(sign));
        match saying {
            Some(rest) => Self::new(rest.trim_start_matches(':').trim_start(), How::Said).checked(),
            None => Self::new(sign, How::Apart).checked(),
        }
    }

    fn new(rest: &'a str, how: How) -> Self {
        let (value, is_quoted) = value_of(rest);
        // A sentence ends with a point, and a password with it rarely.
        let value = if how == How::Said { value.trim_end_matches(['.', ':', '?']) } else { value };
        Self { value, how, is_quoted }
    }

    fn checked(self) -> Option<Self> {
        let is_listed_alone = self.how == How::Listed && !self.is_quoted;
        (!self.value.is_empty() && !is_listed_alone).then_some(self)
    }

    fn quoted(self) -> Option<Self> {
        (self.is_quoted && !self.value.is_empty()).then_some(self)
    }
}

/// `[32]` and `[]` after the name of a text in C.
fn after_length(rest: &str) -> &str {
    let inner = rest.strip_prefix('[').map(|rest| rest.trim_start_matches(|it: char| it.is_ascii_digit()));
    inner.and_then(|rest| rest.strip_prefix(']')).unwrap_or(rest)
}

/// What an `=` or a colon sets.
fn with_sign(sign: &str, is_apart: bool) -> Option<Set<'_>> {
    if sign.starts_with("==") {
        return Some(Set { value: "", how: How::Apart, is_quoted: false });
    }
    let pointed =
        sign.strip_prefix("=>").or_else(|| sign.strip_prefix(":=")).or_else(|| sign.strip_prefix("?="));
    if let Some(rest) = pointed {
        return Some(Set::new(rest.trim_start(), How::Spaced));
    }
    if let Some(rest) = sign.strip_prefix('=') {
        let how = if is_apart || rest.starts_with(' ') { How::Spaced } else { How::Glued };
        return Some(Set::new(rest.trim_start(), how));
    }
    let rest = sign.strip_prefix(':')?;
    // `${NAME:-default}`.
    if let Some(rest) = rest.strip_prefix('-') {
        return Some(Set::new(rest, How::Glued));
    }
    let bold = rest.strip_prefix("**").unwrap_or(rest).trim_start();
    // `map[Authorization:[Bearer ...]]`.
    let inner = bold.strip_prefix('[').filter(|inner| inner.starts_with("Bearer ")).unwrap_or(bold);
    typed(inner).or_else(|| Some(Set::new(inner, How::Spaced)))
}

/// `&str = "..."`, `As String = "..."`: a type, and a text in quotes.
fn typed(rest: &str) -> Option<Set<'_>> {
    let head = &rest[..rest.floor_char_boundary(rest.len().min(TYPE_BYTES_MAX))];
    let at = head.find('=')?;
    let is_of_type = |byte: u8| byte.is_ascii_alphanumeric() || b" &'_<>[]:|?.*;!".contains(&byte);
    if !head[..at].bytes().all(is_of_type) || rest[at + 1..].starts_with(['=', '>']) {
        return None;
    }
    Set::new(rest[at + 1..].trim_start(), How::Spaced).quoted()
}

/// `("name", "value")`, `{"name": "Authorization", "value": "..."}`, and not the arguments of a call.
fn listed(sign: &str) -> Option<Set<'_>> {
    let listed = sign.strip_prefix(',')?.trim_start();
    let of_pair = listed.trim_start_matches(['"', '\\']).strip_prefix("value");
    let of_pair = of_pair.and_then(|rest| rest.trim_start_matches(['"', '\\', ' ']).strip_prefix(':'));
    Some(Set::new(of_pair.unwrap_or(listed).trim_start(), How::Listed))
}

/// `name="NAME" value="VALUE"` and `name="NAME"><value>VALUE`.
fn in_tag(unquoted: &str) -> Option<Set<'_>> {
    let rest = unquoted.trim_start();
    if let Some(rest) = rest.strip_prefix("value=") {
        return Set::new(rest, How::Tagged).quoted();
    }
    let rest = rest.strip_prefix('>')?.trim_start();
    Some(Set::new(rest.strip_prefix("<value>").unwrap_or(rest), How::Tagged))
}

/// `for the staging server is VALUE`, `of admin: VALUE`.
fn said_later(sign: &str) -> Option<&str> {
    let begins = ["for ", "of ", "on ", "to ", "fuer ", "für ", "von "];
    if !begins.iter().any(|word| sign.starts_with(word)) {
        return None;
    }
    let head = &sign[..sign.floor_char_boundary(sign.len().min(PROSE_BYTES_MAX))];
    let ends = [" is ", ": ", " ist ", " = ", " lautet "];
    let at = ends.iter().filter_map(|word| Some(head.find(word)? + word.len())).min()?;
    (!head[..at].contains(['.', ';', '"', '='])).then(|| &sign[at..])
}

/// The beginning of a text, as much as a value may take with what is around it.
pub(super) fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(text.len().min(2 * VALUE_BYTES_MAX))]
}

/// The value at the beginning of a text, and whether it is in quotes.
pub(super) fn value_of(rest: &str) -> (&str, bool) {
    let plain = rest.trim_start_matches(|it: char| "bfru@\\L".contains(it));
    let begins = if plain.starts_with(['"', '\'', '`']) { plain } else { rest };
    if let Some(quote) = begins.chars().next().filter(|it| ['"', '\'', '`'].contains(it)) {
        let inner = begins[1..].trim_start_matches(quote);
        let value = &inner[..inner.find(quote).unwrap_or(inner.len())];
        return (value.trim_end_matches('\\'), true);
    }
    let scheme = ["Bearer ", "Basic ", "bearer ", "basic ", "token ", "Token ", "SSWS "]
        .iter()
        .find(|word| rest.starts_with(**word));
    let skip = scheme.map_or(0, |word| word.len());
    let ends = |it: char| {
        it.is_whitespace()
            || matches!(it, '"' | '\'' | '`' | ',' | ';' | ')' | ']' | '}' | '<' | '>' | '&' | '|' | '\\')
    };
    // A longer value is none that is judged.
    let most = rest.floor_char_boundary(rest.len().min(skip + VALUE_BYTES_MAX + 1));
    let end = rest[skip..most].find(ends).map_or(most, |at| skip + at);
    (&rest[..end], false)
}
