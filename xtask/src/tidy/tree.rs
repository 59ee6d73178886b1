//! The files of the repository, read once; the only IO of the rules.
//!
//! Paths are relative to the root and written with `/` on every system.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Finding;
use crate::failure::Failure;

/// Folders that are not checked.
const SKIPPED: &[&str] = &[".git", "target"];

/// The extensions of files whose text is read; of others only the path is known.
const READ: &[&str] = &["rs", "toml", "md", "sql", "lock"];

/// The greatest depth of folders, because a circular link would never end.
const DEPTH_MAX: usize = 16;

/// A parsed Rust file.
pub(super) struct RustFile {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) syntax: syn::File,
}

/// The input of the rules.
#[derive(Default)]
pub(super) struct Tree {
    /// The paths of all files.
    pub(super) paths: BTreeSet<String>,
    /// The texts of the files that rules read, by path.
    pub(super) texts: BTreeMap<String, String>,
    /// The Rust files that parse.
    pub(super) rust: Vec<RustFile>,
    /// A finding for each Rust file that does not parse.
    pub(super) unreadable: Vec<Finding>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self::default();
        tree.walk(root, "", DEPTH_MAX)?;
        tree.parse();
        Ok(tree)
    }

    /// A tree in memory.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.paths.insert((*path).to_owned());
            tree.texts.insert((*path).to_owned(), (*text).to_owned());
        }
        tree.parse();
        tree
    }

    /// The texts of the files whose name ends with `ending`.
    pub(super) fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let files = self.texts.iter().filter(move |(path, _)| path.ends_with(ending));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The folders of our packages.
    pub(super) fn packages(&self) -> BTreeSet<&str> {
        self.ending("/Cargo.toml").filter_map(|(path, _)| path.strip_suffix("/Cargo.toml")).collect()
    }

    fn walk(&mut self, folder: &Path, shown: &str, depth: usize) -> Result<(), Failure> {
        let unreadable = |error: std::io::Error| Failure::new(format!("cannot read `{shown}`: {error}"));
        if depth == 0 {
            return Err(Failure::new(format!("`{shown}` is deeper than {DEPTH_MAX} folders")));
        }
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
            if entry.file_type().map_err(unreadable)?.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    self.walk(&entry.path(), &path, depth - 1)?;
                }
                continue;
            }
            if ending(&name).is_some_and(|ending| READ.contains(&ending)) {
                let text = std::fs::read_to_string(entry.path())
                    .map_err(|error| Failure::new(format!("cannot read `{path}`: {error}")))?;
                self.texts.insert(path.clone(), text);
            }
            self.paths.insert(path);
        }
        Ok(())
    }

    fn parse(&mut self) {
        for (path, text) in self.texts.iter().filter(|(path, _)| ending(path) == Some("rs")) {
            match syn::parse_file(text) {
                Ok(syntax) => self.rust.push(RustFile { path: path.clone(), text: text.clone(), syntax }),
                Err(error) => {
                    let line = error.span().start().line;
                    self.unreadable.push(Finding::new(path, line, format!("does not parse: {error}")));
                }
            }
        }
    }
}

/// The extension of a path, without the period.
pub(super) fn ending(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, ending)| ending)
}

/// A rule's findings on files in memory, as `path:line text`.
#[cfg(test)]
pub(super) fn found(rule: super::Rule, files: &[(&str, &str)]) -> Vec<String> {
    let mut findings = rule(&Tree::of(files));
    findings.sort();
    findings.into_iter().map(|Finding { path, line, text }| format!("{path}:{line} {text}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_is_not_read() {
        let root = std::env::temp_dir().join(format!("parallel-llm-tree-{}", std::process::id()));
        let files = ["Cargo.toml", "xtask/Cargo.toml", "xtask/src/a.rs", "target/debug/b.rs", ".git/c.rs"];
        for file in files.map(|file| root.join(file)) {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let tree = Tree::read(&root);
        std::fs::remove_dir_all(&root).unwrap();
        let tree = tree.unwrap();
        assert_eq!(
            tree.paths.iter().collect::<Vec<_>>(),
            ["Cargo.toml", "xtask/Cargo.toml", "xtask/src/a.rs"]
        );
        assert_eq!(tree.packages(), BTreeSet::from(["xtask"]));
        assert_eq!(tree.rust.len(), 1);
    }
}
