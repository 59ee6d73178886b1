//! Files that a quoted text names and that nobody reads: `"explain @main.rs please"` sends these words, not the file.

use std::path::{Path, PathBuf};

/// The most words looked at: a text with more was written by a program.
const WORDS_MAX: usize = 2_000;
/// What may stand around a name in a sentence.
const AROUND: [char; 13] = ['"', '\'', '`', '(', ')', '[', ']', '<', '>', ',', ';', ':', '!'];
/// What may follow a name in a sentence.
const BEHIND: [char; 2] = ['.', '?'];

/// The files and folders that a text of several words names after `@`, and the files that it names by a path or with an
/// ending. Each once, in order.
pub(super) fn named_in(text: &str) -> Vec<PathBuf> {
    let mut named = Vec::new();
    for word in text.split_whitespace().take(WORDS_MAX) {
        let word = word.trim_end_matches(BEHIND).trim_matches(AROUND);
        let found = [word, word.trim_end_matches(BEHIND)].into_iter().find_map(existing);
        if let Some(path) = found.filter(|path| !named.contains(path)) {
            named.push(path);
        }
    }
    named
}

/// The path that a word names, if something is there.
fn existing(word: &str) -> Option<PathBuf> {
    if let Some(name) = word.strip_prefix('@') {
        let is_there = !name.is_empty() && Path::new(name).exists();
        return is_there.then(|| name.into());
    }
    // `note` may be a word, `note.md` and `src/note` are hardly anything but files.
    let is_name = word.contains('/') || Path::new(word).extension().is_some();
    (is_name && Path::new(word).is_file()).then(|| word.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_within_a_sentence() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let (file, folder) = (format!("{here}/lib.rs"), here.to_owned());
        let found = |text: String| {
            named_in(&text).into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found(format!("explain @{file} please")), std::slice::from_ref(&file));
        assert_eq!(found(format!("what is wrong with (`{file}`)?")), std::slice::from_ref(&file));
        assert_eq!(found(format!("compare @{folder} and @{folder}.")), std::slice::from_ref(&folder));
        assert_eq!(found(format!("what is {folder} for")), Vec::<String>::new());
        assert_eq!(found("mail me@example.org about @nobody, e.g. now".to_owned()), Vec::<String>::new());
    }
}
