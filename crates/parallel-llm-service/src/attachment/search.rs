//! Searches a folder for the files to attach, all of them or those of a pattern such as `src/**/*.rs`.
//!
//! Invariants: the files are sorted by path, so that equal folders give equal prompts; hidden files, what `.gitignore` names
//! and links are left out; a search stays in the folder that was opened first, whatever takes its place; and it is bounded in
//! depth and in the number of entries, whatever it finds.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet};
use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_settings::pinned_folder::{EntryKind, OpenFolder};

use super::ignored::IgnoreRules;
use super::invalid;

/// The deepest file below a folder. Trees made by hand are half as deep.
const DEPTH_MAX: usize = 32;
/// The most entries of a search: a large repository without what it ignores. More is usually a home folder.
const ENTRIES_MAX: usize = 50_000;
/// The longest pattern in bytes, as of a path.
const PATTERN_BYTES_MAX: usize = 4_096;
/// The letters that make a name a pattern.
const PATTERN_LETTERS: [char; 4] = ['*', '?', '[', '{'];
/// What stands for any number of folders.
const ANY_FOLDERS: &str = "**";

/// Whether a path names no file and has a letter of a pattern.
pub fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(PATTERN_LETTERS) && path.symlink_metadata().is_err()
}

/// Whether a pattern finds a file.
pub fn finds(path: &Path) -> bool {
    let found = || {
        let (folder, pattern) = is_pattern(path).then(|| Pattern::of(&path.to_string_lossy()).ok()?)??;
        Search::of_person(folder, Some(pattern)).ok()?.run().ok()
    };
    found().is_some_and(|found| !found.files.is_empty())
}

/// The files to find, and the folders in which one can be.
pub(super) struct Pattern {
    files: GlobSet,
    /// The folders to enter, by their depth; of deeper ones, any up to `depth_max`.
    folders: Vec<GlobSet>,
    /// The depth of the deepest folder that can hold such a file.
    depth_max: usize,
}

impl Pattern {
    /// The folder and the pattern below it; `None` if the name is no pattern. The folder is the part before the first letter
    /// of a pattern.
    pub(super) fn of(named: &str) -> Result<Option<(PathBuf, Self)>, Failure> {
        let Some(first) = named.find(PATTERN_LETTERS) else { return Ok(None) };
        let refused =
            |why: &str| invalid(format!("`{named}` is no pattern: {why}")).with_next(Advice::CorrectPattern);
        if named.len() > PATTERN_BYTES_MAX {
            let message = format!("a pattern has more than {PATTERN_BYTES_MAX} bytes");
            return Err(invalid(message).with_next(Advice::CorrectPattern));
        }
        let (folder, pattern) = match named[..first].rfind('/') {
            Some(0) => ("/", &named[1..]),
            Some(slash) => named.split_at(slash + 1),
            None => (".", named),
        };
        let files = matcher(pattern).map_err(|error| refused(&error.kind().to_string()))?;
        // The folders before the first `**`, as far as each can be read without the rest.
        let slashes = pattern.match_indices('/').map(|(at, _)| &pattern[..at]);
        let shallow = slashes.take_while(|folder| !folder.contains(ANY_FOLDERS));
        let folders: Vec<GlobSet> = shallow.map_while(|folder| matcher(folder).ok()).collect();
        let depth_max = if pattern.contains(ANY_FOLDERS) { DEPTH_MAX } else { pattern.matches('/').count() };
        Ok(Some((folder.into(), Self { files, folders, depth_max })))
    }

    /// Whether a folder of this depth, counted from 1, may hold such a file.
    fn may_be_in(&self, folder: &Path, depth: usize) -> bool {
        self.folders.get(depth - 1).map_or(depth <= self.depth_max, |folders| folders.is_match(folder))
    }
}

/// Made as a set, which refuses a pattern that is too large instead of panicking.
fn matcher(pattern: &str) -> Result<GlobSet, globset::Error> {
    GlobSet::builder().add(GlobBuilder::new(pattern).literal_separator(true).build()?).build()
}

