//! The local files of a question, each of which is read once, by whatever names and paths it is named.

use std::path::Path;

use super::Attachments;

impl Attachments {
    /// Whether a file is not among those that are read already, whatever path it was named by. Now it is.
    pub fn is_first(&mut self, path: &Path) -> bool {
        // A pipe has no path that names it alone.
        let path = path.canonicalize().ok().filter(|path| path.is_file());
        path.is_none_or(|path| self.read.insert(path))
    }

    /// Whether this file is one of those that were read.
    pub fn holds(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| self.read.contains(&path))
    }
}
