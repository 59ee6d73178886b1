//! The change of a file as a diff for people, with secrets left out.

use similar::TextDiff;

/// Lines that are shown around a change.
const AROUND_LINES: usize = 3;
/// The longest line that is shown whole: some programs write all their settings on one.
const LINE_CHARS_MAX: usize = 240;
/// Stands where a secret stood.
const MARK: &str = "***";
/// Parts of the names of values that are secrets.
const SECRET: [&str; 6] = ["key", "token", "secret", "password", "authorization", "credential"];
/// Parts of the names of values that are no secrets, though they say `token` or `key`: names of variables, limits.
const NOT_SECRET: [&str; 5] = ["env_", "_env", "tokens", "_max", "keymap"];

/// A unified diff of two texts under the name of their file; empty where they are the same. Values whose names say that
/// they are secrets are left out, and long lines are cut.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    let texts = TextDiff::from_lines(before, after);
    let mut unified = texts.unified_diff();
    let told =
        unified.context_radius(AROUND_LINES).header(name, name).missing_newline_hint(false).to_string();
    // Cut first: what is masked takes time for each character, and a value whose end is cut off is masked like any.
    told.lines().map(|line| cut(line, masked) + "\n").collect()
}

fn cut(line: &str, shown: impl Fn(&str) -> String) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => shown(&line[..at]) + "...",
        None => shown(line),
    }
}

/// The line with a mark in place of each value whose name says that it is a secret. Values are what stands after a name
/// and a `:` or `=`; a reference to a variable is none.
fn masked(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    let mut name = String::new();
    // Each turn takes at least one character away.
    while let Some(first) = rest.chars().next() {
        let is_value = is_secret(&name) && !" \t:={[,}]#\"'".contains(first);
        let length = if is_value { value_length(rest, first) } else { word_length(rest, first) };
        let (word, left) = rest.split_at(length);
        let bare = word.trim_matches(['"', '\'']);
        if is_secret(&name) && length > 1 && !is_harmless(bare) {
            shown.push_str(&word.replace(bare, MARK));
        } else {
            shown.push_str(word);
        }
        match first {
            ':' | '=' => name.push(':'),
            ' ' | '\t' => {}
            _ if length > 1 || first.is_alphanumeric() => bare.clone_into(&mut name),
            _ => name.clear(),
        }
        rest = left;
    }
    shown
}

/// How long the value is that stands first without quotes, which in YAML holds blanks and signs.
fn value_length(text: &str, first: char) -> usize {
    let end = text.find([',', '}', ']']).unwrap_or(text.len());
    let end = text[..end].find(" #").unwrap_or(end);
    text[..end].trim_end().len().max(first.len_utf8())
}

/// How long the quoted text or the word is that stands first; 1 for anything else.
fn word_length(text: &str, first: char) -> usize {
    if matches!(first, '"' | '\'') {
        let mut escaped = false;
        let end = text.char_indices().skip(1).find(|(_, one)| {
            let ends = *one == first && !escaped;
            escaped = *one == '\\' && !escaped;
            ends
        });
        return end.map_or(text.len(), |(at, _)| at + 1);
    }
    let is_word = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '.' | '/' | '+' | '$' | '{');
    let end = text.char_indices().find(|(_, one)| !is_word(*one)).map_or(text.len(), |(at, _)| at);
    end.max(first.len_utf8())
}

/// Whether what was just read is the name of a secret, and the sign that its value follows.
fn is_secret(name: &str) -> bool {
    let Some(name) = name.strip_suffix(':') else { return false };
    let name = name.to_lowercase();
    SECRET.iter().any(|part| name.contains(part)) && !NOT_SECRET.iter().any(|part| name.contains(part))
}

fn is_harmless(value: &str) -> bool {
    value.is_empty() || value.starts_with('$') || value.starts_with("Bearer $")
}
