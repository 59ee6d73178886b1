//! How a request uses a word by which texts speak of candidates, and the same talk in scripts without blanks.

use super::FloorBasis;
use super::vocabulary::{INSTRUCTING, INSTRUCTING_BESIDE, TEXTS};
use super::words::{Word, words};

/// How far before a noun it is told that it names what is to be written.
const INSTRUCTING_WORDS: usize = 3;

/// Whether a request is about such texts: `Which answer is right?` Mostly it only says how to answer: `Give your answer in JSON.`
pub(super) fn is_topic(noun: &str, request: &str) -> bool {
    let stem = noun.to_lowercase();
    let stem = stem.trim_end_matches('s');
    let all: Vec<Word<'_>> = words(request).collect();
    let lowered: Vec<String> = all.iter().map(|word| word.text.to_lowercase()).collect();
    (0..all.len()).any(|at| {
        let word = lowered[at].as_str();
        let is_plural = word.ends_with('s');
        if word.trim_end_matches('s') != stem && !(is_candidate(stem) && is_candidate(word)) {
            return false;
        }
        if !TEXTS.has(stem) {
            return is_plural;
        }
        let before = &lowered[at.saturating_sub(INSTRUCTING_WORDS)..at];
        let is_asked_for = before.iter().any(|word| INSTRUCTING.has(word));
        let begins = at == 0 || all[at].before.contains(['.', '!', '?', '\n', ':', ';', ',']);
        let is_verb = begins || before.last().is_some_and(|word| INSTRUCTING_BESIDE.has(word));
        !is_asked_for && (is_plural || !is_verb)
    })
}

fn is_candidate(word: &str) -> bool {
    word.starts_with("candidat") || word.starts_with("kandidat")
}

/// What several texts are called in scripts without blanks, and what is said of them.
const UNSPACED_NOUNS: &[&str] = &["答案", "回答", "候选", "回复", "候選", "回覆", "候補"];
const UNSPACED_MANY: &[&str] = &[
    "这些",
    "这三个",
    "这两个",
    "三个",
    "两个",
    "几个",
    "所有",
    "各个",
    "每个",
    "這些",
    "三個",
    "兩個",
    "多个",
    "すべての",
    "三つの",
    "二つの",
];
const UNSPACED_TELLS: &[&str] = &[
    "都",
    "均",
    "一致",
    "提到",
    "认为",
    "指出",
    "说",
    "表示",
    "給出",
    "给出",
    "同意",
    "正确",
    "最好",
    "一致して",
    "述べ",
    "言及",
];
/// How far behind the number of them their noun is, and behind that what is said, in characters.
const UNSPACED_CHARS: usize = 6;

/// Whether a text speaks of several texts in a script without blanks, and neither the request nor a candidate does.
pub(super) fn speaks_of_texts(text: &str, basis: &FloorBasis<'_>) -> bool {
    let behind = |text: &str, words: &[&str]| -> Option<usize> {
        let end = text.char_indices().nth(UNSPACED_CHARS).map_or(text.len(), |(end, _)| end);
        words.iter().filter_map(|word| text[..end].find(word).map(|at| at + word.len())).min()
    };
    let speaks = |text: &str| {
        UNSPACED_MANY.iter().flat_map(|many| text.match_indices(many)).any(|(at, many)| {
            let rest = &text[at + many.len()..];
            behind(rest, UNSPACED_NOUNS).is_some_and(|end| behind(&rest[end..], UNSPACED_TELLS).is_some())
        }) || text.contains("候选答案")
            || text.contains("候选回答")
            || text.contains("候補の回答")
    };
    !text.is_ascii() && speaks(text) && !basis.material().any(|known| speaks(known) || asks_of(known))
}

/// Whether a text is about answers in such a script.
fn asks_of(text: &str) -> bool {
    UNSPACED_MANY.iter().any(|many| text.contains(many))
        && UNSPACED_NOUNS.iter().any(|noun| text.contains(noun))
}
