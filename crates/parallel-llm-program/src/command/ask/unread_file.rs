//! Files that a quoted text names and that nobody reads: `"explain @main.rs please"` sends these words, not the file.

use std::path::{Path, PathBuf};

use parallel_llm_service::attachment;

use crate::command::line::near_file;

/// The most words looked at: a text with more was written by a program.
const WORDS_MAX: usize = 2_000;
/// The most ends of a name that are tried: a name in a sentence has few dots and slashes.
const ENDS_MAX: usize = 16;
/// What a file's name may begin and end with; all other signs around it belong to the sentence.
const OF_NAMES: [char; 5] = ['.', '/', '_', '~', '-'];
/// The sign in front of a file.
const MARK: char = '@';

/// The files and folders that a text names after `@`, and the files that it names by a path or with an ending. A text that
/// is nothing but a name is one, whatever it names. Each once, in order.
pub(super) fn named_in(text: &str) -> Vec<PathBuf> {
    let mut named: Vec<PathBuf> = Vec::new();
    if !text.contains(char::is_whitespace) && Path::new(text).exists() {
        named.push(text.into());
        return named;
    }
    for word in text.split_whitespace().take(WORDS_MAX) {
        let marked = word.match_indices(MARK).filter_map(|(at, _)| behind_mark(&word[at + 1..]));
        for path in marked.chain(unmarked(word)) {
            if !named.contains(&path) {
                named.push(path);
            }
        }
    }
    named
}

/// What a text behind `@` names: the longest name that something has, whatever follows it in the sentence.
fn behind_mark(text: &str) -> Option<PathBuf> {
    let text = text.trim_start_matches(is_around);
    let is_end = |at: usize| !text[at..].starts_with(char::is_alphanumeric);
    let ends = (1..=text.len()).rev().filter(|at| text.is_char_boundary(*at) && is_end(*at));
    let mut names = ends.map(|at| &text[..at]).take(ENDS_MAX);
    let is_there = |name: &&str| {
        let path = near_file::at_home(Path::new(name));
        path.exists() || attachment::finds(&path)
    };
    names.find(is_there).map(Into::into)
}

/// The file that a word names without `@`.
fn unmarked(word: &str) -> Option<PathBuf> {
    let word = word.trim_matches(is_around);
    let is_file = |word: &&str| {
        // `note` may be a word, `note.md` and `src/note` are hardly anything but files.
        let is_name = word.contains('/') || Path::new(word).extension().is_some();
        is_name && Path::new(word).is_file()
    };
    let at_end = |letter: char| letter == '.' || is_around(letter);
    [word, word.trim_end_matches(at_end)].into_iter().find(is_file).map(Into::into)
}

/// Whether a sign stands around names in a sentence.
fn is_around(letter: char) -> bool {
    !letter.is_alphanumeric() && !OF_NAMES.contains(&letter)
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
        for text in [
            format!("explain @{file} please"),
            format!("what is wrong with (`{file}`)?"),
            format!("explain “@{file}” please"),
            format!("explain @“{file}” please"),
            format!("what is @{file}'s purpose?"),
            format!("explain@{file}, please"),
            format!("explain «{file}»."),
        ] {
            assert_eq!(found(text.clone()), std::slice::from_ref(&file), "{text}");
        }
        assert_eq!(found(format!("compare @{folder} and @{folder}.")), std::slice::from_ref(&folder));
        assert_eq!(found(format!("explain @{here}/l*.rs")), [format!("{here}/l*.rs")]);
        assert_eq!(found(folder.clone()), std::slice::from_ref(&folder));
        assert_eq!(found(format!("what is {folder} for")), Vec::<String>::new());
        assert_eq!(found("mail me@example.org about @nobody, e.g. now".to_owned()), Vec::<String>::new());
    }
}
