//! The result of a call: an [`Answer`], or a [`Failure`] that says why there is none.
//!
//! A failure of a model is a fact of the run, not an exception: it is recorded, counted and shown.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::value::code::Code;
use crate::value::id::RunId;
pub use crate::value::invisible::steers;
use crate::value::money::PicoUsd;
use crate::value::next::{self, Next};
use crate::value::usage::Usage;

/// The longest message of a failure, in characters. Providers send whole pages.
const MESSAGE_CHARS_MAX: usize = 600;
/// The most causes a failure keeps. An HTTP client wraps a system error five times.
const CAUSES_MAX: usize = 8;

/// The least length of a cut answer that is fused, in bytes. Bytes, because a script with fewer characters per word has
/// more bytes per character, and because the length in bytes is known even if the text is not kept.
const CUT_USABLE_BYTES: u64 = 200;

/// Whether a text of this length can be used: it is whole, or long enough although it was cut.
pub const fn is_long_enough(is_whole: bool, text_bytes: u64) -> bool {
    is_whole || text_bytes >= CUT_USABLE_BYTES
}

/// Why a model stopped writing, in the word of the provider's protocol. Providers add words without notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The answer is complete.
    Stop,
    /// It reached the output cap.
    Length,
    /// Any other word of the protocol, kept as it was.
    Other(String),
}

impl Finish {
    /// Reads the protocol's word.
    pub fn from_protocol(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Whether the model ended by itself, in the words of those that do not say `stop`.
    pub fn is_own(&self) -> bool {
        matches!(self.as_str(), "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token")
    }

    /// The protocol's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Other(word) => word,
        }
    }
}

/// The text of a model, and what the provider reported about it.
///
/// A stored event holds only the hash of the text; the journal keeps texts in a table of their own. So texts can be left
/// out or purged without breaking the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The text, exactly as it came. Empty if the store kept only the metadata.
    #[serde(skip, default = "no_text")]
    pub text: Arc<str>,
    /// The answer line as it came, without its line break, if the seat was asked for one. It is not part of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Arc<str>>,
    /// Length of the text in bytes.
    pub text_bytes: u64,
    /// BLAKE3 of the text, in hexadecimal.
    pub text_hash: String,
    /// Why the model stopped; `None` if the text was cut before the provider reported it.
    pub finish: Option<Finish>,
    /// The token counts the provider reported.
    pub usage: Usage,
    /// The cost of the call; `None` if it is unknown.
    pub cost: Option<PicoUsd>,
    /// Whether `cost` was computed from the catalogue's prices instead of reported by the provider.
    #[serde(default)]
    pub cost_is_estimate: bool,
    /// The model that answered, if the provider named it.
    pub served_model: Option<String>,
    /// The provider's id of the call, by which its cost can be looked up later.
    pub generation_id: Option<String>,
    /// From sending to the head of the reply, in milliseconds: connecting, the way there and back, and the wait of the
    /// provider. `None` if it did not come, or in runs from before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_ms: Option<u64>,
    /// From sending to the first piece of text or reasoning, in milliseconds.
    pub first_token_ms: Option<u64>,
    /// From sending to the first piece of text, in milliseconds; before that the model was reasoning. `None` as for
    /// `connected_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_text_ms: Option<u64>,
    /// From sending to the end, in milliseconds.
    pub elapsed_ms: u64,
}

/// The text of an answer that is read without one.
fn no_text() -> Arc<str> {
    Arc::from("")
}

impl Answer {
    /// An answer with this text and nothing else.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self {
            text_bytes: text.len() as u64,
            text_hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
            text,
            line: None,
            finish: None,
            usage: Usage::default(),
            cost: None,
            cost_is_estimate: false,
            served_model: None,
            generation_id: None,
            connected_ms: None,
            first_token_ms: None,
            first_text_ms: None,
            elapsed_ms: 0,
        }
    }

    /// Whether it can be used: see [`is_long_enough`].
    pub const fn is_usable(&self, is_whole: bool) -> bool {
        is_long_enough(is_whole, self.text_bytes)
    }

    /// Whether the model was stopped by its output cap.
    pub fn truncated(&self) -> bool {
        self.finish == Some(Finish::Length)
    }
}

