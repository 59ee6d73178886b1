//! A signed token as it comes: three parts of Base64 (RFC 7515, compact form).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Header, payload, signature.
pub(super) const PARTS: usize = 3;
/// The longest token, in bytes: HTTP servers take no longer header either.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// How a token may be signed. Nothing that is not signed, and nothing signed with a secret that both sides know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    const ALL: [(&'static str, Self); 6] = [
        ("RS256", Self::Rs256),
        ("PS256", Self::Ps256),
        ("ES256", Self::Es256),
        ("ES384", Self::Es384),
        ("EdDSA", Self::EdDsa),
        ("Ed25519", Self::EdDsa),
    ];

    /// The algorithm of this word.
    pub(super) fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == word).map(|(_, algorithm)| algorithm)
    }
}

/// A token taken apart. Nothing of it is believed yet.
pub(super) struct Jws<'a> {
    pub(super) algorithm: Algorithm,
    /// The key that it names.
    pub(super) kid: Option<String>,
    payload: Vec<u8>,
    signed: &'a [u8],
    signature: Vec<u8>,
}

/// What a header says that matters here. Keys and addresses of keys in it are not even looked at.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
}

impl<'a> Jws<'a> {
    /// Takes a token apart, or says why not.
    pub(super) fn read(token: &'a str) -> Result<Self, &'static str> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err("it is too long");
        }
        let (signed, signature) = token.rsplit_once('.').ok_or("it is no signed token")?;
        let (header, payload) = signed.split_once('.').ok_or("it is no signed token")?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| "it is no Base64");
        let header: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| "its header cannot be read")?;
        if header.crit.is_some() {
            return Err("it asks for what is not understood here");
        }
        let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
        if !matches!(kind.as_deref(), None | Some("jwt" | "at+jwt" | "application/at+jwt")) {
            return Err("it is not a token for access");
        }
        let algorithm = Algorithm::by_word(&header.alg).ok_or("it is not signed in a way that is trusted")?;
        Ok(Self {
            algorithm,
            kid: header.kid,
            payload: decode(payload)?,
            signed: signed.as_bytes(),
            signature: decode(signature)?,
        })
    }

    /// What was signed, and the signature.
    pub(super) fn signed(&self) -> (&[u8], &[u8]) {
        (self.signed, &self.signature)
    }

    /// The claims, as JSON.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }
}
