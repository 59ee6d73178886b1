//! `--output FILE`: a place for the answer that is known to be writable before anything is paid.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use parallel_llm_engine::{Code, Failure};

use crate::clock;

/// Where the answer goes. Dropped unwritten, it leaves nothing.
pub(super) struct AnswerFile {
    path: PathBuf,
    file: Option<File>,
    /// The name the file has until it is whole; `None` for what is no regular file, such as a pipe.
    temporary: Option<PathBuf>,
}

impl AnswerFile {
    /// Makes sure that the answer can be written to this path. An existing file stays as it is until then.
    pub(super) fn reserve(path: &Path) -> Result<Self, Failure> {
        // A link stays a link: what it leads to is written.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_special = path.metadata().is_ok_and(|metadata| !metadata.is_file());
        let mut options = OpenOptions::new();
        if is_special {
            let file = options.write(true).open(&path).map_err(|error| unwritable(&path, error))?;
            return Ok(Self { path, file: Some(file), temporary: None });
        }
        let name = path.file_name().ok_or_else(|| unwritable(&path, "it names no file"))?;
        let temporary = path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), clock::unix_ms()));
        let file = options
            .write(true)
            .create_new(true)
            .open(&temporary)
            .map_err(|error| unwritable(&path, error))?;
        Ok(Self { path, file: Some(file), temporary: Some(temporary) })
    }

    /// Writes the answer; to a regular file whole or not at all.
    pub(super) fn write(mut self, answer: &str) -> Result<(), Failure> {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(answer.as_bytes()));
        let renamed = written.and_then(|()| match &self.temporary {
            Some(temporary) => std::fs::rename(temporary, &self.path),
            None => Ok(()),
        });
        renamed.map_err(|error| {
            unwritable(&self.path, error).with_next("the answer is kept: see `runs show @`")
        })?;
        self.temporary = None;
        Ok(())
    }
}

impl Drop for AnswerFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // What cannot be removed is an empty hidden file.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn unwritable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Code::OutputUnwritable, format!("the file `{}` cannot be written: {why}", path.display()))
        .with_next("name a file in a folder you may write")
}
