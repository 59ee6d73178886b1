//! What the `.gitignore` files of a folder, and of those above it, leave out.
//!
//! The library matches; it never opens a file, because the one it would open may be a pipe, a link or a sparse file of any
//! length. Invariants: only regular files are read, and of one search at most [`BYTES_MAX`]; and a file that cannot be read
//! is an error, because without it nobody knows what to leave out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use parallel_llm_settings::pinned_folder::{EntryKind, OpenFolder, open_file_itself};

/// The name of such a file.
pub(super) const FILE_NAME: &str = ".gitignore";
/// The most bytes of all such files of one search. The longest that are published have a few kB; each line takes time.
const BYTES_MAX: usize = 1 << 20;
/// Where a repository begins: nothing above it counts.
const REPOSITORY: &str = ".git";

/// The rules that hold in a folder.
#[derive(Default)]
pub(super) struct IgnoreRules {
    /// Those of each folder, the outermost first.
    folders: Vec<Gitignore>,
    /// The bytes read so far.
    bytes: usize,
}

impl IgnoreRules {
    /// The rules of the folders above this one, up to the repository that it is in. Fails with the file that cannot be
    /// read. The path has no links, so its length bounds the number of folders.
    pub(super) fn above(folder: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let is_repository = |folder: &Path| folder.join(REPOSITORY).symlink_metadata().is_ok();
        let mut above = Vec::new();
        let mut inner = folder;
        while let Some(outer) = inner.parent().filter(|_| !is_repository(inner)) {
            above.push(outer);
            inner = outer;
        }
        let mut rules = Self::default();
        for folder in above.into_iter().rev() {
            let path = folder.join(FILE_NAME);
            let file = match path.symlink_metadata() {
                Ok(metadata) if !metadata.is_dir() => open_file_itself(&path).map(Some),
                _ => Ok(None),
            };
            let added = file.and_then(|file| rules.add_file(folder, file));
            added.map_err(|error| (path, error))?;
        }
        Ok(rules)
    }

    /// Adds the rules of an open folder, which hold until [`IgnoreRules::leave`].
    pub(super) fn enter(&mut self, folder: &OpenFolder, path: &Path) -> io::Result<()> {
        let name = OsStr::new(FILE_NAME);
        let file = match folder.kind(name) {
            Ok(EntryKind::File | EntryKind::Other) => Some(folder.file(name)?),
            Ok(EntryKind::Folder) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.add_file(path, file)
    }

    /// Drops the rules of the folder entered last.
    pub(super) fn leave(&mut self) {
        self.folders.pop();
    }

    /// Adds the rules in this text to those of the folder at this path.
    pub(super) fn add(&mut self, folder: &Path, text: &[u8]) -> io::Result<()> {
        self.folders.push(rules_in(folder, text, &mut self.bytes)?);
        Ok(())
    }

    /// Whether a file or folder is left out. The folders on its way are judged before it.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        leaves_out(self.folders.iter().rev(), path, is_folder)
    }

    fn add_file(&mut self, folder: &Path, file: Option<File>) -> io::Result<()> {
        let Some(file) = file else {
            self.folders.push(Gitignore::empty());
            return Ok(());
        };
        let mut text = Vec::new();
        file.take(BYTES_MAX as u64 + 1).read_to_end(&mut text)?;
        self.add(folder, &text)
    }
}

/// The rules of a folder whose files were read elsewhere, by the folders that they hold in.
pub(super) struct GivenRules(BTreeMap<PathBuf, Gitignore>);

impl GivenRules {
    /// The rules in those of these files that hold rules.
    pub(super) fn of<'f>(files: impl Iterator<Item = (&'f Path, &'f [u8])>) -> io::Result<Self> {
        let (mut rules, mut bytes) = (BTreeMap::new(), 0);
        for (path, text) in files.filter(|(path, _)| path.file_name() == Some(OsStr::new(FILE_NAME))) {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let read = rules_in(&folder, text, &mut bytes)?;
            rules.insert(folder, read);
        }
        Ok(Self(rules))
    }

    /// Whether a file is left out, by itself or with a folder that it is in.
    pub(super) fn leave_out(&self, file: &Path) -> bool {
        let is_out = |path: &Path, is_folder| {
            let around = path.ancestors().skip(1).filter_map(|folder| self.0.get(folder));
            leaves_out(around, path, is_folder)
        };
        let mut folders = file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        is_out(file, false) || folders.any(|folder| is_out(folder, true))
    }
}

/// The rules in this text, which hold in this folder. `bytes` is what was read before.
fn rules_in(folder: &Path, text: &[u8], bytes: &mut usize) -> io::Result<Gitignore> {
    *bytes += text.len();
    if *bytes > BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the `{FILE_NAME}` files have more than {BYTES_MAX} bytes in all"),
        ));
    }
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(text).trim_start_matches('\u{feff}').lines() {
        // As Git does, a line that is no pattern is passed over.
        let _ = builder.add_line(None, line);
    }
    builder.build().map_err(io::Error::other)
}

/// Whether these rules, the innermost first, leave a file or folder out.
fn leaves_out<'r>(mut rules: impl Iterator<Item = &'r Gitignore>, path: &Path, is_folder: bool) -> bool {
    let judged = rules.find_map(|rules| match rules.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    });
    judged.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_files_are_left_out_as_those_of_a_folder_are() {
        let files: &[(&str, &[u8])] =
            &[("app/.gitignore", b"/target/\n*.log\n!kept.log\n"), ("app/src/.gitignore", b"generated.rs\n")];
        let rules = GivenRules::of(files.iter().map(|(path, text)| (Path::new(*path), *text))).unwrap();
        let out = |file: &str| rules.leave_out(Path::new(file));
        assert!(out("app/target/deep/x.rs") && out("app/a.log") && out("app/src/b.log"));
        assert!(out("app/src/generated.rs"));
        assert!(!out("app/src/main.rs") && !out("app/kept.log") && !out("app/generated.rs"));
        assert!(!out("app/src/target/x.rs") && !out("other/a.log"));
        let long = vec![b'x'; BYTES_MAX + 1];
        assert!(GivenRules::of([(Path::new("app/.gitignore"), &*long)].into_iter()).is_err());
    }
}
