//! Removes keys from text before it is shown.
//!
//! First every known key, as it is or as it may be echoed: in another case, in hexadecimal, in base32 or base64, with codes of
//! percent, JSON or HTML, backwards, with anything between its letters, or a part of it. Then everything that looks like a
//! key, because a provider may echo one that is not ours. Invariants: no known key of at least [`KEY_BYTES_MIN`] bytes is
//! left in the text, nor [`PIECE_CHARS`] characters of one in a row; a text is read a fixed number of times.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use foldhash::fast::RandomState;
use parallel_llm_engine::Failure;
use parking_lot::RwLock;
use secrecy::{ExposeSecret, SecretString};

/// Replaces a key.
const MARK: &str = "***";
/// Shorter keys are not removed: local servers accept any word, and `x` is not a secret.
const KEY_BYTES_MIN: usize = 8;
/// How the keys of the known providers begin.
const PREFIXES: [&str; 6] = ["sk-", "gsk_", "xai-", "AIza", "AQ.", "plm_"];
/// The shortest word with such a prefix that is treated as a key. Real ones have at least 35 characters, the masked
/// ones that providers echo (`sk-or-v1-au7...890`) half as many.
const SHAPE_BYTES_MIN: usize = 16;
/// How the tokens of other services begin that a provider may echo, and the shortest of each: long enough that no word of a
/// message begins so.
const STRANGERS: [(&str, usize); 16] = [
    ("ghp_", 24),
    ("gho_", 24),
    ("ghu_", 24),
    ("ghs_", 24),
    ("ghr_", 24),
    ("github_pat_", 40),
    ("glpat-", 24),
    ("AKIA", 20),
    ("ASIA", 20),
    ("xoxb-", 24),
    ("xoxp-", 24),
    ("xoxa-", 24),
    ("xapp-", 24),
    ("hf_", 32),
    ("npm_", 36),
    ("pypi-", 40),
];
/// How a signed token begins, the parts it has, and the shortest one.
const SIGNED: (&str, usize, usize) = ("eyJ", 3, 40);
/// What precedes a key in a header, and the hash of one in the address of its page.
const INTRODUCTIONS: [&str; 3] = ["bearer ", "/keys/", "?key="];

/// Characters of a key that reveal it even if the rest is masked or cut off. Shorter pieces are ordinary words: the
/// known prefixes of keys have up to 9 (`sk-or-v1-`).
const PIECE_CHARS: usize = 12;

/// Letters and digits of base32.
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A key as it may be echoed: itself, backwards, in hexadecimal, in base32 or in base64.
#[derive(Clone, Debug)]
struct Spelling {
    /// Its pieces, in each of the [`READINGS`]; none in a reading that leaves too little of it.
    pieces: [Option<Pieces>; 3],
}

/// The pieces of a spelling that reveal the key.
#[derive(Clone, Debug)]
struct Pieces {
    /// Bytes of each.
    width: usize,
    /// Their hashes, with a seed of this process: nothing of the key is kept. A collision would remove a harmless piece of
    /// a text.
    hashes: HashSet<u64, RandomState>,
}

/// Knows this program's keys. Cheap to clone; clones know the same keys.
#[derive(Clone, Debug, Default)]
pub struct Scrubber {
    keys: Arc<RwLock<Vec<SecretString>>>,
    spellings: Arc<RwLock<Vec<Spelling>>>,
    seed: RandomState,
}

impl Scrubber {
    /// A scrubber that removes these keys, and everything that looks like one.
    pub fn new(keys: impl IntoIterator<Item = SecretString>) -> Self {
        let scrubber = Self::default();
        keys.into_iter().for_each(|key| scrubber.learn(key));
        scrubber
    }

    /// Removes this key too from now on.
    pub fn learn(&self, key: SecretString) {
        if key.expose_secret().len() < KEY_BYTES_MIN {
            return;
        }
        let mut keys = self.keys.write();
        if keys.iter().any(|known| known.expose_secret() == key.expose_secret()) {
            return;
        }
        let mut known = self.spellings.write();
        known.extend(spellings(key.expose_secret(), &self.seed));
        keys.push(key);
    }

