//! Recognizes a text about something else than the request.

use super::FloorBasis;
use super::vocabulary::COMMON;
use super::words::{head, lower};
use crate::text::shingles::{PieceKind, Shingles, hash_of, pieces};

/// How much of each text is compared.
const COMPARED_BYTES: usize = 262_144;
/// The letters by which words are compared, so that their endings do not count.
const STEM_CHARS: usize = 5;
/// The fewest letters of a word with a content of its own.
const CONTENT_CHARS: usize = 4;

/// The least share of words with few letters in a prose text, in hundredths.
const SMALL_PERCENT: usize = 20;
/// The fewest words of content by which a topic is told.
const WORDS_MIN: usize = 4;

/// Whether a text leaves out what the request and the candidates have in common, while every candidate has it. Where the
/// candidates differ as much (names, slogans, poems), nothing can be told.
pub(super) fn is_other(text: &str, basis: &FloorBasis<'_>) -> bool {
    let own = contents(text);
    let is_unspaced = pieces(head(text, COMPARED_BYTES)).any(|(kind, _)| kind == PieceKind::Unspaced);
    if own.len() < if is_unspaced { WORDS_MIN * 2 } else { WORDS_MIN } {
        return false;
    }
    let request = contents(basis.request);
    let candidates: Vec<Shingles> = basis.candidates.iter().map(|(_, text)| contents(text)).collect();
    let others = |but: usize| {
        candidates.iter().enumerate().filter(move |(index, _)| *index != but).map(|(_, one)| one)
    };
    let core = core(candidates.iter().chain([&request]));
    let least = candidates.iter().enumerate().map(|(index, one)| {
        let core = self::core(others(index).chain([&request]));
        percent(shared(one, &core), core.len())
    });
    let least = least.min().unwrap_or(0);
    let known =
        own.iter().filter(|word| request.contains(word) || candidates.iter().any(|one| one.contains(word)));
    let known = percent(known.count(), own.len());
    let of_core = percent(shared(&own, &core), core.len());
    let of_request = percent(shared(&own, &request), request.len());
    // The less the candidates have in common, the less may be known of the text.
    let is_bare = of_core == 0
        && (core.len() >= 2 && known == 0 && least >= 60 || core.len() >= 4 && known <= 5 && least >= 30);
    let is_strange = own.len() >= 8
        && core.len() >= 12
        && known <= 30
        && of_request <= 34
        && least >= 20
        && of_core * 100 <= least * 35;
    (is_bare || is_strange) && is_prose(text) && !is_translation(text, basis)
}

/// Whether a text has sentences. A list of names shares nothing with another such list.
fn is_prose(text: &str) -> bool {
    let (mut all, mut small) = (0, 0);
    for (kind, piece) in pieces(head(text, COMPARED_BYTES)) {
        match kind {
            PieceKind::Between => {}
            PieceKind::Unspaced => return true,
            PieceKind::Spaced => {
                all += 1;
                small += usize::from(
                    piece.chars().count() < CONTENT_CHARS && piece.chars().all(char::is_alphabetic),
                );
            }
        }
    }
    percent(small, all) >= SMALL_PERCENT
}

/// The words that at least two of these texts have.
fn core<'a>(texts: impl Iterator<Item = &'a Shingles>) -> Shingles {
    let (mut once, mut twice) = (Shingles::default(), Shingles::default());
    for word in texts.flatten() {
        if !once.insert(*word) {
            twice.insert(*word);
        }
    }
    twice
}

fn shared(one: &Shingles, other: &Shingles) -> usize {
    one.intersection(other).count()
}

fn percent(part: usize, whole: usize) -> usize {
    part * 100 / whole.max(1)
}

/// Whether the request asks for another language, and the text is in another one than the candidates.
fn is_translation(text: &str, basis: &FloorBasis<'_>) -> bool {
    let asked = basis.request.to_lowercase();
    let small = |text: &str| -> Shingles {
        let words = lower(head(text, COMPARED_BYTES));
        words.iter().filter(|word| word.chars().count() < CONTENT_CHARS).map(|word| hash_of(word)).collect()
    };
    if !LANGUAGES.iter().any(|word| asked.contains(word)) {
        return false;
    }
    let own = small(text);
    let known = basis.candidates.iter().map(|(_, one)| percent(shared(&own, &small(one)), own.len()));
    known.max().unwrap_or(0) < 40
}

/// The words of a text that carry content, by the beginnings of their letters; in a script without blanks, pairs of letters.
fn contents(text: &str) -> Shingles {
    let mut found = Shingles::default();
    for (kind, piece) in pieces(head(text, COMPARED_BYTES)) {
        match kind {
            PieceKind::Between => {}
            PieceKind::Unspaced => {
                let letters: Vec<char> = piece.chars().collect();
                found.extend(
                    letters
                        .windows(2.min(letters.len()))
                        .map(|pair| hash_of(&pair.iter().collect::<String>())),
                );
            }
            PieceKind::Spaced => {
                let lower = piece.to_lowercase();
                if lower.chars().count() >= CONTENT_CHARS && !COMMON.has(lower.as_str()) {
                    found.insert(hash_of(&lower.chars().take(STEM_CHARS).collect::<String>()));
                }
            }
        }
    }
    found
}

/// What a request says that asks for another language.
const LANGUAGES: &[&str] = &[
    "translat",
    "übersetz",
    "traduc",
    "traduz",
    "traduis",
    "traduir",
    "tradur",
    "перевод",
    "перевед",
    "tłumacz",
    "vertaal",
    "翻译",
    "翻譯",
    "翻訳",
    "译成",
    "번역",
    "แปล",
    "language",
    "english",
    "french",
    "german",
    "spanish",
    "italian",
    "portuguese",
    "russian",
    "chinese",
    "japanese",
    "korean",
    "arabic",
    "hindi",
    "dutch",
    "polish",
    "turkish",
    "latin",
    "greek",
    "hebrew",
    "auf deutsch",
    "auf englisch",
    "en français",
    "en anglais",
    "en español",
    "en inglés",
];
