//! What a token says of itself, checked against what is expected of it. Pure: the time is told.

use serde::Deserialize;

use crate::access::{Grant, Scope};
use parallel_llm_settings::settings::IssuerSettings;

/// How far the issuer's clock may be from ours, in seconds.
const LEEWAY_S: f64 = 60.0;
/// The longest name of somebody that is taken, in bytes.
const SUBJECT_BYTES_MAX: usize = 255;

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Words,
    exp: f64,
    nbf: Option<f64>,
    scope: Option<Words>,
    scp: Option<Words>,
}

/// One text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Words {
    /// Each text.
    fn all(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Several(words) => words,
        }
    }

    /// Each word of each text.
    fn split(&self) -> impl Iterator<Item = &str> {
        self.all().iter().flat_map(|text| text.split_ascii_whitespace())
    }
}

/// What claims whose signature was checked grant, or why nothing.
pub(super) fn grant(claims: &[u8], terms: &IssuerSettings, now_s: u64) -> Result<Grant, &'static str> {
    let claims: Claims = serde_json::from_slice(claims).map_err(|_| "its claims cannot be read")?;
    let now_s = now_s as f64;
    if claims.iss != terms.address {
        return Err("it is of another issuer");
    }
    if !claims.aud.all().contains(&terms.audience) {
        return Err("it is for another server");
    }
    if now_s >= claims.exp + LEEWAY_S {
        return Err("it is over");
    }
    if claims.nbf.is_some_and(|from| now_s < from - LEEWAY_S) {
        return Err("it is not yet good");
    }
    if claims.sub.trim().is_empty() || claims.sub.len() > SUBJECT_BYTES_MAX {
        return Err("it names nobody");
    }
    let words = claims.scope.iter().chain(&claims.scp).flat_map(Words::split);
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
