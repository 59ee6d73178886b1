//! Reads a text that only names a candidate, or announces an answer and gives none.

use std::collections::HashMap;

use super::vocabulary::{
    ANNOUNCED, ANNOUNCING, FILLERS, NOUNS, OFFERED, QUALITIES, REASONS, TEXTS, UNSPACED,
};
use super::words::{Word, lower, words};
use super::{FloorBasis, Reason};

/// The longest text in bytes that may only name a candidate. Whoever says more says something.
const PICK_BYTES_MAX: usize = 320;
/// The most words that name a candidate before a reason follows.
const NAMING_WORDS_MAX: usize = 14;
/// The longest text in bytes of a candidate's name with a reason.
const REASONED_BYTES_MAX: usize = 1_200;
/// The words of a reason by which it is told.
const REASON_WORDS: usize = 8;
/// The longest answer that may be a symbol, so that punctuation may be another one.
const SYMBOL_BYTES_MAX: usize = 6;
/// The longest text of punctuation that is no drawing.
const PLACEHOLDER_BYTES_MAX: usize = 16;

/// The candidate that a text only names; an error if it is a placeholder, or names several.
pub(super) fn read(text: &str, basis: &FloorBasis<'_>) -> Result<Option<usize>, Reason> {
    if is_placeholder(text, basis) {
        return Err(Reason::Placeholder);
    }
    if is_scored(text, basis) && !names_own(basis) {
        return Err(Reason::Talk);
    }
    let Some(chosen) = Chosen::of(text, basis) else {
        return Ok(named_with_reason(text, basis));
    };
    let does_so = |(_, candidate): &(&str, &str)| {
        let chosen = Chosen::of(candidate, basis);
        chosen.is_some_and(|one| !one.has_numbers || !one.labels.is_empty() || one.announces)
    };
    let may_answer = names_own(basis)
        || !chosen.has_candidate
            && (basis.candidates.iter().any(does_so)
                || chosen.labels.iter().any(|label| is_choice(*label, basis)));
    match chosen.labels[..] {
        // Where candidates are of this kind, or the letter is a choice, the text answers as they do.
        _ if may_answer => Ok(None),
        [] if chosen.announces && !chosen.has_numbers => Err(Reason::Placeholder),
        [] if chosen.has_ordinal && !basis.request.contains(" or ") => Err(Reason::Talk),
        [] => Ok(None),
        [_] if chosen.has_numbers => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(Reason::Talk),
    }
}

/// Whether each line gives points to a candidate: `A: 8/10`.
fn is_scored(text: &str, basis: &FloorBasis<'_>) -> bool {
    let is_score = |line: &str| {
        let line: Vec<Word<'_>> = words(line).collect();
        let is_number = |word: &Word<'_>| word.text.bytes().all(|byte| byte.is_ascii_digit());
        let (labels, numbers): (Vec<_>, Vec<_>) = line.into_iter().partition(|word| !is_number(word));
        let is_label = |word: &Word<'_>| {
            label_of(word.text, basis, false).is_some() || NOUNS.has(&word.text.to_lowercase())
        };
        !labels.is_empty() && labels.iter().all(is_label) && !numbers.is_empty()
    };
    let all = |text: &str| {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
        lines.peek().is_some() && lines.all(is_score)
    };
    text.lines().count() > 1 && all(text) && !basis.material().any(all)
}

/// Whether the request itself calls two things by the labels, with the same word: `version A`, `version B`.
fn names_own(basis: &FloorBasis<'_>) -> bool {
    let words: Vec<Word<'_>> = words(basis.request).collect();
    let named = |at: usize| label_of(words[at].text, basis, false).map(|label| (words[at - 1].text, label));
    let mut first: HashMap<String, usize> = HashMap::new();
    (1..words.len())
        .filter_map(named)
        .any(|(noun, label)| *first.entry(noun.to_lowercase()).or_insert(label) != label)
}

/// The candidate that a text names before it only gives a reason: `B, because it is complete.`
fn named_with_reason(text: &str, basis: &FloorBasis<'_>) -> Option<usize> {
    if text.len() > REASONED_BYTES_MAX {
        return None;
    }
    let all: Vec<Word<'_>> = words(text).take(NAMING_WORDS_MAX + REASON_WORDS).collect();
    let start = |at: usize| all[at].text.as_ptr().addr() - text.as_ptr().addr();
    (1..all.len().min(NAMING_WORDS_MAX)).find_map(|at| {
        let because = REASONS.has(&all[at].text.to_lowercase());
        let is_apart = all[at].before.contains(['.', ':', ',', '(', '\n', '-', '–', '—', ';']);
        let mut reason = all[at..].iter().take(REASON_WORDS);
        let is_reason = because || is_apart && reason.any(|word| QUALITIES.has(&word.text.to_lowercase()));
        if !is_reason {
            return None;
        }
        let chosen = Chosen::of(&text[..start(at)], basis)?;
        let [only] = chosen.labels[..] else { return None };
        // A letter that the request or an answer uses means what it means there.
        let label = basis.candidates[only].0;
        (!chosen.has_numbers && !basis.material().any(|known| has_letter(known, label))).then_some(only)
    })
}

