//! Takes keys out of text before anyone sees it.
//!
//! First every key value this program knows, exactly; then whatever is shaped like a key, because a provider may
//! echo one that is not ours, or part of one. What always holds: no known key of at least [`KEY_BYTES_MIN`]
//! bytes is left in the text.

use std::sync::{Arc, PoisonError, RwLock};

use parallel_llm_engine::Failure;
use secrecy::{ExposeSecret, SecretString};

/// Stands where a key stood.
const MARK: &str = "***";
/// Below this length a key is not taken out: local servers accept any word, and `x` is no secret but a letter.
const KEY_BYTES_MIN: usize = 8;
/// How the keys of the known providers begin.
const PREFIXES: [&str; 6] = ["sk-", "gsk_", "xai-", "AIza", "AQ.", "plm_"];
/// The shortest word with such a beginning that is taken for a key. Real ones have 35 characters and more, the
/// masked ones that providers echo (`sk-or-v1-au7...890`) half as many.
const SHAPE_BYTES_MIN: usize = 16;
/// What goes before a key in a header, and before the hash of one in the address of its page.
const INTRODUCTIONS: [&str; 3] = ["bearer ", "/keys/", "?key="];

/// Knows this program's keys. Cheap to clone; clones know the same keys.
#[derive(Clone, Debug, Default)]
pub struct Scrubber {
    keys: Arc<RwLock<Vec<SecretString>>>,
}

impl Scrubber {
    /// A scrubber that takes out these keys, and whatever looks like one.
    pub fn new(keys: impl IntoIterator<Item = SecretString>) -> Self {
        let scrubber = Self::default();
        keys.into_iter().for_each(|key| scrubber.learn(key));
        scrubber
    }

    /// Takes this out too from now on.
    pub fn learn(&self, key: SecretString) {
        if key.expose_secret().len() < KEY_BYTES_MIN {
            return;
        }
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if keys.iter().any(|known| known.expose_secret() == key.expose_secret()) {
            return;
        }
        keys.push(key);
        // A key that holds another as a part goes first, else a piece of it would be left.
        keys.sort_by_key(|key| std::cmp::Reverse(key.expose_secret().len()));
    }

    /// The text without keys.
    pub fn scrub(&self, text: &str) -> String {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let mut text = without_shapes(&without_known(&keys, text.to_owned()));
        // Taking one thing out may push the pieces of a key together. Each turn makes the text shorter.
        while keys.iter().any(|key| text.contains(key.expose_secret())) {
            text = without_known(&keys, text);
        }
        text
    }

    /// The failure without keys.
    #[must_use]
    pub fn clean(&self, mut failure: Failure) -> Failure {
        failure.message = self.scrub(&failure.message);
        failure.next = failure.next.map(|next| self.scrub(&next));
        failure
    }
}

fn without_known(keys: &[SecretString], text: String) -> String {
    keys.iter()
        .map(ExposeSecret::expose_secret)
        .fold(text, |text, key| if text.contains(key) { text.replace(key, MARK) } else { text })
}

/// The text with a mark in place of each word that is shaped like a key.
fn without_shapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_key_character) {
        let (before, from) = rest.split_at(start);
        clean.push_str(before);
        let end = from.find(|character| !is_key_character(character)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        let key = word.trim_end_matches('.');
        if is_key(key, &clean) {
            clean.push_str(MARK);
            clean.push_str(&word[key.len()..]);
        } else {
            clean.push_str(word);
        }
        rest = after;
    }
    clean.push_str(rest);
    clean
}

fn is_key(word: &str, before: &str) -> bool {
    let shaped = word.len() >= SHAPE_BYTES_MIN && PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    let introduced = word.len() >= KEY_BYTES_MIN
        && INTRODUCTIONS.iter().any(|introduction| {
            let tail = before.len().checked_sub(introduction.len()).and_then(|start| before.get(start..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(introduction))
        });
    shaped || introduced
}

/// What keys are written with; `*` because providers mask the middle of the keys they echo.
const fn is_key_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scrubber(keys: &[&str]) -> Scrubber {
        Scrubber::new(keys.iter().copied().map(SecretString::from))
    }

    #[test]
    fn known_keys_and_key_shapes_go() {
        let hash = "0123456789abcdef".repeat(4);
        let key = format!("sk-or-v1-{}", "0".repeat(64));
        for (text, clean) in [
            ("the key mistral0plain0key failed".to_owned(), "the key *** failed".to_owned()),
            (format!("bad key {key}."), "bad key ***.".to_owned()),
            (format!("Authorization: Bearer {hash}"), "Authorization: Bearer ***".to_owned()),
            (
                "Incorrect API key provided: sk-proj-****abcd.".to_owned(),
                "Incorrect API key provided: ***.".to_owned(),
            ),
            (
                format!("Manage it using https://openrouter.ai/workspaces/default/keys/{hash}"),
                "Manage it using https://openrouter.ai/workspaces/default/keys/***".to_owned(),
            ),
            ("gsk_abcdefghijklmnop,xai-abcdefghijklmnop".to_owned(), "***,***".to_owned()),
            ("https://x/?key=AIzaSyA0000000000000000".to_owned(), "https://x/?key=***".to_owned()),
        ] {
            assert_eq!(scrubber(&["mistral0plain0key"]).scrub(&text), clean);
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in
            ["sk-learn and risk-averse people", "a bearer of news", "the openai/gpt-6.1-sol model", "ключ"]
        {
            assert_eq!(scrubber(&["x", "ollama"]).scrub(text), text);
        }
    }

    #[test]
    fn a_scrubber_never_prints_its_keys() {
        assert!(!format!("{:?}", scrubber(&["mistral0plain0key"])).contains("mistral"));
    }

    proptest! {
        #[test]
        fn no_known_key_survives(
            keys in prop::collection::vec("[!-~]{8,20}", 1..4),
            pieces in prop::collection::vec("[a-z*. ]{0,4}", 1..8),
            picks in prop::collection::vec(0usize..4, 8),
        ) {
            let known: Vec<&str> = keys.iter().map(String::as_str).collect();
            let mut text = String::new();
            for (piece, pick) in pieces.iter().zip(picks) {
                text.push_str(piece);
                text.push_str(known[pick % known.len()]);
            }
            let clean = scrubber(&known).scrub(&text);
            for key in known {
                prop_assert!(!clean.contains(key), "{} in {}", key, clean);
            }
        }
    }
}