/// Why there is no answer, or why it stopped early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of failure. Programs branch on it, never on the message.
    pub code: Code,
    /// What happened, for people: one plain sentence, free of secrets and control characters.
    pub message: String,
    /// Steps to choose from; empty if those of the code apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::value::next::stored")]
    pub next: Vec<Next>,
    /// Whether the engine may try the call again by itself.
    #[serde(default)]
    pub retryable: bool,
    /// How long the provider asked to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// An optional request field the provider rejected; the call may be retried without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected_field: Option<String>,
    /// The HTTP status, if there was a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether no byte of the request can have reached the provider, so that it cannot cost anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
    /// The run the failure is about, if that is not the run the reader asked for. Boxed, because it is rare and every
    /// `Result` has room for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Box<RunId>>,
    /// The messages of its causes, outermost first; free of secrets like the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<Box<[String]>>,
}

impl Failure {
    /// Whether both say the same, so that the reason need not be repeated.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.code == other.code && self.message == other.message
    }

    /// A failure that may be retried if its code usually may.
    pub fn new(code: Code, message: impl AsRef<str>) -> Self {
        Self {
            code,
            message: printable(message.as_ref()),
            next: Vec::new(),
            retryable: code.retryable(),
            retry_after_ms: None,
            rejected_field: None,
            status: None,
            unsent: false,
            run_id: None,
            causes: None,
        }
    }

    /// Sets its causes, outermost first. A cause with the same message as the one before is left out.
    #[must_use]
    pub fn with_causes(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        let mut kept: Vec<String> =
            causes.into_iter().take(CAUSES_MAX).map(|cause| printable(&cause)).collect();
        kept.dedup();
        self.causes = (!kept.is_empty()).then(|| kept.into());
        self
    }

    /// The messages of its causes, outermost first.
    pub fn causes(&self) -> &[String] {
        self.causes.as_deref().unwrap_or_default()
    }

    /// Marks that no byte of the request has left.
    #[must_use]
    pub const fn never_sent(mut self) -> Self {
        self.unsent = true;
        self
    }

    /// Whether the provider refused the request before doing any work for it. A gateway's time-out is no refusal, because
    /// the model behind the gateway may have run.
    pub fn is_refusal(&self) -> bool {
        self.status.is_some_and(|status| status >= 400 && !matches!(status, 408 | 504 | 520..=524))
    }

    /// Replaces the next steps of the code.
    #[must_use]
    pub fn with_next(mut self, next: impl Into<Vec<Next>>) -> Self {
        self.next = next.into();
        self
    }

    /// Sets the run it is about.
    #[must_use]
    pub fn with_run(mut self, run_id: RunId) -> Self {
        self.run_id = Some(Box::new(run_id));
        self
    }

    /// Sets the HTTP status it came with.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the wait the provider asked for.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets whether the engine may try again, if it differs from the code.
    #[must_use]
    pub const fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// The steps to choose from.
    pub fn next_steps(&self) -> &[Next] {
        if self.next.is_empty() { self.code.next() } else { &self.next }
    }

    /// The next steps as one sentence, without the names of any door.
    pub fn next_step(&self) -> String {
        next::render(self.next_steps(), &next::PLAIN)
    }
}

/// Models and why each has no answer, with models of the same reason together: `a, b: no credit; c: it declined`.
pub fn by_reason<Model: ToString>(reasons: impl IntoIterator<Item = (Model, impl AsRef<str>)>) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (model, reason) in reasons {
        let (model, reason) = (model.to_string(), reason.as_ref());
        match groups.iter_mut().find(|(known, _)| known == reason) {
            Some((_, models)) if models.contains(&model) => {}
            Some((_, models)) => models.push(model),
            None => groups.push((reason.to_owned(), vec![model])),
        }
    }
    let groups: Vec<String> =
        groups.iter().map(|(reason, models)| format!("{}: {reason}", models.join(", "))).collect();
    groups.join("; ")
}

/// One line of at most [`MESSAGE_CHARS_MAX`] characters without control characters, so that foreign text cannot control a
/// terminal or forge a log line.
fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MESSAGE_CHARS_MAX));
    for (count, character) in text.trim().chars().enumerate() {
        if count == MESSAGE_CHARS_MAX {
            line.push('…');
            break;
        }
        line.push(if steers(character) { ' ' } else { character });
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_message_becomes_one_bounded_line() {
        let failure = Failure::new(Code::Upstream, format!(" \x1b[2Jboom\n\u{202e}{}", "x".repeat(1000)));
        assert!(failure.message.starts_with(" [2Jboom  xxx") || failure.message.starts_with("[2Jboom"));
        assert_eq!(failure.message.chars().count(), MESSAGE_CHARS_MAX + 1);
        assert!(!failure.message.chars().any(char::is_control));
    }
}
