//! A signed token in its three Base64 parts (RFC 7515, compact form).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The number of parts: header, payload and signature.
pub(super) const PARTS: usize = 3;
/// The longest token, in bytes: HTTP servers accept no longer headers either.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// The accepted signature algorithms. Unsigned tokens and shared secrets are not accepted.
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

    /// The algorithm of this name.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, algorithm)| algorithm)
    }
}

/// A token in parts, not yet verified.
pub(super) struct Jws<'a> {
    pub(super) algorithm: Algorithm,
    /// The id of the key that it names.
    pub(super) kid: Option<String>,
    payload: Vec<u8>,
    signed: &'a [u8],
    signature: Vec<u8>,
}

/// The header fields that are read. Keys and key addresses in a header are ignored: an attacker could put his own
/// there.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
}

impl<'a> Jws<'a> {
    /// Splits and decodes a token; the error says why it is not one.
    pub(super) fn read(token: &'a str) -> Result<Self, &'static str> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err("it is too long");
        }
        let (signed, signature) = token.rsplit_once('.').ok_or("it is not a signed token")?;
        let (header, payload) = signed.split_once('.').ok_or("it is not a signed token")?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| "it is not Base64");
        let header: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| "its header cannot be read")?;
        if header.crit.is_some() {
            return Err("it requires an extension that is not supported here");
        }
        let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
        if !matches!(kind.as_deref(), None | Some("jwt" | "at+jwt" | "application/at+jwt")) {
            return Err("it is not an access token");
        }
        let algorithm = Algorithm::by_name(&header.alg).ok_or("its signature algorithm is not accepted")?;
        Ok(Self {
            algorithm,
            kid: header.kid,
            payload: decode(payload)?,
            signed: signed.as_bytes(),
            signature: decode(signature)?,
        })
    }

    /// The signed bytes and the signature.
    pub(super) fn signed(&self) -> (&[u8], &[u8]) {
        (self.signed, &self.signature)
    }

    /// The claims, as JSON.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }
}
