//! Recognizes a text about something else than the request.

use super::FloorBasis;
use super::vocabulary::{COMMON, LANGUAGES, NUMBERS};
use super::words::{head, lower};
use crate::text::shingles::{PieceKind, Shingles, hash_of, pieces};

/// How much of each text is compared.
const COMPARED_BYTES: usize = 262_144;
/// How much of a text is read for its first word.
const HEAD_BYTES: usize = 64;
/// The letters by which words are compared, so that their endings do not count.
const STEM_CHARS: usize = 5;
/// The fewest letters of a word with a content of its own.
const CONTENT_CHARS: usize = 4;

/// The least share of words with few letters in a prose text, in hundredths.
const SMALL_PERCENT: usize = 15;
/// The fewest different small words by which a language is told, and the least share of them that is known in the same language.
const LANGUAGE_WORDS_MIN: usize = 2;
const LANGUAGE_PERCENT: usize = 25;
/// The fewest different small words, of a text and of all that it was made from, by which another language is told.
const FOREIGN_WORDS_MIN: usize = 6;
/// The most of its other words, in hundredths, that are known: names, mostly.
const FOREIGN_KNOWN_PERCENT: usize = 25;
/// The most words of an answer that is a number, and of which each is.
const NUMBER_WORDS_MAX: usize = 12;

/// Whether a text leaves out what the request and the candidates have in common, while the candidates share it. Where they
/// differ as much (names, slogans, poems), nothing can be told.
pub(super) fn is_other(text: &str, basis: &FloorBasis<'_>) -> bool {
    let own = contents(text);
    // A pair of letters says less than a word.
    let is_unspaced = pieces(head(text, COMPARED_BYTES)).any(|(kind, _)| kind == PieceKind::Unspaced);
    let fewest = if is_unspaced { 6 } else { 2 };
    // JSON is no prose.
    if own.len() < fewest || consents(text) || text.starts_with(['{', '[']) {
        return false;
    }
    let shares = Shares::of(&own, basis);
    let is_strange =
        shares.has_little() || is_prose(text) && (shares.has_nothing() || lacks_number(text, basis));
    is_strange && is_same_language(text, basis)
}

