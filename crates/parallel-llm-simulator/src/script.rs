//! What a model is told to do: how it behaves when well, and the fault it plays.
//!
//! Plain values, readable as JSON; nothing here acts. Latencies are before scaling by `time_scale`.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, UnknownFault};

/// How a model, or one request, is answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// How a healthy answer looks; also what a broken answer looks like until it breaks.
    /// `None` keeps the simulator's own default.
    pub behaviour: Option<Behaviour>,
    /// What goes wrong, if anything.
    pub fault: Option<Fault>,
    /// Only the first so many requests meet the fault; later ones are answered.
    pub fail_first: Option<u32>,
    /// How likely a request meets the fault, from 0 to 1; drawn from the seed for the script's first request, its
    /// second, and so on. `None`: always.
    pub fail_probability: Option<f64>,
    /// The `Retry-After` header of a fault that refuses, instead of its own.
    pub retry_after: Option<String>,
    /// How many tokens leave before a stream breaks. Default: [`AFTER_TOKENS`].
    pub after_tokens: Option<u32>,
}

/// Tokens sent before a stream breaks, if the script does not say: enough to be a visible partial answer.
pub const AFTER_TOKENS: u32 = 12;

impl Script {
    /// A script that meets this fault on every request.
    pub fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// A script that answers, in this way.
    pub fn behaving(behaviour: Behaviour) -> Self {
        Self { behaviour: Some(behaviour), ..Self::default() }
    }

    /// A script that answers with exactly this text.
    pub fn answering(text: &str) -> Self {
        Self::behaving(Behaviour { answer: Answer::Fixed(text.to_owned()), ..Behaviour::instant() })
    }

    /// Lets only the first `count` requests fail.
    #[must_use]
    pub fn fail_first(self, count: u32) -> Self {
        Self { fail_first: Some(count), ..self }
    }

    /// Lets each request fail with this probability.
    #[must_use]
    pub fn fail_probability(self, probability: f64) -> Self {
        Self { fail_probability: Some(probability), ..self }
    }

    /// Sends this `Retry-After` instead of the fault's own.
    #[must_use]
    pub fn retry_after(self, value: &str) -> Self {
        Self { retry_after: Some(value.to_owned()), ..self }
    }

    /// Breaks after this many tokens.
    #[must_use]
    pub fn after_tokens(self, tokens: u32) -> Self {
        Self { after_tokens: Some(tokens), ..self }
    }
}

/// Reads a scenario as the header `X-Sim-Scenario` has it: a fault's name, or `name(n)` to fail only the first
/// `n` requests.
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
    /// Speed when the request asks to fuse candidates; 0 means `tokens_per_s`.
    pub synthesis_tokens_per_s: u32,
    /// What the answer says.
    pub answer: Answer,
    /// Tokens of reasoning before the answer; they are billed as completion.
    pub reasoning_tokens: u32,
    /// Tokens in one SSE event.
    pub chunk_tokens: u32,
    /// Milliseconds between keep-alive comments (padding in a body that is not streamed) until the first token; 0 sends
    /// none.
    pub comment_every_ms: u64,
    /// Whether the reply names the model with a date appended.
    pub dated_slug: bool,
}

/// A latency: `mean ± jitter`, uniform; drawn from the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Latency {
    /// Milliseconds in the middle of the range.
    pub mean: u64,
    /// Milliseconds to either side, at most `mean`.
    pub jitter: u64,
}

impl Latency {
    /// Always so many milliseconds.
    pub fn of(ms: u64) -> Self {
        Self { mean: ms, jitter: 0 }
    }
}

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A sensible text on the question, different for each model; fuses candidates when given some.
    #[default]
    Plausible,
    /// The question, word for word.
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
    /// No latency at all and few, large events: for tests and for measuring something else.
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
