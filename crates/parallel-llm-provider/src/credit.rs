//! What may still be spent with a key, as a router's `GET /key` says.

use parallel_llm_engine::{Code, Failure, PicoUsd};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::loose;

/// The state of a key. Neither its label nor its hash is kept: both tell part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// What the key may still spend; `None` where it has no limit of its own.
    pub remaining: Option<PicoUsd>,
    /// What it has spent in all.
    pub spent: Option<PicoUsd>,
    /// Whether the account has never paid, which bounds its free requests.
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
    is_free_tier: Option<&'a RawValue>,
}

impl Credit {
    /// Reads the document.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Failure> {
        let envelope: Option<Envelope<'_>> = serde_json::from_slice(body.trim_ascii()).ok();
        // A list would be read as fields in their order.
        let data = envelope.map(|it| it.data).filter(|data| data.get().starts_with('{'));
        let data: Option<Key<'_>> = data.and_then(|data| serde_json::from_str(data.get()).ok());
        let data =
            data.ok_or_else(|| Failure::new(Code::Protocol, "the state of the key cannot be understood"))?;
        Ok(Self {
            remaining: loose::usd(data.limit_remaining),
            spent: loose::usd(data.usage),
            is_free_tier: data.is_free_tier.is_some_and(|raw| raw.get() == "true"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_what_is_left_of_it() {
        let read = |body: &str| Credit::read(body.as_bytes());
        let credit = read(
            r#"{"data":{"label":"sk-or-v1-au7...890","limit_remaining":7.5,"usage":2.5,"is_free_tier":true}}"#,
        );
        let [remaining, spent] = ["7.5", "2.5"].map(PicoUsd::from_decimal);
        assert_eq!(credit, Ok(Credit { remaining, spent, is_free_tier: true }));
        let unlimited = Credit { remaining: None, spent: None, is_free_tier: false };
        assert_eq!(read(r#"{"data":{"limit_remaining":null}}"#), Ok(unlimited));
        for strange in ["<html>", r#"{"data":[]}"#, r#"{"data":7}"#] {
            assert_eq!(read(strange).unwrap_err().code, Code::Protocol, "{strange}");
        }
    }
}
