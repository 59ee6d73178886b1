//! Public keys as issuers publish them (RFC 7517).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

use super::jws::{Algorithm, Jws};

/// The most keys used of one issuer: each may have to be tried.
const KEYS_MAX: usize = 64;
/// The first byte of an uncompressed elliptic-curve point.
const UNCOMPRESSED: u8 = 4;

/// A public key of an issuer.
#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    kid: Option<String>,
    /// The only algorithm it is for, if its issuer names one.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The usable keys of a document; `None` if it is not a key set.
pub(super) fn read_all(document: &[u8]) -> Option<Vec<PublicKey>> {
    let set: KeySet = serde_json::from_slice(document).ok()?;
    let keys = set.keys.into_iter().filter_map(|key| read(serde_json::from_value(key).ok()?));
    Some(keys.take(KEYS_MAX).collect())
}

fn read(jwk: Jwk) -> Option<PublicKey> {
    if jwk.purpose.is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let algorithm = match &jwk.alg {
        // A key for an algorithm that is not accepted is skipped.
        Some(word) => Some(Algorithm::by_name(word)?),
        None => None,
    };
    let number = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
    let point = || Some([vec![UNCOMPRESSED], number(&jwk.x)?, number(&jwk.y)?].concat());
    let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => Material::Rsa { n: number(&jwk.n)?, e: number(&jwk.e)? },
        ("EC", Some("P-256")) => Material::P256(point()?),
        ("EC", Some("P-384")) => Material::P384(point()?),
        ("OKP", Some("Ed25519")) => Material::Ed25519(number(&jwk.x)?),
        _ => return None,
    };
    Some(PublicKey { kid: jwk.kid, algorithm, material })
}

impl PublicKey {
    /// Whether the key may have signed the token, by key id and algorithm.
    pub(super) fn fits(&self, jws: &Jws<'_>) -> bool {
        let is_named = jws.kid.is_none() || self.kid == jws.kid;
        let is_for_it = self.algorithm.is_none_or(|algorithm| algorithm == jws.algorithm);
        is_named && is_for_it && self.material.can(jws.algorithm)
    }

    /// Whether the key signed the token.
    pub(super) fn verify(&self, jws: &Jws<'_>) -> bool {
        let (signed, signature) = jws.signed();
        let plain = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(signed, signature).is_ok()
        };
        match &self.material {
            Material::Rsa { n, e } => {
                let rule = match jws.algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(rule, signed, signature).is_ok()
            }
            Material::P256(point) => plain(&ECDSA_P256_SHA256_FIXED, point),
            Material::P384(point) => plain(&ECDSA_P384_SHA384_FIXED, point),
            Material::Ed25519(key) => plain(&ED25519, key),
        }
    }
}

impl Material {
    const fn can(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                | (Self::P256(_), Algorithm::Es256)
                | (Self::P384(_), Algorithm::Es384)
                | (Self::Ed25519(_), Algorithm::EdDsa)
        )
    }
}
