//! Lists of models on disk, one file for each provider, for the next start.
//!
//! Invariants: no partial file has a final name; the folder is 0700, files are 0600; an unreadable file, or one
//! of another address, counts as missing and is replaced by the next fetch. No error here is fatal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parallel_llm_engine::{ModelInfo, ProviderId};
use serde::{Deserialize, Serialize};

use parallel_llm_settings::private_files;

/// The version of the stored format. A file of another version counts as missing.
const VERSION: u32 = 1;
/// The longest file, in bytes. Four hundred models take a tenth of a megabyte.
const FILE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The longest provider id used as a file name, in bytes; lists of longer ids are not stored.
const ID_BYTES_MAX: usize = 64;

/// A stored list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    version: u32,
    /// The time of the fetch, in milliseconds since 1970.
    pub(super) fetched_at: u64,
    /// The base URL it was fetched from. Another one may offer other models.
    base_url: String,
    /// The models.
    pub(super) models: Vec<ModelInfo>,
}

impl Kept {
    pub(super) fn new(fetched_at: u64, base_url: &str, models: &[ModelInfo]) -> Self {
        Self { version: VERSION, fetched_at, base_url: base_url.to_owned(), models: models.to_vec() }
    }

    /// The provider's list, if there is one of this base URL.
    pub(super) fn read(folder: &Path, provider: &ProviderId, base_url: &str) -> Option<Self> {
        let file = File::open(path(folder, provider)?).ok()?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).ok()?;
        let kept: Self = serde_json::from_slice(&bytes).ok().filter(|_| bytes.len() <= FILE_BYTES_MAX)?;
        (kept.version == VERSION && kept.base_url == base_url).then_some(kept)
    }

    /// Replaces the stored list. A list too long to be read again is not written.
    pub(super) fn write(&self, folder: &Path, provider: &ProviderId) -> io::Result<()> {
        let json = serde_json::to_vec(self)?;
        let Some(path) = path(folder, provider).filter(|_| json.len() <= FILE_BYTES_MAX) else {
            return Ok(());
        };
        private_files::folder_builder().recursive(true).create(folder)?;
        // Two processes may write at once: each uses a temporary name of its own, and either list is good.
        let temporary = folder.join(format!(".{provider}.{}.new", std::process::id()));
        let written = write_private(&temporary, &json).and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            // A leftover is a hidden file that the next write replaces.
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }
}

/// The identity of a file's version, to notice when it was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Two files written within one clock tick differ in their inode.
    #[cfg(unix)]
    inode: u64,
}

impl Mark {
    /// The mark of a provider's list; `None` without one. Reading it takes a microsecond.
    pub(super) fn of(folder: &Path, provider: &ProviderId) -> Option<Self> {
        let facts = std::fs::metadata(path(folder, provider)?).ok()?;
        Some(Self {
            modified: facts.modified().ok(),
            bytes: facts.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&facts),
        })
    }
}

/// The path of a provider's list; `None` if its id is not a plain file name.
fn path(folder: &Path, provider: &ProviderId) -> Option<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = (1..=ID_BYTES_MAX).contains(&provider.0.len()) && provider.0.bytes().all(is_plain);
    is_name.then(|| folder.join(format!("{provider}.json")))
}

/// Without fsync: a list lost in a power failure is fetched again.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = private_files::private(OpenOptions::new());
    options.write(true).create(true).truncate(true).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:9/v1";

    fn provider(id: &str) -> ProviderId {
        ProviderId(id.to_owned())
    }

    #[test]
    fn a_stored_list_is_read_only_for_its_own_address() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("models");
        let kept = Kept::new(7, URL, &[ModelInfo::named("a/b")]);
        for _ in 0..2 {
            kept.write(&folder, &provider("ollama")).unwrap();
        }
        assert_eq!(Kept::read(&folder, &provider("ollama"), URL), Some(kept.clone()));
        assert_eq!(Kept::read(&folder, &provider("ollama"), "https://a.b/v1"), None);
        assert_eq!(Kept::read(&folder, &provider("mistral"), URL), None);
        kept.write(&folder, &provider("../evil")).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "no name leaves the folder");
    }

    #[test]
    fn an_unreadable_list_counts_as_missing() {
        let home = tempfile::tempdir().unwrap();
        let whole = serde_json::to_string(&Kept::new(7, URL, &[])).unwrap();
        let newer = whole.replace("\"version\":1", "\"version\":2");
        for broken in ["", "{", "[]", "null", &whole[1..], &newer, &"x".repeat(100)] {
            std::fs::write(home.path().join("vllm.json"), broken).unwrap();
            assert_eq!(Kept::read(home.path(), &provider("vllm"), URL), None, "{broken}");
        }
    }
}
