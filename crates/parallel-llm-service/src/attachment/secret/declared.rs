//! Secrets in documents: fields of JSON, YAML and XML, and columns of exported tables.
//!
//! Source code names passwords as well, so a text counts only if it has the form of a document, and a field only if its value
//! looks like a secret.

use std::borrow::Cow;
use std::path::Path;

use super::lines::{allows, mostly};
use super::value::{declares_secret, is_literal};

/// Columns of an exported table that hold secrets.
const SECRET_COLUMNS: &[&str] = &[
    "secret access key",
    "password",
    "login_password",
    "passwort",
    "api key",
    "api_key",
    "apikey",
    "secret",
];
/// What separates the cells of a table.
const SEPARATORS: [char; 3] = [',', ';', '\t'];
/// How lines of code end, but not those of YAML.
const CODE_ENDS: [char; 4] = [';', '{', '(', ','];

/// Whether a document declares a secret. `name` is that of the file, `lines` are those with content.
pub(super) fn holds_secret(name: &str, text: &str, lines: &[&str]) -> bool {
    let begins = text.trim_start();
    if begins.starts_with(['{', '[']) {
        return json_fields(text).any(|(name, value)| declares_secret(name, &unescaped(value)));
    }
    if begins.starts_with('<') {
        return xml_secret(text);
    }
    (is_yaml(name, lines)
        && lines.iter().filter_map(|line| yaml_field(line)).any(|(name, value)| declares_secret(name, value)))
        || table_secret(lines)
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
        let is_setting =
            value_of("key").zip(value_of("value")).is_some_and(|(key, value)| declares_secret(key, value));
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

/// A table as programs export it: a line of names, one of them that of a secret, and a value below it.
fn table_secret(lines: &[&str]) -> bool {
    let Some((head, rows)) = lines.split_first() else { return false };
    let Some(separator) = SEPARATORS.into_iter().find(|separator| head.contains(*separator)) else {
        return false;
    };
    let cells = |line: &str| -> Vec<String> {
        line.split(separator).map(|cell| cell.trim().trim_matches('"').to_owned()).collect()
    };
    let names = cells(head);
    let is_secret = |name: &String| SECRET_COLUMNS.contains(&name.to_lowercase().as_str());
    let columns: Vec<usize> = (0..names.len()).filter(|column| is_secret(&names[*column])).collect();
    let is_row = |line: &&&str| line.matches(separator).count() + 1 >= names.len();
    let rows_that_fit = rows.iter().filter(is_row).count();
    allows(rows_that_fit, rows.len())
        && rows
            .iter()
            .map(|row| cells(row))
            .any(|row| columns.iter().any(|column| row.get(*column).is_some_and(|value| is_literal(value))))
}
