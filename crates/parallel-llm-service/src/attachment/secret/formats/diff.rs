//! A diff as the files that it changes: what it adds to each, and what it takes out, which is sent as well.
//!
//! What always holds: a text without the heads of a diff has no files here.

use std::path::PathBuf;

/// The changes of one file.
pub(crate) struct ChangedFile {
    pub(crate) path: PathBuf,
    /// The lines it has afterwards, as far as the diff shows them.
    pub(crate) after: String,
    /// The lines that are taken out.
    pub(crate) removed: String,
    /// Whether any line is added or taken out.
    pub(crate) is_changed: bool,
}

/// The files of a unified diff, in order.
pub(crate) fn files(text: &str) -> Vec<ChangedFile> {
    let mut files: Vec<ChangedFile> = Vec::new();
    let mut old = None;
    let mut is_in_hunk = false;
    for line in text.lines() {
        if line.starts_with("diff --git ") || line.starts_with("Index: ") {
            (old, is_in_hunk) = (None, false);
        } else if let Some(path) = line.strip_prefix("--- ").filter(|_| !is_in_hunk || is_head(line)) {
            old = Some(path);
            is_in_hunk = false;
        } else if let (Some(path), Some(before)) = (line.strip_prefix("+++ "), old) {
            files.push(ChangedFile::new(path_of(path).or_else(|| path_of(before))));
            (old, is_in_hunk) = (None, false);
        } else if line.starts_with("@@") {
            is_in_hunk = true;
        } else if is_in_hunk && let Some(file) = files.last_mut() {
            file.read(line);
        }
    }
    files
}

/// Whether a line of a hunk is the head of another file, rather than a removed line that begins with dashes.
fn is_head(line: &str) -> bool {
    line.starts_with("--- a/") || line.starts_with("--- /dev/null")
}

/// The path in a head, without the mark of its side and a date; `None` for no file.
fn path_of(head: &str) -> Option<PathBuf> {
    let path = head.split('\t').next().unwrap_or_default().trim().trim_matches('"');
    let path =
        ["a/", "b/", "i/", "w/", "c/", "o/"].iter().find_map(|side| path.strip_prefix(side)).unwrap_or(path);
    (path != "/dev/null" && !path.is_empty()).then(|| PathBuf::from(path))
}

impl ChangedFile {
    fn new(path: Option<PathBuf>) -> Self {
        Self {
            path: path.unwrap_or_default(),
            after: String::new(),
            removed: String::new(),
            is_changed: false,
        }
    }

    fn read(&mut self, line: &str) {
        let (into, rest) = match (line.strip_prefix('+'), line.strip_prefix('-')) {
            (Some(added), _) => (&mut self.after, added),
            (_, Some(removed)) => (&mut self.removed, removed),
            _ => {
                self.after.push_str(line.strip_prefix(' ').unwrap_or(line));
                self.after.push('\n');
                return;
            }
        };
        self.is_changed = true;
        into.push_str(rest);
        into.push('\n');
    }
}
