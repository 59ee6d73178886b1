//! Removes keys, home folders, and user and machine names from a report for others.
//!
//! Invariants: a cleaned text contains no key known to this program, no path of the home folder, and neither the
//! user's nor the machine's name.

use std::path::Path;

use parallel_llm_provider::Scrubber;
use secrecy::SecretString;
use serde_json::Value;

use super::system;
use parallel_llm_settings::settings::{ProviderKey, Settings};

/// Removes what identifies the user, the machine or a key.
pub(super) struct Anonymizer {
    scrubber: Scrubber,
    /// The spellings of the home folder, the longest first.
    homes: Vec<String>,
    /// Names and their replacements.
    names: Vec<(String, &'static str)>,
}

impl Anonymizer {
    pub(super) fn new(settings: &Settings) -> Self {
        let keys = settings.providers.iter().filter_map(|provider| match &provider.key {
            ProviderKey::Set { key, .. } => Some(key.clone()),
            ProviderKey::Command(_) | ProviderKey::Missing => None,
        });
        let headers = settings.providers.iter().flat_map(|provider| &provider.headers);
        let headers = headers.chain(&settings.telemetry.headers);
        let secrets: Vec<SecretString> = keys.chain(headers.map(|(_, value)| value.clone())).collect();
        let host = &settings.host_info;
        let home = host.home.as_deref();
        let of_home = home.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned);
        let users = host.user.clone().into_iter().chain(of_home).map(|name| (name, "<user>"));
        let host = system::host();
        // The host name may appear with its domain or without.
        let short = host.as_deref().and_then(|host| host.split_once('.')).map(|(short, _)| short.to_owned());
        let hosts = host.into_iter().chain(short).map(|name| (name, "<host>"));
        Self {
            scrubber: Scrubber::new(secrets),
            homes: home.map(written).unwrap_or_default(),
            names: users.chain(hosts).filter(|(name, _)| !name.is_empty()).collect(),
        }
    }

    /// A cleaned text.
    pub(super) fn text(&self, text: &str) -> String {
        let without_home = self.homes.iter().fold(text.to_owned(), |text, home| text.replace(home, "~"));
        let without_keys = self.scrubber.scrub(&without_home);
        self.names.iter().fold(without_keys, |text, (name, mark)| without_word(&text, name, mark))
    }

    /// A value with all its texts cleaned.
    pub(super) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (name, self.value(value))).collect()
            }
            plain => plain,
        }
    }
}

/// The home folder as named, and as resolved through links. The root is no one's home.
fn written(home: &Path) -> Vec<String> {
    let reached = home.canonicalize().ok();
    let paths = [Some(home.to_owned()), reached].into_iter().flatten();
    let mut texts: Vec<String> =
        paths.map(|path| path.display().to_string()).filter(|path| path.len() > 1).collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts.dedup();
    texts
}

/// Replaces a name by a mark where it is a separate word, in any case.
fn without_word(text: &str, name: &str, mark: &str) -> String {
    let is_inside = |character: Option<char>| character.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let own = rest.get(..name.len()).filter(|own| own.eq_ignore_ascii_case(name));
        match own {
            Some(own) if !is_inside(before) && !is_inside(rest[own.len()..].chars().next()) => {
                clean.push_str(mark);
                before = own.chars().next_back();
                rest = &rest[own.len()..];
            }
            _ => {
                clean.push(first);
                before = Some(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_removed_only_as_a_whole_word() {
        for (text, expected) in [
            ("ann at /srv/ann/x", "<user> at /srv/<user>/x"),
            ("Ann's planning, channel, ann_1", "<user>'s planning, channel, ann_1"),
            ("", ""),
            ("annann éann ann", "annann éann <user>"),
        ] {
            assert_eq!(without_word(text, "ann", "<user>"), expected);
        }
    }

    #[test]
    fn home_folders_keys_and_names_are_removed_everywhere() {
        let key = "0".repeat(40);
        let anonymizer = Anonymizer {
            scrubber: Scrubber::new([SecretString::from(key.clone())]),
            homes: written(Path::new("/no/such/ann")),
            names: vec![("ann".to_owned(), "<user>"), ("box".to_owned(), "<host>")],
        };
        let value =
            serde_json::json!({ "a": ["/no/such/ann/x on box", { "b": format!("key {key}") }], "c": 7 });
        let clean = anonymizer.value(value);
        assert_eq!(clean, serde_json::json!({ "a": ["~/x on <host>", { "b": "key ***" }], "c": 7 }));
    }
}
