//! The text of a token: `plm_`, 256 random bits and a checksum, in letters and digits. Secret scanners and readers can
//! tell from the text alone whether it is a token.
//!
//! Invariants: a token cannot be printed, and its stored hash cannot be reversed.

use secrecy::{ExposeSecret, SecretString};

/// The prefix of every token.
pub(super) const PREFIX: &str = "plm_";

/// Whether a key may be a token of this program or of an issuer, whose tokens have parts with points between them.
pub fn may_be_token(key: &str) -> bool {
    key.starts_with(PREFIX) || key.contains('.')
}
/// The digits of base 62, in ASCII order.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Characters of the random part: 62^43 is a little more than 2^256.
const BODY_CHARS: usize = 43;
/// Characters of the checksum: 62^6 is more than 2^32.
const CHECK_CHARS: usize = 6;
/// The context of the key derivation, which separates a token's hash from every other hash of the same bytes.
const PURPOSE: &str = "parallel-llm-mcp 2026-11 a token of the server";

/// A token.
#[derive(Clone, Debug)]
pub(super) struct Secret(SecretString);

impl Secret {
    /// A new random token.
    pub(super) fn draw() -> std::io::Result<Self> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(std::io::Error::from)?;
        Ok(Self::of(bits))
    }

    fn of(mut bits: [u8; 32]) -> Self {
        let body = base62(&mut bits, BODY_CHARS);
        let check = checksum(&body);
        Self(SecretString::from(format!("{PREFIX}{body}{check}")))
    }

    /// Reads a token; `None` if the text is no token, is mistyped or cut.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        if rest.len() != BODY_CHARS + CHECK_CHARS || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let (body, check) = rest.split_at(BODY_CHARS);
        (checksum(body) == check).then(|| Self(SecretString::from(text)))
    }

    /// The stored hash.
    pub(super) fn hash(&self) -> [u8; 32] {
        blake3::derive_key(PURPOSE, self.0.expose_secret().as_bytes())
    }

    /// The last characters, by which its owner recognizes it. They belong to the checksum and reveal no random bit.
    pub(super) fn last_four(&self) -> &str {
        let text = self.0.expose_secret();
        &text[text.len() - 4..]
    }

    /// The token's text, to be shown once.
    pub(super) fn into_inner(self) -> SecretString {
        self.0
    }
}

/// The checksum of a token's random part.
fn checksum(body: &str) -> String {
    base62(&mut crc32(body.as_bytes()).to_be_bytes(), CHECK_CHARS)
}

/// CRC-32 as in zip files, computed bit by bit because a token is short.
fn crc32(bytes: &[u8]) -> u32 {
    let shift = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), shift))
}

/// A big-endian number in this many base-62 digits, by repeated division by 62. The number's bytes are overwritten.
fn base62(number: &mut [u8], digits: usize) -> String {
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        let mut rest = 0;
        for byte in number.iter_mut() {
            let value = rest * 256 + usize::from(*byte);
            *byte = (value / 62) as u8;
            rest = value % 62;
        }
        *digit = DIGITS[rest];
    }
    String::from_utf8(text).expect("digits are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(secret: &Secret) -> String {
        secret.0.expose_secret().to_owned()
    }

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn numbers_are_written_in_base_62() {
        let written = |number: u32, digits| base62(&mut number.to_be_bytes(), digits);
        assert_eq!(
            [written(0, 3), written(61, 1), written(62, 3), written(u32::MAX, 6)],
            ["000", "z", "010", "4gfFC3"]
        );
        let greatest = base62(&mut [255; 32], BODY_CHARS);
        assert_eq!(greatest.len(), BODY_CHARS);
        assert_ne!(greatest.as_bytes()[0], b'0', "no digit too many");
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        for bits in [[0; 32], [255; 32], [1; 32]] {
            let token = Secret::of(bits);
            let read = Secret::parse(&text(&token)).expect("it is one");
            assert_eq!((text(&token).len(), read.hash()), (53, token.hash()));
            assert!(text(&token).ends_with(token.last_four()));
        }
        assert_ne!(Secret::of([0; 32]).hash(), Secret::of([1; 32]).hash());
        assert_ne!(text(&Secret::draw().unwrap()), text(&Secret::draw().unwrap()));
    }

    #[test]
    fn every_typo_of_one_character_is_seen() {
        let token = text(&Secret::of([7; 32]));
        for place in 0..token.len() {
            for other in [b'0', b'a', b'_', b' '] {
                let mut typo = token.clone().into_bytes();
                if typo[place] != other {
                    typo[place] = other;
                    assert!(Secret::parse(std::str::from_utf8(&typo).unwrap()).is_none(), "{place}");
                }
            }
        }
    }

    #[test]
    fn a_text_that_is_no_token_is_none() {
        let token = text(&Secret::of([7; 32]));
        let lacks = &token[..token.len() - 1];
        for other in ["", "plm_", lacks, &token[1..], &format!("{token}0"), &format!(" {token}"), "plm_ä"] {
            assert!(Secret::parse(other).is_none(), "{other}");
        }
        let wide = format!("plm_{}", "ä".repeat(49));
        assert!(Secret::parse(&wide).is_none());
    }

    #[test]
    fn it_cannot_be_printed() {
        let token = Secret::of([7; 32]);
        assert!(!format!("{token:?}").contains(&text(&token)[4..20]));
    }
}
