//! The claims of a token, checked against the issuer's settings. Pure: the caller passes the time.

use serde::Deserialize;

use crate::access::{Grant, Scope};
use parallel_llm_settings::settings::IssuerSettings;

/// The largest difference between the issuer's clock and ours, in seconds.
const LEEWAY_S: f64 = 60.0;
/// The longest accepted subject, in bytes.
const SUBJECT_BYTES_MAX: usize = 255;

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Texts,
    exp: f64,
    nbf: Option<f64>,
    scope: Option<Texts>,
    scp: Option<Texts>,
}

/// A claim of one text or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Texts {
    /// Each text.
    fn all(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(words) => words,
        }
    }

    /// Each word of each text.
    fn split(&self) -> impl Iterator<Item = &str> {
        self.all().iter().flat_map(|text| text.split_ascii_whitespace())
    }
}

/// The grant of claims with a checked signature, or why they are refused.
pub(super) fn grant(claims: &[u8], terms: &IssuerSettings, now_s: u64) -> Result<Grant, &'static str> {
    let claims: Claims = serde_json::from_slice(claims).map_err(|_| "its claims cannot be read")?;
    let now_s = now_s as f64;
    if claims.iss != terms.address {
        return Err("another issuer issued it");
    }
    if !claims.aud.all().contains(&terms.audience) {
        return Err("it is for another server");
    }
    if now_s >= claims.exp + LEEWAY_S {
        return Err("it has expired");
    }
    if claims.nbf.is_some_and(|from| now_s < from - LEEWAY_S) {
        return Err("it is not valid yet");
    }
    if claims.sub.trim().is_empty() || claims.sub.len() > SUBJECT_BYTES_MAX {
        return Err("its subject is empty or too long");
    }
    let words = claims.scope.iter().chain(&claims.scp).flat_map(Texts::split);
    let mut scopes: Vec<Scope> = words.filter_map(Scope::by_word).collect();
    scopes.sort_unstable();
    scopes.dedup();
    Ok(Grant {
        name: format!("{}#{}", claims.iss, claims.sub),
        scopes,
        budget_day: terms.budget_day,
        requests_per_minute: terms.requests_per_minute,
    })
}