/// A folder to search.
pub(super) struct Search {
    /// The folder as it was named.
    pub(super) folder: PathBuf,
    opened: OpenFolder,
    /// Its path without links.
    path: PathBuf,
    /// Which files below it to find; `None` for all.
    pattern: Option<Pattern>,
    /// Whether a `.gitignore` above the folder counts.
    with_parents: bool,
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
    /// Folders left out because their `.gitignore` cannot be read.
    pub(super) undecided: usize,
}

impl Search {
    /// The search of a folder that a person named, which may be a link.
    pub(super) fn of_person(folder: PathBuf, pattern: Option<Pattern>) -> io::Result<Self> {
        let path = folder.canonicalize()?;
        Ok(Self { opened: OpenFolder::open(&path)?, folder, path, pattern, with_parents: true })
    }

    /// The search of an open folder with this path without links, above which nothing counts.
    pub(super) fn of_model(opened: OpenFolder, path: PathBuf, pattern: Option<Pattern>) -> Self {
        Self { opened, folder: path.clone(), path, pattern, with_parents: false }
    }

    /// Searches.
    pub(super) fn run(&self) -> Result<FoundFiles, Failure> {
        let rules = if self.with_parents {
            IgnoreRules::above(&self.path).map_err(|(path, error)| self.undecided(&path, &error))?
        } else {
            IgnoreRules::default()
        };
        let mut walk = Walk { search: self, rules, entries: 0, found: FoundFiles::default() };
        walk.folder(&self.opened, Path::new(""), 0)?;
        walk.found.files.sort();
        Ok(walk.found)
    }

    /// Opens a file that was found, by its path below the folder. No link on the way is followed.
    pub(super) fn open(&self, file: &Path) -> io::Result<File> {
        let (mut parts, name) = (file.parent().into_iter().flat_map(Path::components), file.file_name());
        let name = name.ok_or(io::ErrorKind::IsADirectory)?;
        let Some(first) = parts.next() else { return self.opened.file(name) };
        let first = self.opened.folder(first.as_os_str())?;
        parts.try_fold(first, |folder, part| folder.folder(part.as_os_str()))?.file(name)
    }

    fn too_large(&self, what: &str) -> Failure {
        invalid(format!("the folder `{}` has {what}", self.folder.display()))
            .with_next(Advice::AttachFewerFiles)
    }

    fn undecided(&self, file: &Path, error: &io::Error) -> Failure {
        let (folder, file) = (self.folder.display(), file.display());
        invalid(format!("the folder `{folder}` is not searched: `{file}`, which says what to leave out, cannot be read: {error}"))
            .with_next(Advice::MoveOutOfTheWay)
    }
}

/// A search in progress.
struct Walk<'a> {
    search: &'a Search,
    rules: IgnoreRules,
    /// The entries seen so far.
    entries: usize,
    found: FoundFiles,
}

