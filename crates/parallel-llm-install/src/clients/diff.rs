//! The change of a file as a diff for people, without secrets.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

/// Longer lines are cut: some programs write all their settings on one line.
const LINE_CHARS_MAX: usize = 240;
/// Replaces a secret.
const MARK: &str = "***";
/// Parts of the names of secret values.
const SECRET: [&str; 6] = ["key", "token", "secret", "password", "authorization", "credential"];
/// Parts of names of values that are not secret although they contain `token` or `key`: variable names, limits.
const NOT_SECRET: [&str; 5] = ["env_", "_env", "tokens", "_max", "keymap"];

/// A unified diff of two texts under the name of their file; empty if they are equal. Values whose names look secret
/// are masked, and long lines are cut.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let lines = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &lines);
    diff.postprocess_lines(&lines);
    let printer = BasicLineDiffPrinter(&lines.interner);
    let changes = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &lines);
    let unified = format!("--- {name}\n+++ {name}\n{changes}");
    // Cut first: masking takes time per character, and a cut value is masked too.
    unified.lines().map(|line| cut(line, masked) + "\n").collect()
}

fn cut(line: &str, shown: impl Fn(&str) -> String) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => shown(&line[..at]) + "...",
        None => shown(line),
    }
}

/// The line with each value masked whose name looks secret. A value follows a name and a `:` or `=`; a reference to a
/// variable is not masked.
fn masked(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    let mut name = String::new();
    // Each pass removes at least one character.
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

/// The length of an unquoted value at the start of the text, which in YAML may contain spaces and signs.
fn value_length(text: &str, first: char) -> usize {
    let end = text.find([',', '}', ']']).unwrap_or(text.len());
    let end = text[..end].find(" #").unwrap_or(end);
    text[..end].trim_end().len().max(first.len_utf8())
}

/// The length of the quoted text or the word at the start; 1 for anything else.
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

/// Whether this is the name of a secret, followed by the sign that introduces its value.
fn is_secret(name: &str) -> bool {
    let Some(name) = name.strip_suffix(':') else { return false };
    let name = name.to_lowercase();
    SECRET.iter().any(|part| name.contains(part)) && !NOT_SECRET.iter().any(|part| name.contains(part))
}

fn is_harmless(value: &str) -> bool {
    value.is_empty() || value.starts_with('$') || value.starts_with("Bearer $")
}
