//! Recognizes a text that repeats itself to a length that no sound text has.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;

use super::FloorBasis;
use super::words::{lower, windows};
use crate::text::shingles::{PieceKind, all_words, pieces};

/// The words that are compared at once. Fewer recur in any text.
const WINDOW_WORDS: usize = 6;
/// The fewest words of a loop; less may be a refrain.
const LOOPED_WORDS_MIN: usize = 12;
/// How often a loop goes round at least.
const ROUNDS_MIN: usize = 3;
/// The fewest words of a text that says a few in any order, and how often it says each on average.
const FEW_WORDS_MIN: usize = 15;
const FEW_SHARE: usize = 5;
/// A loop of at least this share of a text, in hundredths, dominates it.
const LOOPED_PERCENT: usize = 50;
/// Windows that stood in the text before, in hundredths, beyond which it is a loop although its parts come in another order.
const KNOWN_PERCENT: usize = 80;
/// The fewest words of such a text.
const KNOWN_WORDS_MIN: usize = 60;
/// The longest unit and the shortest run, in bytes, of a loop without words: `hahaha`.
const UNIT_BYTES_MAX: usize = 12;
const RUN_BYTES_MIN: usize = 48;
/// So many lines that differ in their numbers alone, and so many times those of any candidate, count on without an end.
const ROWS_MIN: usize = 20;
const ROWS_SHARE: usize = 2;
/// A text that repeats itself is sound if a candidate does so at least half as much.
const ALLOWED_SHARE: usize = 2;

/// Whether a loop makes up most of a text, and no candidate is like that.
pub(super) fn dominate(text: &str, basis: &FloorBasis<'_>) -> bool {
    let share = looped_percent(text);
    let allows = |known: &str| looped_percent(known) * ALLOWED_SHARE >= share;
    let counts_on = || {
        let rows = counted_rows(text);
        let numbers = |text: &str| lower(text).iter().filter(|word| word.contains(char::is_numeric)).count();
        let most = basis.candidates.iter().map(|(_, one)| numbers(one).max(one.lines().count())).max();
        let most = most.unwrap_or_default();
        rows >= ROWS_MIN && rows > most * ROWS_SHARE && !lower(basis.request).iter().any(|word| is_many(word))
    };
    share >= LOOPED_PERCENT && !basis.material().any(allows) && !is_asked(basis.request) || counts_on()
}

/// Whether a word of a request is a number of rows that are asked for.
fn is_many(word: &str) -> bool {
    word.parse::<usize>().is_ok_and(|count| count >= ROWS_MIN)
}

/// The most lines in a row that differ in their numbers alone.
fn counted_rows(text: &str) -> usize {
    let shape = |line: &str| line.trim().replace(|one: char| one.is_numeric(), "");
    let (mut most, mut run, mut last) = (0, 0, String::new());
    for line in text.lines().filter(|line| line.contains(char::is_numeric)) {
        let shape = shape(line);
        run = if shape == last { run + 1 } else { 1 };
        most = most.max(run);
        last = shape;
    }
    most
}

/// Whether a request asks to say something several times.
fn is_asked(request: &str) -> bool {
    let is_so =
        |word: &String| matches!(word.as_str(), "times" | "repeat" | "repeatedly" | "mal" | "fois" | "veces");
    lower(request).iter().any(is_so)
}

/// How much of a text is a loop, in hundredths.
fn looped_percent(text: &str) -> usize {
    let numbered = all_words(text);
    let in_words = looped_words(&numbered);
    // A counter that runs along does not make it another text: `Step 1: look. Step 2: look.` A table of figures has more of them.
    let plain = words_without_numbers(text);
    let counted = if plain.len() * 3 >= numbered.len() * 2 { looped_words(&plain) } else { 0 };
    let lines: String = text.split_inclusive('\n').map(without_number).collect();
    let of_few = if says_few(text) { 100 } else { 0 };
    in_words.max(of_few).max(counted).max(looped_words(&all_words(&lines))).max(looped_bytes(text))
}

fn words_without_numbers(text: &str) -> Vec<u64> {
    let is_number = |piece: &str| piece.bytes().all(|byte| byte.is_ascii_digit());
    let kept = pieces(text).filter(|(kind, piece)| *kind == PieceKind::Between || !is_number(piece));
    let kept: String = kept.map(|(_, piece)| piece).collect();
    all_words(&kept)
}

/// Whether a text says a few words again and again, in any order.
fn says_few(text: &str) -> bool {
    let said = lower(text);
    let different = said.iter().collect::<BTreeSet<_>>().len();
    said.len() >= FEW_WORDS_MIN
        && different * FEW_SHARE <= said.len()
        && !text.contains(|one: char| one.is_numeric())
}

/// A line without the number of a list in front of it.
fn without_number(line: &str) -> &str {
    line.trim_start_matches(|one: char| {
        one.is_ascii_digit() || one.is_whitespace() || ".):-*#|".contains(one)
    })
}

/// The share of words that go round, in hundredths.
fn looped_words(words: &[u64]) -> usize {
    let count = words.len();
    if count < LOOPED_WORDS_MIN {
        return 0;
    }
    let mut last: HashMap<u64, usize, RandomState> = HashMap::default();
    let (mut known, mut looped) = (0, 0);
    let (mut period, mut run) = (0, 0);
    let mut close = |period: usize, run: usize| {
        let segment = run + WINDOW_WORDS - 1 + period;
        if period > 0 && segment >= period * ROUNDS_MIN && segment >= LOOPED_WORDS_MIN {
            looped += segment;
        }
    };
    for (at, window) in windows(words, WINDOW_WORDS).enumerate() {
        let before = last.insert(window, at);
        known += usize::from(before.is_some());
        let distance = before.map_or(0, |before| at - before);
        if distance != period {
            close(period, run);
            (period, run) = (distance, 0);
        }
        run += 1;
    }
    close(period, run);
    let percent = |part: usize| part * 100 / count;
    let is_known = count >= KNOWN_WORDS_MIN && percent(known) >= KNOWN_PERCENT;
    let in_turn = percent(looped).min(100);
    if is_known { percent(known).max(in_turn) } else { in_turn }
}

/// The share of bytes that a short unit fills again and again, in hundredths. Lines and blanks are drawn so, words are not.
fn looped_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_wordless = !text.contains(char::is_alphanumeric);
    let mut most = 0;
    for unit in 1..=UNIT_BYTES_MAX {
        let (mut looped, mut run) = (0, 0);
        for at in unit..=bytes.len() {
            if at < bytes.len() && bytes[at] == bytes[at - unit] {
                run += 1;
                continue;
            }
            let has_words =
                bytes[at - unit..at].iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
            if run >= RUN_BYTES_MIN && (has_words || is_wordless || run * 2 >= bytes.len()) {
                looped += run + unit;
            }
            run = 0;
        }
        most = most.max(looped);
    }
    most * 100 / bytes.len().max(1)
}