    /// The text without keys.
    pub fn scrub(&self, text: &str) -> String {
        let spellings = self.spellings.read();
        let without_spellings = |text: &str| without_spellings(&spellings, &self.seed, text);
        let first = without_spellings(text);
        let mut clean = without_shapes(first.as_deref().unwrap_or(text));
        if clean == text {
            return clean;
        }
        // Removing one key may join the pieces of another. Each pass makes the text shorter.
        while let Some(shorter) = without_spellings(&clean) {
            clean = shorter;
        }
        clean
    }

    /// The failure without keys.
    #[must_use]
    pub fn clean(&self, mut failure: Failure) -> Failure {
        failure.message = self.scrub(&failure.message);
        let causes = failure.causes.take();
        failure.causes = causes.map(|causes| causes.iter().map(|cause| self.scrub(cause)).collect());
        failure
    }
}

/// The forms in which a key is echoed. Base64 has three, depending on the position of the key within a group of three
/// bytes: it may follow `Bearer ` or a name. Its two alphabets are treated as one, see [`Readable`].
fn spellings(key: &str, seed: &RandomState) -> Vec<Spelling> {
    let spelling = |text: &str, piece_bytes: usize| Spelling {
        pieces: READINGS.map(|reading| {
            let read = Readable::of(text, reading).bytes;
            // The letters of a key made of signs are in every text.
            let tells = reading.takes_all || read.len() >= KEY_BYTES_MIN;
            tells.then(|| Pieces::of(&read, piece_bytes, seed))
        }),
    };
    let hex = key.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let backwards: String = key.chars().rev().collect();
    let mut all =
        vec![spelling(key, PIECE_CHARS), spelling(&hex, 2 * PIECE_CHARS), spelling(&backwards, PIECE_CHARS)];
    for before in 0..5 {
        let shifted = [&[0; 5][..before], key.as_bytes()].concat();
        let coded = base32(&shifted);
        let inner = &coded[(before * 8).div_ceil(5)..shifted.len() * 8 / 5];
        all.push(spelling(inner, PIECE_CHARS * 8 / 5));
    }
    for before in 0..3 {
        let shifted = [&[0; 3][..before], key.as_bytes()].concat();
        let coded = URL_SAFE_NO_PAD.encode(&shifted);
        // The outer letters contain bits of the text beside the key.
        let inner = &coded[(before * 4).div_ceil(3)..shifted.len() * 4 / 3];
        all.push(spelling(inner, PIECE_CHARS * 4 / 3));
    }
    all
}

/// The bytes in base32, in lower case and without padding.
fn base32(bytes: &[u8]) -> String {
    let mut coded = String::with_capacity((bytes.len() * 8).div_ceil(5));
    let (mut bits, mut count) = (0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            coded.push(char::from(BASE32[(bits >> count & 31) as usize]));
        }
    }
    if count > 0 {
        coded.push(char::from(BASE32[(bits << (5 - count) & 31) as usize]));
    }
    coded
}

impl Pieces {
    /// The pieces of a key of this many bytes; the whole key if it is shorter.
    fn of(key: &[u8], piece_bytes: usize, seed: &RandomState) -> Self {
        let width = piece_bytes.min(key.len());
        Self { width, hashes: key.windows(width).map(|piece| seed.hash_one(piece)).collect() }
    }
}

/// A text normalised for comparing: in lower case and one alphabet for base64, with the position of each byte in the
/// original.
struct Readable {
    bytes: Vec<u8>,
    /// For each byte, where its spelling is in the text.
    places: Vec<Range<usize>>,
}

impl Readable {
    /// Reads a text in this way.
    fn of(text: &str, reading: WayToRead) -> Self {
        let (mut bytes, mut places) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
        let mut at = 0;
        while at < text.len() {
            let (byte, length) = (reading.spelled)(&text.as_bytes()[at..]);
            if reading.takes_all || byte.is_ascii_alphanumeric() {
                places.push(at..at + length);
                bytes.push(match byte.to_ascii_lowercase() {
                    b'+' => b'-',
                    b'/' => b'_',
                    byte => byte,
                });
            }
            at += length;
        }
        Self { bytes, places }
    }
}