/// Whether a text uses this letter. `A` is mostly the article.
pub(super) fn has_letter(text: &str, label: &str) -> bool {
    if matches!(label, "A" | "I") {
        return text.lines().any(|line| names_choice(line, label));
    }
    words(text).any(|word| word.text == label)
}

/// A text of nothing but labels and the words of choosing.
struct Chosen {
    /// The candidates it names, each once.
    labels: Vec<usize>,
    /// Whether it calls one a candidate.
    has_candidate: bool,
    /// Whether it speaks of an answer.
    announces: bool,
    /// Whether it has numbers, which only a ranking has besides.
    has_numbers: bool,
    /// Whether it means one by its place: `the second answer`.
    has_ordinal: bool,
}

impl Chosen {
    fn of(text: &str, basis: &FloorBasis<'_>) -> Option<Self> {
        if text.len() > PICK_BYTES_MAX {
            return None;
        }
        let words: Vec<Word<'_>> = words(text).collect();
        let mut chosen = Self {
            labels: Vec::new(),
            has_candidate: false,
            announces: false,
            has_numbers: false,
            has_ordinal: false,
        };
        let (mut after_noun, mut is_announcement) = (false, true);
        for word in &words {
            let lower = word.text.to_lowercase();
            let is_noun = NOUNS.has(lower.trim_end_matches('s'));
            // A letter at the end or in brackets is meant, also one that is no label: `The answer is (I).`
            if word.text == "I" && label_of("I", basis, false).is_none() && is_set_apart(&words, word) {
                return None;
            }
            let is_ordinal = matches!(
                lower.as_str(),
                "first" | "second" | "third" | "fourth" | "fifth" | "latter" | "former"
            );
            chosen.has_ordinal |= is_ordinal;
            chosen.has_candidate |= is_noun && !OFFERED.has(lower.as_str()) || lower.contains('候');
            chosen.announces |=
                ANNOUNCED.has(lower.as_str()) || lower.ends_with("如下") || lower.contains("答案");
            is_announcement &= ANNOUNCING.has(lower.as_str()) || is_unspaced_filler(&lower);
            let is_number = lower.bytes().all(|byte| byte.is_ascii_digit());
            chosen.has_numbers |= is_number;
            let label = label_of(word.text, basis, after_noun && chosen.has_candidate || words.len() == 1);
            after_noun = is_noun || ends_as_noun(&lower);
            // `I` and `A` are words, too: they count as labels behind a noun or where nothing else is said.
            let is_word =
                matches!(word.text, "A" | "I" | "a" | "i") && words.len() > 1 && !after_noun_of(&words, word);
            match label {
                Some(index) if !is_word => {
                    if !chosen.labels.contains(&index) {
                        chosen.labels.push(index);
                    }
                }
                _ if is_noun
                    || is_number
                    || is_ordinal
                    || FILLERS.has(lower.as_str())
                    || is_unspaced_filler(&lower) => {}
                _ => return None,
            }
        }
        chosen.has_ordinal &= words.iter().any(|word| {
            let lower = word.text.to_lowercase();
            lower == "one" || TEXTS.has(lower.trim_end_matches('s'))
        });
        // `The answer is no.` has words of talk only, and answers.
        chosen.announces &= is_announcement && !text.starts_with('{');
        (!words.is_empty()).then_some(chosen)
    }
}

