//! Searches a folder for the files to attach, all of them or those of a pattern such as `src/**/*.rs`.
//!
//! Invariants: the files are sorted by path, so that equal folders give equal prompts; hidden files, what `.gitignore` names
//! and links are left out; and a search is bounded in depth and in the number of entries, whatever it finds.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::Advice;

use super::invalid;

/// The deepest file below a folder. Trees made by hand are half as deep.
const DEPTH_MAX: usize = 32;
/// The most entries of a search: a large repository without what it ignores. More is usually a home folder.
const ENTRIES_MAX: usize = 50_000;
/// The letters that make a name a pattern.
const PATTERN_LETTERS: [char; 4] = ['*', '?', '[', '{'];

/// Whether a path names no file and has a letter of a pattern.
pub fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(PATTERN_LETTERS) && path.symlink_metadata().is_err()
}

/// A folder to search.
pub(super) struct Search {
    /// The folder.
    pub(super) folder: PathBuf,
    /// Which files below it to find; `None` for all.
    pub(super) pattern: Option<GlobMatcher>,
    /// Whether a `.gitignore` above the folder counts.
    pub(super) with_parents: bool,
}

/// What a search found.
#[derive(Default)]
pub(super) struct FoundFiles {
    /// The files, as paths below the folder.
    pub(super) files: Vec<PathBuf>,
    /// Links, pipes and devices, which are left out.
    pub(super) links: usize,
    /// Entries that cannot be read.
    pub(super) unreadable: usize,
}

