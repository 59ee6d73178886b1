//! Lists of models on disk: one file a provider, so that the next start knows what the last one fetched.
//!
//! What always holds: nothing partial stands under a final name; folder 0700, file 0600; a file that cannot be read
//! or is of another address counts as missing and is replaced by the next fetch. Nothing here is ever fatal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parallel_llm_engine::{ModelInfo, ProviderId};
use serde::{Deserialize, Serialize};

use parallel_llm_settings::private_files;

/// The version of the stored shape. Another one counts as missing.
const VERSION: u32 = 1;
/// The longest file that is read or written. Four hundred models come to a tenth of a megabyte.
const FILE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The longest id of a provider that becomes a file name, in bytes; longer ones are kept nowhere.
const ID_BYTES_MAX: usize = 64;

/// A list as it lies on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    version: u32,
    /// When it was fetched, in milliseconds since 1970.
    pub(super) fetched_at: u64,
    /// The address it was fetched from. Another address may sell other models.
    base_url: String,
    /// The models.
    pub(super) models: Vec<ModelInfo>,
}

impl Kept {
    pub(super) fn new(fetched_at: u64, base_url: &str, models: &[ModelInfo]) -> Self {
        Self { version: VERSION, fetched_at, base_url: base_url.to_owned(), models: models.to_vec() }
    }

    /// The provider's list, where there is one of this address.
    pub(super) fn read(folder: &Path, provider: &ProviderId, base_url: &str) -> Option<Self> {
        let file = File::open(path(folder, provider)?).ok()?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).ok()?;
        let kept: Self = serde_json::from_slice(&bytes).ok().filter(|_| bytes.len() <= FILE_BYTES_MAX)?;
        (kept.version == VERSION && kept.base_url == base_url).then_some(kept)
    }

    /// Puts the list in place of the one before. One that is too long to be read again is not written.
    pub(super) fn write(&self, folder: &Path, provider: &ProviderId) -> io::Result<()> {
        let json = serde_json::to_vec(self)?;
        let Some(path) = path(folder, provider).filter(|_| json.len() <= FILE_BYTES_MAX) else {
            return Ok(());
        };
        private_files::folder_builder().recursive(true).create(folder)?;
        // Two processes may write at once: each under a name of its own, and the last one is as good as the first.
        let temporary = folder.join(format!(".{provider}.{}.new", std::process::id()));
        let written = write_private(&temporary, &json).and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            // What cannot be removed is a hidden file that the next write replaces.
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }
}

/// What tells one file from the next that takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Two files written in one tick of the clock differ in this.
    #[cfg(unix)]
    inode: u64,
}

impl Mark {
    /// The mark of a provider's list; `None` where there is none. One look at the folder: a microsecond.
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

/// Where a provider's list lies; `None` where its id is no plain file name.
fn path(folder: &Path, provider: &ProviderId) -> Option<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_name = (1..=ID_BYTES_MAX).contains(&provider.0.len()) && provider.0.bytes().all(is_plain);
    is_name.then(|| folder.join(format!("{provider}.json")))
}

/// Not flushed to the disk: what a power cut takes is fetched again.
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
    fn what_was_written_is_read_for_its_own_address() {
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
    fn what_cannot_be_read_counts_as_missing() {
        let home = tempfile::tempdir().unwrap();
        let whole = serde_json::to_string(&Kept::new(7, URL, &[])).unwrap();
        let newer = whole.replace("\"version\":1", "\"version\":2");
        for broken in ["", "{", "[]", "null", &whole[1..], &newer, &"x".repeat(100)] {
            std::fs::write(home.path().join("vllm.json"), broken).unwrap();
            assert_eq!(Kept::read(home.path(), &provider("vllm"), URL), None, "{broken}");
        }
    }
}
