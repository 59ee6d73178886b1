//! Recognizes a text that is damaged: tokens that no tokenizer should have let out, letters read in a wrong encoding, and words
//! that stutter.

use super::FloorBasis;
use super::words::lower;

/// So many bytes of UTF-8 that were read as Latin letters, and half of all such letters, are no words of a language.
const MISREAD_MIN: usize = 6;
/// So many words that stand twice in a row stutter, and this share of all words, in hundredths.
const STUTTERS_MIN: usize = 4;
const STUTTERS_PERCENT: usize = 20;

/// Whether a text is damaged as neither the request nor a candidate is.
pub(super) fn is_so(text: &str, basis: &FloorBasis<'_>) -> bool {
    let ways: [fn(&str) -> bool; 3] = [has_tokens, is_misread, stutters];
    ways.into_iter().any(|is_damaged| is_damaged(text) && !basis.material().any(is_damaged))
}

/// `<0x0A>`, `▁the`, and what is no letter.
fn has_tokens(text: &str) -> bool {
    let is_byte = |at: usize| {
        let digits = text[at + "<0x".len()..].bytes();
        digits.clone().take(2).filter(u8::is_ascii_hexdigit).count() == 2
            && digits.clone().nth(2) == Some(b'>')
    };
    let blanks = text.split('\u{2581}').skip(1).filter(|word| word.starts_with(char::is_alphabetic)).count();
    text.contains('\u{fffd}') || blanks >= 2 || text.match_indices("<0x").any(|(at, _)| is_byte(at))
}

/// `Ã¤`, `â€™`, `ä¸­`: the bytes of a letter, read as one letter each.
fn is_misread(text: &str) -> bool {
    let letters: Vec<char> = text.chars().filter(|one| !one.is_ascii()).collect();
    let mut misread = 0;
    let mut at = 0;
    while at < letters.len() {
        let size = match byte(letters[at]) {
            Some(0xc2..=0xdf) => 2,
            Some(0xe0..=0xef) => 3,
            Some(0xf0..=0xf4) => 4,
            _ => 1,
        };
        let follow = letters.iter().skip(at + 1).take(size - 1);
        let whole =
            size > 1 && follow.filter(|one| matches!(byte(**one), Some(0x80..=0xbf))).count() == size - 1;
        // `É«` and the like are French; in text that was misread the lead is mostly one of a few.
        let is_lead = size > 2 || matches!(letters[at], 'Â' | 'Ã' | 'Ð' | 'Ñ' | 'Î' | 'Ï');
        misread += if whole && is_lead { size } else { 0 };
        at += if whole { size } else { 1 };
    }
    misread >= MISREAD_MIN && misread * 2 >= letters.len()
}

/// The byte that Windows-1252 reads as this letter.
const fn byte(letter: char) -> Option<u8> {
    Some(match letter {
        '\u{80}'..='\u{ff}' => letter as u8,
        '€' => 0x80,
        '‚' => 0x82,
        'ƒ' => 0x83,
        '„' => 0x84,
        '…' => 0x85,
        '†' => 0x86,
        '‡' => 0x87,
        'ˆ' => 0x88,
        '‰' => 0x89,
        'Š' => 0x8a,
        '‹' => 0x8b,
        'Œ' => 0x8c,
        'Ž' => 0x8e,
        '‘' => 0x91,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        '•' => 0x95,
        '–' => 0x96,
        '—' => 0x97,
        '˜' => 0x98,
        '™' => 0x99,
        'š' => 0x9a,
        '›' => 0x9b,
        'œ' => 0x9c,
        'ž' => 0x9e,
        'Ÿ' => 0x9f,
        _ => return None,
    })
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