impl Search {
    /// The search for a pattern; `None` if the name is none. The folder is the part before the first letter of a pattern.
    pub(super) fn of_pattern(named: &str) -> Result<Option<Self>, Failure> {
        let Some(first) = named.find(PATTERN_LETTERS) else { return Ok(None) };
        let (folder, pattern) = match named[..first].rfind('/') {
            Some(0) => ("/", &named[1..]),
            Some(slash) => named.split_at(slash + 1),
            None => ("", named),
        };
        let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| {
            invalid(format!("`{named}` is no pattern: {}", error.kind())).with_next(Advice::CorrectPattern)
        })?;
        let folder = if folder.is_empty() { "." } else { folder };
        Ok(Some(Self { folder: folder.into(), pattern: Some(glob.compile_matcher()), with_parents: true }))
    }

    /// Searches.
    pub(super) fn run(&self) -> Result<FoundFiles, Failure> {
        let mut found = FoundFiles::default();
        if has_odd_gitignore(&self.folder) {
            found.unreadable = 1;
            return Ok(found);
        }
        let mut walk = WalkBuilder::new(&self.folder);
        walk.hidden(true).git_ignore(true).require_git(false).parents(self.with_parents);
        // Only what lies in the tree decides, so that a folder gives the same files everywhere.
        walk.ignore(false).git_global(false).git_exclude(false);
        walk.follow_links(false).max_depth(Some(DEPTH_MAX + 1));
        walk.filter_entry(|entry| !is_folder(entry) || !has_odd_gitignore(entry.path()));
        for (index, entry) in walk.build().enumerate() {
            if index > ENTRIES_MAX {
                return Err(self.too_large(&format!("more than {ENTRIES_MAX} files and folders")));
            }
            match entry {
                Ok(entry) if entry.depth() > DEPTH_MAX => {
                    return Err(self.too_large(&format!("more than {DEPTH_MAX} folders below each other")));
                }
                Ok(entry) => self.take(&entry, &mut found),
                Err(_) => found.unreadable += 1,
            }
        }
        found.files.sort();
        Ok(found)
    }

    /// Opens a file that was found, by its path below the folder.
    pub(super) fn open(&self, file: &Path) -> io::Result<File> {
        File::open(self.folder.join(file))
    }

    fn take(&self, entry: &DirEntry, found: &mut FoundFiles) {
        let Ok(below) = entry.path().strip_prefix(&self.folder) else { return };
        let is_wanted = self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(below));
        match entry.file_type() {
            Some(kind) if kind.is_dir() => {}
            Some(kind) if kind.is_file() && is_wanted => found.files.push(below.to_owned()),
            Some(kind) if !kind.is_file() && is_wanted => found.links += 1,
            _ => {}
        }
    }

    fn too_large(&self, what: &str) -> Failure {
        invalid(format!("the folder `{}` has {what}", self.folder.display()))
            .with_next(Advice::AttachFewerFiles)
    }
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// Whether the folder has a `.gitignore` that is a pipe or a device: reading it could wait for ever.
fn has_odd_gitignore(folder: &Path) -> bool {
    let metadata = folder.join(".gitignore").metadata();
    metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with these files.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        folder
    }

    /// What is found with a pattern below a folder, or in all of it.
    fn found(folder: &Path, pattern: Option<&str>) -> String {
        let search = match pattern {
            Some(pattern) => {
                Search::of_pattern(&format!("{}/{pattern}", folder.display())).unwrap().expect("a pattern")
            }
            None => Search { folder: folder.to_owned(), pattern: None, with_parents: true },
        };
        let base = search.folder.strip_prefix(folder).unwrap().to_owned();
        let files = search.run().unwrap().files;
        let shown = files.iter().map(|file| base.join(file).display().to_string());
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_folder_is_searched_in_order_without_what_is_hidden_or_ignored() {
        let folder = tree(&[
            "b.rs",
            "a/z.rs",
            "a/y.md",
            ".env",
            ".git/config",
            "target/x.rs",
            "a/log/1",
            "a/.hidden/f",
        ]);
        fs::write(folder.path().join(".gitignore"), "target/\n").unwrap();
        fs::write(folder.path().join("a/.gitignore"), "log\n").unwrap();
        assert_eq!(found(folder.path(), None), "a/y.md a/z.rs b.rs");
        assert_eq!(found(folder.path(), Some("**/*.rs")), "a/z.rs b.rs");
        assert_eq!(found(folder.path(), Some("*.rs")), "b.rs");
        assert_eq!(found(folder.path(), Some("a/*")), "a/y.md a/z.rs");
        assert_eq!(found(folder.path(), Some("{b,c}.rs")), "b.rs");
        assert_eq!(found(folder.path(), Some("[a-c].rs")), "b.rs");
        assert_eq!(found(folder.path(), Some("?.md")), "");
        assert_eq!(found(folder.path(), Some("**/.env")), "");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_counted_and_not_followed() {
        let (folder, other) = (tree(&["a"]), tree(&["secret"]));
        std::os::unix::fs::symlink(other.path(), folder.path().join("out")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("round")).unwrap();
        let search = Search { folder: folder.path().to_owned(), pattern: None, with_parents: false };
        let found = search.run().unwrap();
        assert_eq!((found.files, found.links), (vec![PathBuf::from("a")], 2));
    }

    #[test]
    fn a_deep_tree_is_refused() {
        let folder = tree(&[&format!("{}f", "d/".repeat(DEPTH_MAX))]);
        let search = Search { folder: folder.path().to_owned(), pattern: None, with_parents: false };
        let failure = search.run().err().expect("it is too deep");
        assert!(failure.message.ends_with("has more than 32 folders below each other"), "{failure}");
    }

    #[test]
    fn a_pattern_is_split_at_its_first_letter() {
        let split = |named: &str| {
            let search = Search::of_pattern(named).unwrap()?;
            Some(search.folder.display().to_string())
        };
        assert_eq!(split("src/**/*.rs").as_deref(), Some("src/"));
        assert_eq!(split("*.rs").as_deref(), Some("."));
        assert_eq!(split("/*.rs").as_deref(), Some("/"));
        assert_eq!(split("a/b*/c").as_deref(), Some("a/"));
        assert_eq!(split("a/b.rs"), None);
        let failure = Search::of_pattern("a[").err().expect("it is open");
        assert_eq!(failure.message, "`a[` is no pattern: unclosed character class; missing ']'");
    }
}