/// A way to read a text.
#[derive(Clone, Copy)]
struct WayToRead {
    /// Decodes the first byte, and returns how many bytes encode it.
    spelled: fn(&[u8]) -> (u8, usize),
    /// Whether all bytes count, or letters and digits only.
    takes_all: bool,
}

/// The ways in which a text is read: a key may itself contain what looks like a percent code, or end where one begins; and
/// there may be blanks, dashes or invisible characters between its letters.
const READINGS: [WayToRead; 3] = [
    WayToRead { spelled: plain, takes_all: true },
    WayToRead { spelled: decoded, takes_all: true },
    WayToRead { spelled: decoded, takes_all: false },
];

const fn plain(bytes: &[u8]) -> (u8, usize) {
    (bytes[0], 1)
}

/// As [`plain`], with percent codes, JSON escapes and HTML references decoded.
fn decoded(bytes: &[u8]) -> (u8, usize) {
    let hex = |digits: Option<&[u8]>| {
        let digits = str::from_utf8(digits?).ok().filter(|digits| !digits.starts_with('+'))?;
        u8::from_str_radix(digits, 16).ok()
    };
    let spelled = match bytes {
        [b'%', ..] => hex(bytes.get(1..3)).map(|byte| (byte, 3)),
        [b'\\', b'u', b'0', b'0', ..] => hex(bytes.get(4..6)).map(|byte| (byte, 6)),
        [b'&', ..] => reference(bytes),
        _ => None,
    };
    // Only ASCII is decoded, so that cuts are at character boundaries.
    spelled.filter(|(byte, _)| byte.is_ascii()).unwrap_or((bytes[0], 1))
}

/// The longest reference of HTML that is read, in bytes: `&#0000107;`.
const REFERENCE_BYTES_MAX: usize = 10;

/// A reference of HTML at the beginning: `&#107;`, `&#x6b;` or `&amp;`.
fn reference(bytes: &[u8]) -> Option<(u8, usize)> {
    let end = bytes.iter().take(REFERENCE_BYTES_MAX).position(|byte| *byte == b';')?;
    let name = str::from_utf8(&bytes[1..end]).ok()?;
    let byte = match name {
        "amp" => b'&',
        "lt" => b'<',
        "gt" => b'>',
        "quot" => b'"',
        "apos" => b'\'',
        _ => {
            let code = name.strip_prefix('#')?;
            let digits = code.trim_start_matches(['x', 'X']);
            let radix = if digits.len() < code.len() { 16 } else { 10 };
            u8::from_str_radix(digits.trim_start_matches('0'), radix).ok()?
        }
    };
    Some((byte, end + 1))
}

/// The text with each key, and each piece that reveals one, replaced; `None` if there is none.
fn without_spellings(spellings: &[Spelling], seed: &RandomState, text: &str) -> Option<String> {
    let mut secrets = Vec::new();
    for (index, reading) in READINGS.into_iter().enumerate() {
        let readable = Readable::of(text, reading);
        for Pieces { width, hashes } in
            spellings.iter().filter_map(|spelling| spelling.pieces[index].as_ref())
        {
            let windows = readable.bytes.windows(*width).enumerate();
            let found = windows.filter(|(_, window)| hashes.contains(&seed.hash_one(window)));
            let places = &readable.places;
            secrets.extend(found.map(|(start, _)| places[start].start..places[start + width - 1].end));
        }
    }
    if secrets.is_empty() {
        return None;
    }
    let mut is_secret = vec![false; text.len()];
    for secret in secrets {
        is_secret[secret].fill(true);
    }
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for run in is_secret.chunk_by(|one, next| one == next) {
        let bytes = &text.as_bytes()[at..at + run.len()];
        // A key that is not ASCII may match from the middle of a character.
        clean.push_str(&if run[0] { MARK.into() } else { String::from_utf8_lossy(bytes) });
        at += run.len();
    }
    Some(clean)
}

