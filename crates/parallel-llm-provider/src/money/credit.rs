//! What may still be spent with a key, as a router's `GET /key` reports it.

use parallel_llm_engine::{Code, Failure, PicoUsd};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::models;
use crate::wire::loose;

/// How often a limit can reset.
const RESETS: [&str; 3] = ["daily", "weekly", "monthly"];

/// The state of a key. Neither its label nor its hash is kept, because both reveal part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// What may still be spent; `None` if the key has no limit of its own.
    pub remaining: Option<PicoUsd>,
    /// What it has spent in total.
    pub spent: Option<PicoUsd>,
    /// What it may spend in total, or between two resets; `None` if it has no limit of its own.
    pub limit: Option<PicoUsd>,
    /// How often the limit resets: `daily`, `weekly` or `monthly`; `None` if it does not.
    pub resets: Option<&'static str>,
    /// The last day on which it can be used, `YYYY-MM-DD` in UTC; `None` if it does not expire.
    pub expires_on: Option<String>,
    /// Whether the account has never paid, which limits its free requests.
    pub is_free_tier: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Key<'a> {
    #[serde(borrow)]
    limit_remaining: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    limit: Option<&'a RawValue>,
    #[serde(borrow)]
    limit_reset: Option<&'a RawValue>,
    #[serde(borrow)]
    expires_at: Option<&'a RawValue>,
    #[serde(borrow)]
    is_free_tier: Option<&'a RawValue>,
}

impl Credit {
    /// Reads the document.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Failure> {
        let envelope: Option<Envelope<'_>> = serde_json::from_slice(body.trim_ascii()).ok();
        // A list would be read as fields in order.
        let data = envelope.map(|it| it.data).filter(|data| data.get().starts_with('{'));
        let data: Option<Key<'_>> = data.and_then(|data| serde_json::from_str(data.get()).ok());
        let data =
            data.ok_or_else(|| Failure::new(Code::Protocol, "the state of the key cannot be understood"))?;
        Ok(Self {
            remaining: loose::usd(data.limit_remaining),
            spent: loose::usd(data.usage),
            limit: loose::usd(data.limit),
            resets: loose::text_of(data.limit_reset)
                .and_then(|word| RESETS.into_iter().find(|own| *own == word)),
            expires_on: loose::text_of(data.expires_at).and_then(|date| models::day(&date)),
            is_free_tier: data.is_free_tier.is_some_and(|raw| raw.get() == "true"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_document_has_the_remaining_credit() {
        let read = |body: &str| Credit::read(body.as_bytes());
        let credit = read(
            r#"{"data":{"label":"sk-or-v1-au7...890","limit":10,"limit_remaining":7.5,"limit_reset":"monthly","usage":2.5,
                "is_free_tier":true,"expires_at":"2027-12-31T23:59:59Z"}}"#,
        );
        let [limit, remaining, spent] = ["10", "7.5", "2.5"].map(PicoUsd::from_decimal);
        let expires_on = Some("2027-12-31".to_owned());
        let whole =
            Credit { remaining, spent, limit, resets: Some("monthly"), expires_on, is_free_tier: true };
        assert_eq!(credit, Ok(whole));
        for unlimited in [
            r#"{"data":{"limit_remaining":null}}"#,
            r#"{"data":{"limit":null,"limit_reset":"hourly","expires_at":"soon"}}"#,
            r#"{"data":{"limit":[],"limit_reset":7,"expires_at":7}}"#,
        ] {
            assert_eq!(read(unlimited), Ok(Credit::default()), "{unlimited}");
        }
        for strange in ["<html>", r#"{"data":[]}"#, r#"{"data":7}"#] {
            assert_eq!(read(strange).unwrap_err().code, Code::Protocol, "{strange}");
        }
    }
}
