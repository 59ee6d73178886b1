//! Recognizes our own prompts in a text.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::FloorBasis;
use super::words::windows;
use crate::prompt::{AGAIN, FILES, SHARED, Task};
use crate::text::shingles::{Shingles, all_words, hashed};
use crate::text::short_answer::line;

/// So many words in a row are never equal to ours by chance.
const WINDOW_WORDS: usize = 8;
/// The most different quotations of a text that are looked for in the request and the candidates. Whoever quotes more of our
/// prompts than that answers nothing.
const QUOTED_MAX: usize = 4_096;

/// All windows of all templates. Which one a model was sent does not matter: none of them is an answer.
static TEMPLATES: LazyLock<Shingles> = LazyLock::new(|| {
    let parts = templates().flat_map(parts);
    parts.flat_map(|part| windows(&all_words(part), WINDOW_WORDS).collect::<Vec<_>>()).collect()
});

/// The lines of all templates that are whole sentences or headings of ours, and shorter than a window.
static LINES: LazyLock<Shingles> = LazyLock::new(|| {
    let lines = templates().flat_map(str::lines).filter(|line| !line.contains(['{', '<']));
    let lines = lines.map(all_words).filter(|words| (LINE_WORDS_MIN..WINDOW_WORDS).contains(&words.len()));
    lines.map(|words| hashed(&words)).collect()
});

/// The fewest words of a line that is ours: `The candidates, in random order:`.
const LINE_WORDS_MIN: usize = 4;

/// The templates, and the passages that several of them share.
fn templates() -> impl Iterator<Item = &'static str> {
    let tasks = Task::ALL.iter().flat_map(|task| [task.system(), task.user()]);
    tasks.chain(SHARED.map(|(_, passage)| passage)).chain([FILES, AGAIN, line::ASKED])
}

/// The text of a template between its placeholders.
fn parts(template: &'static str) -> impl Iterator<Item = &'static str> {
    template.split("{{").map(|part| part.split_once("}}").map_or(part, |(_, after)| after))
}

/// Whether a text quotes our prompts and neither the request nor a candidate has these words.
pub(super) fn is_quoted(text: &str, basis: &FloorBasis<'_>) -> bool {
    let words = all_words(text);
    let lines = |text: &str| -> Shingles {
        let lines = text.lines().map(all_words).filter(|words| words.len() < WINDOW_WORDS);
        lines.map(|words| hashed(&words)).filter(|line| LINES.contains(line)).collect()
    };
    let ours = lines(text);
    if !ours.is_empty() && basis.material().all(|known| lines(known).is_disjoint(&ours)) {
        return true;
    }
    let found = windows(&words, WINDOW_WORDS).filter(|window| TEMPLATES.contains(window));
    let mut quoted: HashSet<u64> = found.take(QUOTED_MAX).collect();
    for known in basis.material() {
        if quoted.is_empty() {
            break;
        }
        for window in windows(&all_words(known), WINDOW_WORDS) {
            quoted.remove(&window);
        }
    }
    !quoted.is_empty()
}
