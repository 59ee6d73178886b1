//! Searches for what must not be found: a key, or a text that must not be stored.

use crate::call::Output;
use crate::sandbox::Sandbox;

/// The length of the parts of a key that are searched for; this much would give it away.
const KEY_PART_BYTES: usize = 16;

impl Output {
    /// Fails if the key is in the output.
    pub fn assert_no_key(&self) {
        for part in parts(&self.key) {
            assert!(!holds(&self.stdout, part), "the key is on stdout");
            assert!(!holds(self.stderr.as_bytes(), part), "the key is on stderr:\n{}", self.stderr);
        }
    }
}

impl Sandbox {
    /// Fails if the key is in any file below the home: database, write-ahead log, answers, logs.
    pub fn assert_no_key_in_files(&self) {
        for part in parts(self.simulator().api_key()) {
            self.assert_nowhere(part);
        }
    }

    /// Fails if these bytes are in any file below the home.
    pub fn assert_nowhere(&self, bytes: &[u8]) {
        for (path, content) in self.files() {
            assert!(!holds(&content, bytes), "`{}` is in {}", bytes.escape_ascii(), path.display());
        }
    }
}

/// The beginning and the end of the secret part of a key; its prefix is not secret.
fn parts(key: &str) -> [&[u8]; 2] {
    let secret = &key.as_bytes()[key.rfind('-').map_or(0, |dash| dash + 1)..];
    let bytes = KEY_PART_BYTES.min(secret.len());
    [&secret[..bytes], &secret[secret.len() - bytes..]]
}

fn holds(content: &[u8], bytes: &[u8]) -> bool {
    memchr::memmem::find(content, bytes).is_some()
}