/// Whether a word stands behind a noun, at the end, or is set apart by punctuation.
fn after_noun_of(words: &[Word<'_>], word: &Word<'_>) -> bool {
    let at = words.iter().position(|one| std::ptr::eq(one.text, word.text)).unwrap_or(0);
    let before = at.checked_sub(1).map(|at| words[at].text.to_lowercase());
    let is_behind =
        before.is_some_and(|before| NOUNS.has(before.trim_end_matches('s')) || ends_as_noun(&before));
    let is_subject = at == 0
        && words.get(1).is_some_and(|next| {
            next.text == "is" || next.before.contains(['.', ':', ',', '(', '\n', '>', '-', '–', '—', '='])
        });
    is_behind || is_subject || is_set_apart(words, word) || word.before.contains(['>', '='])
}

/// Whether a word is the last, or in brackets or emphasis.
fn is_set_apart(words: &[Word<'_>], word: &Word<'_>) -> bool {
    let is_last = words.last().is_some_and(|last| std::ptr::eq(last.text, word.text));
    is_last || word.before.contains(['*', '(', '"', '`', '[', '{'])
}

/// Whether a run of a script without blanks ends as a noun for an answer.
fn ends_as_noun(run: &str) -> bool {
    run.ends_with(['选', '项', '案', '答', '補', '人', '肢'])
}

/// The candidate with this label.
fn label_of(word: &str, basis: &FloorBasis<'_>, is_loose: bool) -> Option<usize> {
    let is_it = |label: &str| label == word || is_loose && label.eq_ignore_ascii_case(word);
    basis.candidates.iter().position(|(label, _)| is_it(label))
}

/// Whether only known words are in a run of a script without blanks.
fn is_unspaced_filler(run: &str) -> bool {
    let mut rest = run;
    while !rest.is_empty() {
        let Some(after) = UNSPACED.split_whitespace().find_map(|known| rest.strip_prefix(known)) else {
            return false;
        };
        rest = after;
    }
    true
}

/// Whether a text is only signs, such as `…`, and not what is asked for.
fn is_placeholder(text: &str, basis: &FloorBasis<'_>) -> bool {
    let is_blank = |one: char| !one.is_alphanumeric();
    let is_dots =
        text.chars().all(|one| one.is_whitespace() || ".…-–—_*#`\"[]".contains(one) || one >= '\u{2600}');
    let is_given = |known: &str| {
        // `[]` among lists, `{}` among objects.
        let is_list =
            matches!(text, "[]" | "{}" | "()" | "\"\"" | "''") && known.trim().starts_with(&text[..1]);
        known.trim() == text
            || !text.is_ascii() && known.contains(text)
            || known.chars().all(is_blank)
            || !is_dots && known.len() <= SYMBOL_BYTES_MAX
            || is_list
    };
    text.len() <= PLACEHOLDER_BYTES_MAX
        && text.chars().all(is_blank)
        && !basis.candidates.iter().any(|(_, candidate)| is_given(candidate))
        && !basis.request.split_whitespace().any(|word| word == text)
}

/// Whether the label of a candidate is a choice that the request offers or a candidate makes: then it answers.
pub(super) fn is_choice(candidate: usize, basis: &FloorBasis<'_>) -> bool {
    /// The most words of an answer that may mean one of the options without its letter.
    const SHORT_WORDS_MAX: usize = 40;
    /// The longest last line in bytes that is searched for a choice.
    const LINE_BYTES_MAX: usize = 2_000;
    let label = basis.candidates[candidate].0;
    let is_made = |text: &str| {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next();
        let last = lines.next_back();
        [first, last].into_iter().flatten().any(|line| names_choice(line, label))
    };
    let is_offered = || {
        names_choice(basis.request, label)
            && basis
                .candidates
                .iter()
                .filter(|(other, _)| *other != label)
                .any(|(other, _)| names_choice(basis.request, other))
    };
    let is_short = |text: &str| lower(text).len() <= SHORT_WORDS_MAX;
    // Who works a choice out ends with the letter of one, be it another.
    let ends_with_choice = |text: &str| {
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        let letters = ('A'..='Z').map(String::from);
        last.is_some_and(|line| {
            line.len() <= LINE_BYTES_MAX && letters.into_iter().any(|one| names_choice(line, &one))
        })
    };
    // `Bb`, `AA`, `-a b`: where answers are symbols, a letter is one, too.
    let is_symbol = |text: &str| {
        let words = lower(text);
        words.len() <= 3 && words.iter().any(|word| word.eq_ignore_ascii_case(label))
            || text.trim().len() <= 2
    };
    basis.candidates.iter().any(|(_, text)| is_made(text) || is_symbol(text))
        || is_offered() && basis.candidates.iter().any(|(_, text)| is_short(text) || ends_with_choice(text))
}

/// Whether a line has the letter as a choice: `(B)`, `B.`, `**B**`, `answer is B`.
fn names_choice(line: &str, label: &str) -> bool {
    let mut at = 0;
    let mut previous = "";
    for word in words(line) {
        let start = at + line[at..].find(word.text).unwrap_or(0);
        at = start + word.text.len();
        if word.text.eq_ignore_ascii_case(label) {
            let behind = &line[at..];
            let is_marked =
                behind.starts_with([')', '.', ':', '*', ']', '"', '`', '}']) || behind.trim().is_empty();
            let is_named = matches!(
                previous.to_lowercase().as_str(),
                "answer"
                    | "option"
                    | "choice"
                    | "is"
                    | "choose"
                    | "select"
                    | "letter"
                    | "or"
                    | "plan"
                    | "type"
                    | "vitamin"
            ) || behind.starts_with(" or ");
            // In small letters only punctuation on both sides makes a choice: `(a)`.
            let is_small = word.text != label && !word.before.ends_with(['(', '*', '"', '`', '{', '$']);
            let is_article = matches!(label, "A" | "I") && !is_named && behind.starts_with(' ') || is_small;
            if (is_marked || is_named) && !is_article {
                return true;
            }
        }
        previous = word.text;
    }
    false
}
