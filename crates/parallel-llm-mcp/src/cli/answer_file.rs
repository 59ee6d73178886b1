//! `--output FILE`: a place for the answer that is known to be writable before anything is paid.

use std::io::Write;
use std::path::{Path, PathBuf};

use parallel_llm_engine::{Code, Failure};

use crate::clock;

/// A file under a temporary name beside the one that was asked for. Dropped unwritten, it leaves nothing.
pub(super) struct AnswerFile {
    path: PathBuf,
    temporary: PathBuf,
    file: Option<std::fs::File>,
}

impl AnswerFile {
    /// Makes sure that the answer can be written to this path. An existing file stays as it is until then.
    pub(super) fn reserve(path: &Path) -> Result<Self, Failure> {
        let name = path.file_name().ok_or_else(|| unwritable(path, "it names no file"))?;
        let temporary = path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), clock::unix_ms()));
        let mut options = std::fs::OpenOptions::new();
        let file =
            options.write(true).create_new(true).open(&temporary).map_err(|error| unwritable(path, error))?;
        if path.is_dir() {
            return Err(unwritable(path, "it is a folder"));
        }
        Ok(Self { path: path.to_owned(), temporary, file: Some(file) })
    }

    /// Writes the answer, whole or not at all.
    pub(super) fn write(mut self, answer: &str) -> Result<(), Failure> {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(answer.as_bytes()));
        written.and_then(|()| std::fs::rename(&self.temporary, &self.path)).map_err(|error| {
            unwritable(&self.path, error).with_next("the answer is kept: see `runs show @`")
        })?;
        self.file = None;
        Ok(())
    }
}

impl Drop for AnswerFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // What cannot be removed is an empty hidden file.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

fn unwritable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Code::OutputUnwritable, format!("the file `{}` cannot be written: {why}", path.display()))
        .with_next("name a file in a folder you may write")
}
