//! Recognizes a text that is damaged: tokens that no tokenizer should have let out, letters read in a wrong encoding, and words
//! that stutter.

use super::FloorBasis;
use super::words::lower;

/// What tokenizers write for a byte, a blank, and what is no letter.
const TOKENS: [&str; 3] = ["<0x", "\u{2581}", "\u{fffd}"];
/// So many bytes of UTF-8 that were read as Latin letters are no names.
const MISREAD_MIN: usize = 3;
/// So many words that stand twice in a row stutter, and this share of all words, in hundredths.
const STUTTERS_MIN: usize = 4;
const STUTTERS_PERCENT: usize = 20;

/// Whether a text is damaged as neither the request nor a candidate is.
pub(super) fn is_so(text: &str, basis: &FloorBasis<'_>) -> bool {
    let ways: [fn(&str) -> bool; 3] = [has_tokens, is_misread, stutters];
    ways.into_iter().any(|is_damaged| is_damaged(text) && !basis.material().any(is_damaged))
}

fn has_tokens(text: &str) -> bool {
    TOKENS.iter().any(|token| text.contains(token))
}

/// `Ã¤`, `â€™`, `ä¸­`: each letter of more than one byte became several.
fn is_misread(text: &str) -> bool {
    let mut letters = text.chars().peekable();
    let mut misread = 0;
    while let Some(letter) = letters.next() {
        let is_lead = ('\u{c2}'..='\u{f4}').contains(&letter);
        // The second half of Windows-1252 stands for the bytes from 0x80 to 0x9f.
        let follows = |next: &char| {
            matches!(next, '\u{80}'..='\u{bf}' | '\u{152}' | '\u{153}' | '\u{160}' | '\u{161}' | '\u{178}')
                || matches!(next, '\u{17d}' | '\u{17e}' | '\u{192}' | '\u{2c6}' | '\u{2dc}')
                || matches!(next, '\u{2013}'..='\u{203a}' | '\u{20ac}' | '\u{2122}')
        };
        misread += usize::from(is_lead && letters.peek().is_some_and(follows));
    }
    misread >= MISREAD_MIN
}

/// `the the exact of of`: words that stand twice in a row, in more than one way.
fn stutters(text: &str) -> bool {
    let words = lower(text);
    let is_word = |word: &String| word.starts_with(char::is_alphabetic);
    let twice = words.windows(2).filter(|two| two[0] == two[1] && is_word(&two[0]));
    let twice: Vec<&String> = twice.map(|two| &two[0]).collect();
    twice.len() >= STUTTERS_MIN
        && twice.len() * 100 >= words.len() * STUTTERS_PERCENT
        && twice.iter().any(|word| *word != twice[0])
}
