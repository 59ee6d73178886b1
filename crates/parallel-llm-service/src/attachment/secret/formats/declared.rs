//! Secrets in documents: fields of JSON, YAML and XML, and columns of exported tables.
//!
//! Source code names passwords as well, so a text counts only if it has the form of a document, and a field only if its value
//! looks like a secret.

use std::borrow::Cow;
use std::path::Path;

use super::lines::mostly;
use super::tables;
use crate::attachment::secret::judgement::strength::is_basic;
use crate::attachment::secret::judgement::value;

/// How lines of code end, but not those of YAML.
const CODE_ENDS: [char; 4] = [';', '{', '(', ','];

/// Whether a document declares a secret. `name` is that of the file, `lines` are those with content.
pub(crate) fn holds_secret(name: &str, text: &str, lines: &[&str]) -> bool {
    let begins = text.trim_start();
    if begins.starts_with(['{', '[']) {
        return json_fields(text).any(|(name, value)| declares_secret(name, &unescaped(value)));
    }
    if begins.starts_with('<') {
        return xml_secret(text);
    }
    (is_yaml(name, lines)
        && lines.iter().filter_map(|line| yaml_field(line)).any(|(name, value)| declares_secret(name, value)))
        || tables::is_exported(lines)
}

fn declares_secret(name: &str, value: &str) -> bool {
    let plain = value.trim().trim_matches(['"', '\'']);
    if plain.starts_with("Basic ") { is_basic(plain) } else { value::declares_secret(name, value) }
}

/// The fields of JSON with texts, also of JSON that is cut, has comments, or is one document a line.
fn json_fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    let mut name = None;
    std::iter::from_fn(move || {
        loop {
            let (before, after) = rest.split_once('"')?;
            let is_value = before.trim() == ":";
            let (string, after) = after.split_at(string_end(after));
            rest = after.get(1..).unwrap_or_default();
            match name.replace(string) {
                Some(name) if is_value => return Some((name, string)),
                _ => {}
            }
        }
    })
}

/// The text of a JSON string.
fn unescaped(string: &str) -> Cow<'_, str> {
    let read = || serde_json::from_str(&format!("\"{string}\"")).ok();
    let read = string.contains('\\').then(read).flatten();
    read.map_or(Cow::Borrowed(string), Cow::Owned)
}

/// Where a string in quotes ends.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

fn is_yaml(name: &str, lines: &[&str]) -> bool {
    let fits = |line: &str| yaml_field(line).is_some() || line.starts_with("- ") || line == "---";
    let extension = Path::new(name).extension();
    extension.is_some_and(|is| is.eq_ignore_ascii_case("yml") || is.eq_ignore_ascii_case("yaml"))
        || (mostly(lines, fits) && !lines.iter().any(|line| line.ends_with(CODE_ENDS)))
}

/// `name: value`, without the mark of a list and a comment.
fn yaml_field(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches("- ");
    let (name, value) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let name = name.trim_matches(['"', '\'']);
    let is_name = !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter));
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    is_name.then_some((name, value.trim()))
}

/// An element or an attribute with a secret, or a setting written `<add key="..." value="..."/>`.
fn xml_secret(text: &str) -> bool {
    text.split('<').filter_map(|piece| piece.split_once('>')).any(|(tag, content)| {
        let (name, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let mut attributes = xml_attributes(rest);
        let value_of =
            |wanted: &str| xml_attributes(rest).find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let key = value_of("key").or_else(|| value_of("name"));
        let is_setting = key.zip(value_of("value")).is_some_and(|(key, value)| declares_secret(key, value));
        declares_secret(name, content)
            || is_setting
            || attributes.any(|(name, value)| declares_secret(name, value))
    })
}

/// The attributes of a tag.
fn xml_attributes(mut rest: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        let (name, after) = rest.split_once('=')?;
        let quote = after.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let (value, after) = after[1..].split_once(quote)?;
        rest = after;
        Some((name.trim(), value))
    })
}
