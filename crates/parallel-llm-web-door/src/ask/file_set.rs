//! [`FileSet`]: the files of one form, and the parts in which a person takes them out.

use axum::body::Bytes;

/// The token of files that are gone, or were never here. No token that is drawn is like it.
pub(super) const GONE: &str = "gone";

/// An attached file.
#[derive(Clone)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) bytes: Bytes,
}

/// The files of one form.
#[derive(Clone, Default)]
pub(super) struct FileSet {
    pub(super) files: Vec<File>,
    /// The files of folders, by their paths in these.
    pub(super) found: Vec<File>,
}

impl FileSet {
    /// Whether there is no file.
    pub(super) const fn is_empty(&self) -> bool {
        self.files.is_empty() && self.found.is_empty()
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.files.iter().chain(&self.found).map(|file| file.name.len() + file.bytes.len()).sum()
    }

    /// The files one by one, then the folders, each with its name.
    pub(super) fn parts(&self) -> Vec<(&str, Self)> {
        let one = |file: &File| Self { files: vec![file.clone()], ..Self::default() };
        let mut parts: Vec<(&str, Self)> =
            self.files.iter().map(|file| (file.name.as_str(), one(file))).collect();
        for file in &self.found {
            let folder = file.name.split('/').next().unwrap_or_default();
            match parts.iter_mut().find(|(name, part)| *name == folder && part.files.is_empty()) {
                Some((_, part)) => part.found.push(file.clone()),
                None => parts.push((folder, Self { found: vec![file.clone()], ..Self::default() })),
            }
        }
        parts
    }

    /// The parts of these numbers.
    pub(super) fn chosen(&self, numbers: &[usize]) -> Self {
        let parts = self.parts().into_iter().enumerate();
        let mut chosen = Self::default();
        for (_, (_, part)) in parts.filter(|(number, _)| numbers.contains(number)) {
            chosen.files.extend(part.files);
            chosen.found.extend(part.found);
        }
        chosen
    }

    /// With these files too, which take the place of files of the same names.
    pub(super) fn with(mut self, new: Self) -> Self {
        let is_old = |new: &[File], file: &File| new.iter().all(|other| other.name != file.name);
        self.files.retain(|file| is_old(&new.files, file));
        self.found.retain(|file| is_old(&new.found, file));
        self.files.extend(new.files);
        self.found.extend(new.found);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &'static str) -> File {
        File { name: name.to_owned(), bytes: text.into() }
    }

    fn names(set: &FileSet) -> Vec<String> {
        let named = |file: &File| format!("{}={}", file.name, String::from_utf8_lossy(&file.bytes));
        set.files.iter().chain(&set.found).map(named).collect()
    }

    #[test]
    fn a_folder_is_one_part_and_a_file_of_the_same_name_is_replaced() {
        let set = FileSet {
            files: vec![file("a", "1"), file("src", "2")],
            found: vec![file("src/x", "3"), file("lib/y", "4"), file("src/z", "5")],
        };
        let parts: Vec<(String, Vec<String>)> =
            set.parts().iter().map(|(name, part)| ((*name).to_owned(), names(part))).collect();
        let shown = format!("{parts:?}");
        assert_eq!(
            shown,
            r#"[("a", ["a=1"]), ("src", ["src=2"]), ("src", ["src/x=3", "src/z=5"]), ("lib", ["lib/y=4"])]"#
        );
        assert_eq!(names(&set.chosen(&[1, 2, 9])), ["src=2", "src/x=3", "src/z=5"]);
        let new = FileSet { files: vec![file("a", "6")], found: vec![file("lib/y", "7")] };
        assert_eq!(names(&set.with(new)), ["src=2", "a=6", "src/x=3", "src/z=5", "lib/y=7"]);
    }
}