impl Walk<'_> {
    /// Searches a folder of this depth. It holds one open folder for each level, of which there are few.
    fn folder(&mut self, folder: &OpenFolder, below: &Path, depth: usize) -> Result<(), Failure> {
        let path = self.search.path.join(below);
        match self.rules.enter(folder, &path) {
            Ok(()) => {}
            Err(error) if depth == 0 => {
                return Err(self.search.undecided(&path.join(super::ignored::FILE_NAME), &error));
            }
            Err(_) => {
                self.found.undecided += 1;
                return Ok(());
            }
        }
        match folder.first_names(ENTRIES_MAX - self.entries + 1) {
            Ok(names) => {
                names.iter().try_for_each(|name| self.entry(folder, &below.join(name), depth + 1))?;
            }
            Err(_) => self.found.unreadable += 1,
        }
        self.rules.leave();
        Ok(())
    }

    /// Takes an entry of a folder, or searches it.
    fn entry(&mut self, folder: &OpenFolder, below: &Path, depth: usize) -> Result<(), Failure> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return Err(self.search.too_large(&format!("more than {ENTRIES_MAX} files and folders")));
        }
        let name = below.file_name().unwrap_or_default();
        if name.as_encoded_bytes().starts_with(b".") {
            return Ok(());
        }
        let pattern = self.search.pattern.as_ref();
        let is_wanted = || pattern.is_none_or(|pattern| pattern.files.is_match(below));
        let kind = match folder.kind(name) {
            Ok(EntryKind::Folder) if pattern.is_some_and(|pattern| !pattern.may_be_in(below, depth)) => {
                return Ok(());
            }
            Ok(EntryKind::File | EntryKind::Other) | Err(_) if !is_wanted() => return Ok(()),
            kind => kind,
        };
        if self.rules.leave_out(&self.search.path.join(below), matches!(kind, Ok(EntryKind::Folder))) {
            return Ok(());
        }
        if depth > DEPTH_MAX {
            let what = format!("more than {DEPTH_MAX} folders below each other");
            return Err(self.search.too_large(&what));
        }
        match kind {
            Ok(EntryKind::File) => self.found.files.push(below.to_owned()),
            Ok(EntryKind::Other) => self.found.links += 1,
            Err(_) => self.found.unreadable += 1,
            Ok(EntryKind::Folder) => match folder.folder(name) {
                Ok(inner) => return self.folder(&inner, below, depth),
                Err(_) => self.found.unreadable += 1,
            },
        }
        Ok(())
    }
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

    /// The search with a pattern below a folder, or of all of it.
    fn search(folder: &Path, pattern: Option<&str>) -> Search {
        match pattern {
            Some(pattern) => {
                let named = format!("{}/{pattern}", folder.display());
                let (folder, pattern) = Pattern::of(&named).unwrap().expect("a pattern");
                Search::of_person(folder, Some(pattern)).unwrap()
            }
            None => Search::of_person(folder.to_owned(), None).unwrap(),
        }
    }

    /// What is found with a pattern below a folder, or in all of it.
    fn found(folder: &Path, pattern: Option<&str>) -> String {
        let search = search(folder, pattern);
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
        let found = search(folder.path(), None).run().unwrap();
        assert_eq!((found.files, found.links), (vec![PathBuf::from("a")], 2));
    }

    #[test]
    fn a_deep_tree_is_refused() {
        let folder = tree(&[&format!("{}f", "d/".repeat(DEPTH_MAX))]);
        let failure = search(folder.path(), None).run().err().expect("it is too deep");
        assert!(failure.message.ends_with("has more than 32 folders below each other"), "{failure}");
        fs::write(folder.path().join("a.md"), "x").unwrap();
        // A pattern is searched as deep as it reaches.
        assert_eq!(found(folder.path(), Some("*.md")), "a.md");
        assert_eq!(found(folder.path(), Some("{d/d,.}/*.md")), "");
        assert!(search(folder.path(), Some("**/f")).run().is_err());
    }

    #[test]
    fn a_pattern_enters_only_the_folders_that_it_names() {
        let (_, pattern) = Pattern::of("src/a*/b/*.rs").unwrap().expect("a pattern");
        let may = |folder: &str| pattern.may_be_in(Path::new(folder), folder.split('/').count());
        assert!(may("a1") && may("a1/b"));
        assert!(!may("b") && !may("a1/c") && !may("a1/b/c"));
        let (_, pattern) = Pattern::of("*/x/**/*.rs").unwrap().expect("a pattern");
        let may = |folder: &str| pattern.may_be_in(Path::new(folder), folder.split('/').count());
        assert!(may("a") && may("a/x") && may("a/x/y/z"));
        assert!(!may("a/y"));
        let (_, pattern) = Pattern::of("{a/b,c}/*.rs").unwrap().expect("a pattern");
        let may = |folder: &str| pattern.may_be_in(Path::new(folder), folder.split('/').count());
        assert!(may("a") && may("a/b") && may("c"));
        assert!(!may("a/b/c"));
    }

    #[test]
    fn the_rules_of_the_folders_above_count_up_to_the_repository() {
        let folder = tree(&["repo/.git/config", "repo/src/a.log", "repo/src/b.rs", "repo/src/c.rs"]);
        fs::write(folder.path().join(".gitignore"), "*.rs\n").unwrap();
        fs::write(folder.path().join("repo/.gitignore"), "*.log\n/src/c.rs\n").unwrap();
        assert_eq!(found(&folder.path().join("repo/src"), None), "b.rs");
        assert_eq!(found(&folder.path().join("repo"), None), "src/b.rs");
        fs::write(folder.path().join("repo/src/.gitignore"), "!a.log\nb.rs\n[\n").unwrap();
        assert_eq!(found(&folder.path().join("repo"), None), "src/a.log");
    }

    #[cfg(unix)]
    #[test]
    fn a_gitignore_that_is_no_plain_file_is_never_opened() {
        use std::os::unix::fs::symlink;

        type Put = fn(&Path);
        let pipe: Put = |path| {
            let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success());
        };
        let link: Put = |path| symlink("/dev/zero", path).unwrap();
        let sparse: Put = |path| fs::File::create(path).unwrap().set_len(20 << 30).unwrap();
        for put in [pipe, link, sparse] {
            let folder = tree(&["a/x", "b/y"]);
            put(&folder.path().join("a/.gitignore"));
            let below = search(folder.path(), None).run().unwrap();
            assert_eq!((below.files, below.undecided), (vec![PathBuf::from("b/y")], 1));
            let in_it =
                search(&folder.path().join("a"), None).run().err().expect("nobody knows what to leave out");
            assert!(in_it.message.contains("which says what to leave out, cannot be read: "), "{in_it}");
            put(&folder.path().join(".gitignore"));
            let above =
                search(&folder.path().join("b"), None).run().err().expect("nobody knows what to leave out");
            assert!(above.message.contains("which says what to leave out, cannot be read: "), "{above}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_swapped_for_a_link_is_not_followed() {
        let (folder, other) = (tree(&["in/a"]), tree(&["a"]));
        let search = search(folder.path(), None);
        assert_eq!(search.run().unwrap().files, [PathBuf::from("in/a")]);
        fs::rename(folder.path().join("in"), folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path().join("in")).unwrap();
        assert!(search.open(Path::new("in/a")).is_err());
    }

    #[test]
    fn a_pattern_that_is_too_long_is_refused() {
        let failure = Pattern::of(&"?".repeat(PATTERN_BYTES_MAX + 1)).err().expect("it is too long");
        assert_eq!(failure.message, "a pattern has more than 4096 bytes");
        // The longest of each kind compiles or is refused; none panics.
        for letters in ["?", "*", "[!a]", "{a,b}", "**/", "{?,", "[!\u{1f600}-\u{1f64f}]"] {
            let _ = Pattern::of(&letters.repeat(PATTERN_BYTES_MAX / letters.len()));
        }
    }

    #[test]
    fn a_pattern_is_split_at_its_first_letter() {
        let split = |named: &str| {
            let (folder, _) = Pattern::of(named).unwrap()?;
            Some(folder.display().to_string())
        };
        assert_eq!(split("src/**/*.rs").as_deref(), Some("src/"));
        assert_eq!(split("*.rs").as_deref(), Some("."));
        assert_eq!(split("/*.rs").as_deref(), Some("/"));
        assert_eq!(split("a/b*/c").as_deref(), Some("a/"));
        assert_eq!(split("a/b.rs"), None);
        let failure = Pattern::of("a[").err().expect("it is open");
        assert_eq!(failure.message, "`a[` is no pattern: unclosed character class; missing ']'");
    }
}