/// The text with each word replaced that looks like a key.
fn without_shapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_key_character) {
        let (before, from) = rest.split_at(start);
        clean.push_str(before);
        let end = from.find(|character| !is_key_character(character)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        let key = word.trim_end_matches('.');
        if is_key(key, &clean) {
            clean.push_str(MARK);
            clean.push_str(&word[key.len()..]);
        } else {
            clean.push_str(word);
        }
        rest = after;
    }
    clean.push_str(rest);
    clean
}

fn is_key(word: &str, before: &str) -> bool {
    let (begin, parts, bytes_min) = SIGNED;
    let shaped = (word.len() >= SHAPE_BYTES_MIN && PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
        || STRANGERS.iter().any(|(prefix, bytes_min)| word.len() >= *bytes_min && word.starts_with(prefix))
        || (word.len() >= bytes_min && word.starts_with(begin) && word.split('.').count() == parts);
    let introduced = word.len() >= KEY_BYTES_MIN
        && INTRODUCTIONS.iter().any(|introduction| {
            let tail = before.len().checked_sub(introduction.len()).and_then(|start| before.get(start..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(introduction))
        });
    shaped || introduced
}

/// The characters of keys; `*` because providers mask the middle of the keys they echo.
const fn is_key_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scrubber(keys: &[&str]) -> Scrubber {
        Scrubber::new(keys.iter().copied().map(SecretString::from))
    }

    #[test]
    fn known_keys_and_key_shapes_go() {
        let hash = "0123456789abcdef".repeat(4);
        let key = format!("sk-or-v1-{}", "0".repeat(64));
        for (text, clean) in [
            ("the key mistral0plain0key failed".to_owned(), "the key *** failed".to_owned()),
            (format!("bad key {key}."), "bad key ***.".to_owned()),
            (format!("Authorization: Bearer {hash}"), "Authorization: Bearer ***".to_owned()),
            (
                "Incorrect API key provided: sk-proj-****abcd.".to_owned(),
                "Incorrect API key provided: ***.".to_owned(),
            ),
            (
                format!("Manage it using https://openrouter.ai/workspaces/default/keys/{hash}"),
                "Manage it using https://openrouter.ai/workspaces/default/keys/***".to_owned(),
            ),
            ("gsk_abcdefghijklmnop,xai-abcdefghijklmnop".to_owned(), "***,***".to_owned()),
            ("https://x/?key=AIzaSyA0000000000000000".to_owned(), "https://x/?key=***".to_owned()),
        ] {
            assert_eq!(scrubber(&["mistral0plain0key"]).scrub(&text), clean);
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in
            ["sk-learn and risk-averse people", "a bearer of news", "the openai/gpt-6.1-sol model", "ключ"]
        {
            assert_eq!(scrubber(&["x", "ollama"]).scrub(text), text);
        }
    }

    #[test]
    fn a_scrubber_never_prints_its_keys() {
        assert!(!format!("{:?}", scrubber(&["mistral0plain0key"])).contains("mistral"));
    }

    #[test]
    fn a_key_is_known_however_it_is_echoed() {
        const KEY: &str = "mistral0Plain/Key+of24~letters";
        let spelled = |spell: fn(u8) -> String| KEY.bytes().map(spell).collect::<String>();
        let hex = spelled(|byte| format!("{byte:02x}"));
        let percent = spelled(|byte| format!("%{byte:02X}"));
        let json = spelled(|byte| format!("\\u{byte:04x}"));
        let scrubber = scrubber(&[KEY]);
        let check = |echo: &str| {
            assert_eq!(scrubber.scrub(&format!("the key <{echo}> failed")), "the key <***> failed", "{echo}");
        };
        [KEY, &KEY.to_uppercase(), &hex, &hex.to_uppercase(), &percent, &json].into_iter().for_each(check);
        check(&KEY.replace('/', "%2F").replace('+', "%2b"));
        check(&KEY[..14]);
        check(&KEY[16..]);
        for (before, behind) in [("", ""), ("u", ":"), ("me", "::"), ("Bearer ", ""), ("user:", "!")] {
            let coded = base64::engine::general_purpose::STANDARD.encode(format!("{before}{KEY}{behind}"));
            let clean = scrubber.scrub(&coded);
            assert!(clean.contains(MARK) && clean.len() < 24, "{before}: {clean}");
        }
        // Too short to reveal a key, or only looks encoded.
        for text in ["mistral0Pla", "100%", "%zz %+a \\u00zz é%c3%a9", "ключ"] {
            assert_eq!(scrubber.scrub(text), text);
        }
    }

    #[test]
    fn a_key_is_known_however_a_model_disguises_it() {
        const KEY: &str = "sk-or-v1-9fQ2mZ7xK4bT8wLc";
        let each = |spell: &dyn Fn(char) -> String| KEY.chars().map(spell).collect::<String>();
        let joined = |between: &str| each(&|letter| format!("{letter}{between}"));
        let padded = |before: &str| base32(format!("{before}{KEY}").as_bytes());
        let mut forms = vec![
            each(&|letter| format!("&#{};", u32::from(letter))),
            each(&|letter| format!("&#x{:X};", u32::from(letter))),
            each(&|letter| format!("&#{:05};", u32::from(letter))),
            joined(" "),
            joined("-"),
            joined(", "),
            joined("\n"),
            joined("\u{200b}"),
            joined("\u{feff}"),
            joined("\u{ad}"),
            joined("\u{2060}. "),
            KEY.chars().rev().collect(),
            KEY.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"),
            base64::engine::general_purpose::STANDARD.encode(KEY).chars().flat_map(|it| [it, ' ']).collect(),
        ];
        forms.extend(["", "a", "ab", "abc", "abcd"].map(padded));
        forms.push(padded("").to_uppercase());
        let scrubber = scrubber(&[KEY]);
        for form in forms {
            let clean = scrubber.scrub(&format!("It is <{form}>, as asked."));
            assert!(
                clean.contains(MARK) && clean.len() <= "It is <***>, as asked.".len() + 24,
                "{form}: {clean}"
            );
        }
    }

    #[test]
    fn tokens_of_other_services_go_and_words_stay() {
        let token =
            |head: &str, length: usize| format!("{head}{}", "a1B2c3D4e5".repeat(8)[..length].to_owned());
        for (head, length) in [("ghp_", 36), ("xoxb-", 40), ("glpat-", 20), ("hf_", 34), ("github_pat_", 60)]
        {
            let text = format!("bad token {} given", token(head, length));
            assert_eq!(Scrubber::default().scrub(&text), "bad token *** given", "{head}");
        }
        let amazon = format!("AK{}Q3EGRTYU7PLK2MNB", "IA");
        let signed = format!("{}.{}.{}", token("eyJ", 17), token("eyJ", 40), token("", 43));
        let text = format!("{amazon}, {signed}");
        assert_eq!(Scrubber::default().scrub(&text), "***, ***");
        for text in [
            "the hf_transfer package",
            "npm_config_registry",
            "AKIA is a prefix",
            "ghp_ too",
            "eyJ... is cut",
        ] {
            assert_eq!(Scrubber::default().scrub(text), text);
        }
    }

    #[test]
    fn a_key_that_ends_like_a_code_is_known_too() {
        let scrubber = scrubber(&["0AA!AA!%", "0A0!AAA0", "key%41%42%43"]);
        assert_eq!(scrubber.scrub("0AA!AA!%0A0!AAA0"), "***");
        assert_eq!(scrubber.scrub("a key%41%42%43 b keyABC c"), "a *** b *** c");
    }

    proptest! {
        #[test]
        fn no_known_key_survives(
            keys in prop::collection::vec("[!-~]{8,20}", 1..4),
            pieces in prop::collection::vec("[a-z*. ]{0,4}", 1..8),
            picks in prop::collection::vec(0usize..4, 8),
        ) {
            let known: Vec<&str> = keys.iter().map(String::as_str).collect();
            let mut text = String::new();
            for (piece, pick) in pieces.iter().zip(picks) {
                text.push_str(piece);
                text.push_str(known[pick % known.len()]);
            }
            let clean = scrubber(&known).scrub(&text);
            for key in known {
                prop_assert!(!clean.contains(key), "{} in {}", key, clean);
            }
        }
    }
}
