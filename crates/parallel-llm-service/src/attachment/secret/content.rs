//! Detects secrets by content: the formats in which keys, passwords and tokens are stored, the changes of such files, and
//! tokens and set secrets in any text.
//!
//! A format counts as a whole: a page that mentions a password passes, a file whose lines mostly set secrets does not.
//! Elsewhere the header of a private key counts, a token by its shape, and a value by its strength and its name.

use std::path::Path;

use parallel_llm_engine::text::safe;
use serde_json::Value;

use super::file_names::{is_template, name_sign};
use super::formats::lines::{allows, has_content, mostly};
use super::formats::programs::{holds_docker_login, holds_npm_token};
use super::formats::{declared, diff};
use super::judgement::value::{is_literal, is_secret, is_token, is_url_with_password, looks_random};
use super::keys::{pem, shapes};
use super::places::anywhere;
use super::places::records::{is_htpasswd, is_netrc, is_pgpass};

/// The longest text in bytes that is parsed whole as the settings of a program. Those are a few kB.
const PARSED_BYTES_MAX: usize = 256 * 1024;

/// The longest excerpt of the path of a changed file, in characters.
const PATH_CHARS: usize = 80;
/// Endings of files that configure programs, or are made of commands.
const SETTINGS_ENDINGS: &[&str] = &[
    "tf",
    "tfvars",
    "hcl",
    "ini",
    "cfg",
    "conf",
    "cnf",
    "toml",
    "properties",
    "env",
    "service",
    "sh",
    "bash",
    "zsh",
    "fish",
    "ps1",
    "bat",
    "cmd",
];
/// Endings of code and of pages.
const CODE_ENDINGS: &[&str] = &[
    "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "vue", "svelte", "go", "java", "kt", "kts", "scala",
    "rb", "php", "c", "h", "cc", "cpp", "hpp", "cs", "fs", "swift", "m", "dart", "ex", "exs", "erl", "hs",
    "ml", "clj", "lua", "pl", "r", "jl", "sql", "html", "css", "scss", "md", "rst", "txt", "adoc", "tex",
];
/// The first line of our own file of keys.
const OWN_KEYS: &str = "# Written by `parallel-llm-mcp keys`";

/// What a file seems to hold by its content; `None` if nothing secret.
pub(in super::super) fn by_content(path: &Path, bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    if pem::holds_private_key(text) {
        return Some("it holds a private key".to_owned());
    }
    let changed = diff::files(text);
    if !changed.is_empty() {
        return changed.iter().find_map(in_change).or_else(|| in_line(text, false));
    }
    let format = known_format(path, text).map(|what| format!("it holds {what}"));
    format.or_else(|| in_line(text, is_settings(path)))
}

/// What the change of a file adds or takes out, judged as the file it belongs to.
fn in_change(file: &diff::ChangedFile) -> Option<String> {
    let shown = safe::excerpt(&file.path.to_string_lossy(), PATH_CHARS);
    if let Some(what) = name_sign(&file.path, file.after.as_bytes()).filter(|_| file.is_changed) {
        return Some(format!("it changes `{shown}`, which by its name holds {what}"));
    }
    let sides = [&file.after, &file.removed];
    let what = sides.into_iter().find_map(|side| {
        let format = (!is_code(&file.path)).then(|| known_format(&file.path, side)).flatten();
        format
            .map(str::to_owned)
            .or_else(|| found_in(side, is_settings(&file.path)).map(|(what, _)| what.to_owned()))
    })?;
    Some(format!("it changes `{shown}`, which holds {what}"))
}

/// A token or a set secret in a line of the text.
fn in_line(text: &str, is_settings: bool) -> Option<String> {
    let (what, at) = found_in(text, is_settings)?;
    let line = 1 + text[..at].matches('\n').count();
    Some(format!("it holds {what} in line {line}"))
}

/// A token or a set secret, and its position.
fn found_in(text: &str, is_settings: bool) -> Option<(&'static str, usize)> {
    let token = shapes::find(text).map(|at| ("a token", at));
    token.or_else(|| anywhere::find(text, is_settings).map(|at| ("a secret", at)))
}

/// The name of a file in lower case, and its ending.
fn name_and_ending(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned();
    (name, ending)
}

/// Whether a file configures programs, or is made of commands.
fn is_settings(path: &Path) -> bool {
    let (name, ending) = name_and_ending(path);
    SETTINGS_ENDINGS.contains(&ending.as_str())
        || name.ends_with("history")
        || ["dockerfile", "containerfile", "crontab", "compose."].iter().any(|known| name.contains(known))
}

/// Whether a file is code or a page, whose lines set values of expressions.
fn is_code(path: &Path) -> bool {
    CODE_ENDINGS.contains(&name_and_ending(path).1.as_str())
}

fn known_format(path: &Path, text: &str) -> Option<&'static str> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| has_content(line)).collect();
    if text.contains(OWN_KEYS) {
        return Some("kept keys of providers");
    }
    if docker_secret(text) || kubernetes(&lines) || holds_npm_token(text.as_bytes()) || is_netrc(&lines) {
        return Some("credentials");
    }
    if mostly(&lines, is_token) {
        return Some("a token");
    }
    if declared::holds_secret(&name, text, &lines) {
        return Some("credentials");
    }
    if mostly(&lines, |line| is_pgpass(line) || is_url_with_password(line) || is_htpasswd(line)) {
        return Some("passwords");
    }
    let pairs: Vec<(&str, &str)> = lines.iter().filter_map(|line| pair(line)).collect();
    let is_secret = |(name, value): &(&str, &str)| is_secret(name, value);
    let is_random = |(_, value): &(&str, &str)| looks_random(value) || is_url_with_password(value);
    let sections = lines.iter().filter(|line| line.starts_with('[') && line.ends_with(']')).count();
    // In a template only values that were filled in count.
    let found = if is_template(&name) {
        pairs.iter().any(|pair| is_secret(pair) && is_random(pair))
    } else {
        pairs.iter().any(is_secret)
    };
    (found && !pairs.is_empty() && allows(pairs.len() + sections, lines.len()))
        .then_some("variables with secrets")
}

fn docker_secret(text: &str) -> bool {
    let settings = text.len() <= PARSED_BYTES_MAX && text.contains("\"auths\"");
    settings
        && serde_json::from_str::<Value>(text).is_ok_and(|settings| settings["auths"].is_object())
        && holds_docker_login(text.as_bytes())
}

/// A Kubernetes client configuration with credentials, or a secret.
fn kubernetes(lines: &[&str]) -> bool {
    let has = |wanted: &str| lines.iter().any(|line| line.replace(' ', "") == wanted);
    let sets = |names: &[&str]| {
        lines.iter().any(|line| {
            let line = line.trim_start_matches("- ");
            line.split_once(':').is_some_and(|(name, value)| names.contains(&name) && is_literal(value))
        })
    };
    (has("kind:Config") && sets(&["client-key-data", "token", "password", "id-token", "refresh-token"]))
        || (has("kind:Secret") && (has("data:") || has("stringData:")))
}

/// `NAME=VALUE`, with or without `export`, quotes and blanks.
fn pair(line: &str) -> Option<(&str, &str)> {
    let line = ["export ", "set ", "setenv ", "ENV "]
        .iter()
        .find_map(|word| line.strip_prefix(word))
        .unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim().trim_matches(['"', '\'']);
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter));
    is_name.then(|| (name, value.trim().trim_end_matches([',', ';']).trim_matches(['"', '\''])))
}
