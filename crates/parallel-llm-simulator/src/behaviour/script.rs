//! Scripts: how a model behaves, and the fault it plays.
//!
//! Plain values, readable as JSON. Latencies are given before scaling by `time_scale`.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::fault::{Fault, UnknownFault};

/// How the requests to a model, or one request, are answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The behaviour of a healthy answer, and of a broken one until it breaks. `None`: the simulator's default.
    pub behaviour: Option<Behaviour>,
    /// The fault, if any.
    pub fault: Option<Fault>,
    /// Only the first so many requests play the fault; later ones are answered.
    pub fail_first: Option<u32>,
    /// The probability of the fault per request, from 0 to 1, drawn from the seed and the number of the request.
    /// `None`: always.
    pub fail_probability: Option<f64>,
    /// The `Retry-After` header of a refusal, in place of the fault's own.
    pub retry_after: Option<String>,
    /// Tokens sent before a stream breaks. `None`: [`AFTER_TOKENS`].
    pub after_tokens: Option<u32>,
}

/// Tokens sent before a stream breaks by default: enough for a visible partial answer.
pub const AFTER_TOKENS: u32 = 12;

impl Script {
    /// A script that plays this fault on every request.
    pub fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// A script that answers with this behaviour.
    pub fn behaving(behaviour: Behaviour) -> Self {
        Self { behaviour: Some(behaviour), ..Self::default() }
    }

    /// A script that answers with this text, at once.
    pub fn answering(text: &str) -> Self {
        Self::behaving(Behaviour { answer: Answer::Fixed(text.to_owned()), ..Behaviour::instant() })
    }

    /// Limits the fault to the first `count` requests.
    #[must_use]
    pub fn fail_first(self, count: u32) -> Self {
        Self { fail_first: Some(count), ..self }
    }

    /// Plays the fault with this probability per request.
    #[must_use]
    pub fn fail_probability(self, probability: f64) -> Self {
        Self { fail_probability: Some(probability), ..self }
    }

    /// Sends this `Retry-After` in place of the fault's own.
    #[must_use]
    pub fn retry_after(self, value: &str) -> Self {
        Self { retry_after: Some(value.to_owned()), ..self }
    }

    /// Breaks a stream after this many tokens.
    #[must_use]
    pub fn after_tokens(self, tokens: u32) -> Self {
        Self { after_tokens: Some(tokens), ..self }
    }
}

/// Parses a scenario of the header `X-Sim-Scenario`: a fault's name, or `name(n)` to fail only the first `n` requests.
impl FromStr for Script {
    type Err = UnknownFault;

    fn from_str(scenario: &str) -> Result<Self, UnknownFault> {
        let counted = scenario.strip_suffix(')').and_then(|rest| rest.split_once('('));
        let Some((name, count)) = counted else {
            return scenario.parse().map(Self::fault);
        };
        let count = count.parse().map_err(|_| UnknownFault(scenario.to_owned()))?;
        Ok(Self::fault(name.parse()?).fail_first(count))
    }
}

/// How a healthy model answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// Time until the first token.
    pub ttft_ms: Latency,
    /// Speed after the first token; 0 sends everything at once.
    pub tokens_per_s: u32,
    /// Speed when the request fuses candidates; 0 means `tokens_per_s`.
    pub synthesis_tokens_per_s: u32,
    /// The text of the answer.
    pub answer: Answer,
    /// Reasoning tokens before the answer, billed as completion tokens.
    pub reasoning_tokens: u32,
    /// Tokens in one SSE event.
    pub chunk_tokens: u32,
    /// Milliseconds between keep-alive comments (padding in a body that is not streamed) until the first token; 0 sends
    /// none.
    pub comment_every_ms: u64,
    /// Whether the reply appends a date to the model's name.
    pub dated_slug: bool,
}

/// A latency `mean ± jitter`, uniform, drawn from the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Latency {
    pub mean: u64,
    /// Milliseconds to either side, at most `mean`.
    pub jitter: u64,
}

impl Latency {
    /// A fixed latency.
    pub fn of(ms: u64) -> Self {
        Self { mean: ms, jitter: 0 }
    }
}

/// The text of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A plausible text about the question, different for each model; fuses candidates if the prompt holds some.
    #[default]
    Plausible,
    /// The question, verbatim.
    Echo,
    /// This text.
    Fixed(String),
}

impl Default for Behaviour {
    /// A model of ordinary speed.
    fn default() -> Self {
        Self {
            ttft_ms: Latency { mean: 400, jitter: 150 },
            tokens_per_s: 120,
            synthesis_tokens_per_s: 0,
            answer: Answer::Plausible,
            reasoning_tokens: 0,
            chunk_tokens: 4,
            comment_every_ms: 600,
            dated_slug: false,
        }
    }
}

impl Behaviour {
    /// No latency, and few large events: for tests and for measuring the client.
    pub fn instant() -> Self {
        Self { ttft_ms: Latency::default(), tokens_per_s: 0, chunk_tokens: 16, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_read_as_scripts() {
        assert_eq!("stall".parse(), Ok(Script::fault(Fault::Stall)));
        assert_eq!("server_500(2)".parse(), Ok(Script::fault(Fault::Server500).fail_first(2)));
        for wrong in ["", "stal", "stall()", "stall(-1)", "stall(1"] {
            assert!(wrong.parse::<Script>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_script_of_one_field_is_enough() {
        let script: Script = serde_json::from_str(r#"{"fault":"stall","after_tokens":3}"#).unwrap();
        assert_eq!(script, Script::fault(Fault::Stall).after_tokens(3));
        assert!(serde_json::from_str::<Script>(r#"{"falt":"stall"}"#).is_err());
    }
}
