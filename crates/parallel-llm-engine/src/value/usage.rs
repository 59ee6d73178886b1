//! What a call used, as its provider counted it. Unknown is `None`, never zero.

use serde::{Deserialize, Serialize};

/// Bytes of text taken for one token until a provider reports. Real vocabularies lie between three and five
/// for English; three errs on the side of counting too many.
pub const BYTES_PER_TOKEN: u64 = 3;

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

/// An upper estimate of the tokens in a text of so many bytes.
pub const fn tokens_in(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}
