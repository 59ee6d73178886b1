//! Tells letters that follow each other as in words from letters by chance, and reads digits and signs as letters.

/// Of a hundred pairs of letters in words, at least so many are usual; by chance a third are.
const USUAL_PAIRS_PERCENT_MIN: usize = 60;
/// The fewest pairs of letters that can be judged.
const PAIRS_MIN: usize = 5;
/// Which letters follow each letter of the alphabet in words of English, of German and of code: the 240 most frequent pairs
/// of 10,000 words of sources and manuals.
const NEXT_LETTERS: [&str; 26] = [
    "bcdgiklmnprstuvwy",
    "aeilorsu",
    "acehiklorstu",
    "adeilorsu",
    "acdefgilmnprstvwxy",
    "aefiloru",
    "aehilnrsu",
    "aeiot",
    "abcdefglmnoprstvz",
    "",
    "eis",
    "adeilostuy",
    "abeimopsu",
    "acdefgiklnostuv",
    "bcdfgiklmnoprstuvw",
    "aehiloprstuy",
    "u",
    "acdefgiklmnoprstuy",
    "acehilopstuy",
    "acehiloprstuy",
    "abceilmnprst",
    "aei",
    "aeinor",
    "pt",
    "ps",
    "e",
];

/// Whether the letters of a text follow each other as in words. A text with few of them does.
pub(super) fn reads_like_words(text: &str) -> bool {
    let index = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
    let (mut pairs, mut usual) = (0, 0);
    for pair in text.as_bytes().windows(2) {
        let is_new_word = pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
        if pair.iter().all(u8::is_ascii_alphabetic) && !is_new_word {
            pairs += 1;
            let next = NEXT_LETTERS[index(pair[0])].as_bytes();
            usual += usize::from(next.contains(&pair[1].to_ascii_lowercase()));
        }
    }
    pairs < PAIRS_MIN || usual * 100 >= USUAL_PAIRS_PERCENT_MIN * pairs
}

pub(crate) fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_' | b':'))
}

/// A password with the letters that its digits and signs stand for.
pub(crate) fn spelled_out(value: &str) -> String {
    let letter = |it: char| match it {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    };
    value.chars().map(letter).filter(char::is_ascii_alphabetic).collect()
}
