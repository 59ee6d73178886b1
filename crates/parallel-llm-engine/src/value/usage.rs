//! Token counts of a call, as its provider reported them. An unknown count is `None`, never zero.

use serde::{Deserialize, Serialize};

/// Bytes of text counted as one token until a provider reports. Real tokenizers take three to five bytes of English for a
/// token; three overestimates the tokens rather than underestimating them.
pub const BYTES_PER_TOKEN: u64 = 3;

/// The size of a text as input, in bytes of plain words that take as many tokens. A digit counts as a token, since some
/// tokenizers make one of each, and a byte of a character beyond ASCII as a half more.
pub fn weight_of(text: &str) -> u64 {
    let count = |is: fn(&u8) -> bool| text.bytes().filter(is).count() as u64;
    let (digits, wide) = (count(u8::is_ascii_digit), count(|byte| !byte.is_ascii()));
    text.len() as u64 + (BYTES_PER_TOKEN - 1) * digits + wide / 2
}

/// Token counts of one call. Units: tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens received, reasoning included.
    pub output_tokens: Option<u64>,
    /// Tokens of hidden reasoning, part of `output_tokens`.
    pub reasoning_tokens: Option<u64>,
    /// Tokens read from the provider's cache, part of `input_tokens`.
    pub cached_tokens: Option<u64>,
}

/// An upper estimate of the tokens in a text of `bytes` bytes.
pub const fn tokens_in(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}