/// Whether a text begins with a consent or its contrary, or says that it cannot be told, which answers whatever follows.
pub(super) fn consents(text: &str) -> bool {
    let said = lower(head(text, HEAD_BYTES)).join(" ");
    ["yes", "no", "i don t know", "it depends", "nobody knows", "no one knows"]
        .iter()
        .any(|begin| said.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

/// Whether a request names a language or asks for a translation, so that a text may share no word with it.
pub(super) fn asks_for_language(request: &str) -> bool {
    let is_language = |word: &String| LANGUAGES.iter().any(|stem| word.starts_with(stem));
    lower(request).iter().any(is_language)
}

/// What a text shares with the request and the candidates, in words.
struct Shares {
    /// The words of the text.
    own: usize,
    /// Its words that the request or a candidate has.
    known: usize,
    /// The words of the request, and those of them in the text.
    of_request: (usize, usize),
    /// The words that two of the request and the candidates have, and those of them in the text.
    of_core: (usize, usize),
    /// The words that all candidates have, and those of them in the text.
    of_all: (usize, usize),
    /// The least share, in hundredths, that a candidate has of its words with the others and the request.
    least_known: usize,
}

impl Shares {
    fn of(own: &Shingles, basis: &FloorBasis<'_>) -> Self {
        let request = contents(basis.request);
        let candidates: Vec<Shingles> = basis.candidates.iter().map(|(_, text)| contents(text)).collect();
        let core = core(candidates.iter().chain([&request]));
        let all: Shingles = match candidates.split_first() {
            Some((first, others)) => {
                first.iter().filter(|word| others.iter().all(|one| one.contains(word))).copied().collect()
            }
            None => Shingles::default(),
        };
        let is_known =
            |word: &&u64| request.contains(word) || candidates.iter().any(|one| one.contains(word));
        // A word of a candidate is known from elsewhere if two have it.
        let known_of = |one: &Shingles| percent(shared(one, &core), one.len());
        Self {
            own: own.len(),
            known: own.iter().filter(is_known).count(),
            of_request: (request.len(), shared(own, &request)),
            of_core: (core.len(), shared(own, &core)),
            of_all: (all.len(), shared(own, &all)),
            least_known: candidates.iter().map(known_of).min().unwrap_or(0),
        }
    }

    /// Whether nothing of a text is known, while all candidates share words.
    const fn has_nothing(&self) -> bool {
        let (all, core, least) = (self.of_all.0, self.of_core.0, self.least_known);
        let is_agreed = core >= 4 && least >= 20 || all >= 1 && least >= 50;
        self.known == 0 && (all >= 3 || self.own >= 4 && is_agreed)
    }

    /// Whether so little of a text is known as chance makes. The numbers were measured with answers of two dozen models to 800
    /// requests: of answers to another request five of six have so little, of a thousand answers one has.
    fn has_little(&self) -> bool {
        let known = percent(self.known, self.own);
        let of_request = percent(self.of_request.1, self.of_request.0);
        let of_core = percent(self.of_core.1, self.of_core.0);
        let of_all = percent(self.of_all.1, self.of_all.0);
        let (all, least) = (self.of_all.0, self.least_known);
        let is_short = self.own >= 8
            && all >= 2
            && of_all <= 25
            && of_request <= 20
            && (known <= 16 && known * 2 <= least
                || known <= 24 && known * 3 <= least * 2 && all >= 6 && of_core <= 25);
        let is_long = self.own >= 25
            && all >= 3
            && of_all <= 33
            && of_request <= 25
            && known <= 33
            && known * 3 <= least * 2
            && of_core <= 33;
        let is_apart = (self.own >= 6 && all >= 2 || self.own >= 4 && all >= 3)
            && self.of_all.1 == 0
            && self.of_request.1 == 0
            && known <= 25
            && known * 2 <= least;
        let is_chance =
            self.own >= 12 && self.of_core.0 >= 5 && known <= 12 && of_request <= 10 && of_core <= 12;
        is_short || is_long || is_apart || is_chance
    }
}

/// Whether a text has no number, while all candidates are little else than one.
fn lacks_number(text: &str, basis: &FloorBasis<'_>) -> bool {
    let has_number = |text: &str| {
        lower(text).iter().any(|word| word.starts_with(|one: char| one.is_numeric()) || NUMBERS.has(word))
    };
    let is_number = |text: &str| has_number(text) && lower(text).len() <= NUMBER_WORDS_MAX;
    let is_known = |word: &u64| basis.material().any(|known| contents(known).contains(word));
    !has_number(text)
        && basis.candidates.iter().all(|(_, one)| is_number(one))
        && !contents(text).iter().any(is_known)
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
                    piece.chars().all(char::is_alphabetic)
                        && (piece.chars().count() < CONTENT_CHARS
                            || COMMON.has(piece.to_lowercase().as_str())),
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

/// Whether a text is in other letters than all that the request and the candidates say.
pub(super) fn is_foreign_to(text: &str, basis: &FloorBasis<'_>) -> bool {
    basis.material().all(|known| is_latin(known) != is_latin(text))
}

/// Whether most letters of a text are Latin.
fn is_latin(text: &str) -> bool {
    let letters = head(text, COMPARED_BYTES).chars().filter(|one| one.is_alphabetic());
    let (mut all, mut latin) = (0, 0);
    for letter in letters {
        all += 1;
        latin += usize::from(letter.is_ascii());
    }
    latin * 2 >= all
}

/// Whether a text is in a language that neither the request nor a candidate is in, and that nobody asked for: none of its small
/// words is one of theirs, and few others are.
pub(super) fn is_in_other_language(text: &str, basis: &FloorBasis<'_>) -> bool {
    let (small, known) = beside_material(text, basis, small_words);
    if small.len().min(known.len()) < FOREIGN_WORDS_MIN || shared(&small, &known) > 0 {
        return false;
    }
    let (words, known) = beside_material(text, basis, contents);
    percent(shared(&words, &known), words.len()) <= FOREIGN_KNOWN_PERCENT
        && !asks_for_language(basis.request)
        && is_prose(text)
}

/// What is read out of a text, and out of the request and the candidates together.
fn beside_material(text: &str, basis: &FloorBasis<'_>, read: fn(&str) -> Shingles) -> (Shingles, Shingles) {
    (read(text), basis.material().flat_map(read).collect())
}

/// The words of a few letters in a text.
fn small_words(text: &str) -> Shingles {
    let words = lower(head(text, COMPARED_BYTES));
    let is_small =
        |word: &&String| word.chars().count() < CONTENT_CHARS && word.chars().all(char::is_alphabetic);
    words.iter().filter(is_small).map(|word| hash_of(word)).collect()
}

/// Whether a text is in the language of the request or a candidate, by its small words and its letters.
fn is_same_language(text: &str, basis: &FloorBasis<'_>) -> bool {
    if basis.candidates.iter().all(|(_, one)| is_latin(one) != is_latin(text)) {
        return false;
    }
    let (own, known) = beside_material(text, basis, small_words);
    own.len() < LANGUAGE_WORDS_MIN || percent(shared(&own, &known), own.len()) >= LANGUAGE_PERCENT
}

/// The words of a text that carry content, by the beginnings of their letters; in a script without blanks, pairs of letters.
pub(super) fn contents(text: &str) -> Shingles {
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
