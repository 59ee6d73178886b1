//! A seat of the panel in a run report.

use std::sync::Arc;

use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::{Answer, PicoUsd, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use super::ErrorReport;

/// One seat of the panel.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeatReport {
    /// The seat, counted from 1.
    pub seat: u8,
    /// The model that was asked.
    pub model: String,
    /// The id of its provider.
    pub provider: String,
    /// The name of the seat's persona; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The side that the seat argues, `for` or `against`; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stance: Option<String>,
    /// The model that answered, as the provider names it.
    pub served_model: Option<String>,
    /// `waiting`, `streaming`, `answered`, `cut`, `failed`, `refused`, `cancelled`, `skipped` or `unknown`.
    pub status: String,
    /// Whether the answer came too late to be considered.
    pub late: bool,
    /// The text, or the text so far; null if there is none or it is left out for its size.
    pub text: Option<Arc<str>>,
    /// The length of the text in bytes, also if the text is left out.
    pub text_bytes: u64,
    /// Why there is no answer, or why it stopped early.
    pub error: Option<ErrorReport>,
    /// Why the model stopped, in the protocol's term.
    pub finish: Option<String>,
    /// Whether the model was stopped by its output cap.
    pub truncated: bool,
    /// The tokens used.
    pub usage: UsageReport,
    /// The cost of all requests of the seat, in USD; null if unknown.
    pub cost_usd: Option<f64>,
    /// Requests sent.
    pub attempts: u32,
    /// Request fields that the provider rejected and that the retry left out.
    pub without: Vec<String>,
    /// The time from sending to the head of the reply, in milliseconds; left out if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected_ms: Option<u64>,
    /// The time from sending to the first text or reasoning, in milliseconds.
    pub first_token_ms: Option<u64>,
    /// The time from sending to the first text, in milliseconds; before that the model was reasoning. Left out if it is
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_text_ms: Option<u64>,
    /// The time from the first request to the end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// The provider's id for the call.
    pub generation_id: Option<String>,
}

/// Token counts as the provider reported them; null if it did not.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct UsageReport {
    /// Tokens sent, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens received, reasoning included.
    pub output_tokens: Option<u64>,
    /// Tokens of hidden reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Tokens read from the provider's cache.
    pub cached_tokens: Option<u64>,
}

impl SeatReport {
    pub(super) fn of(seat: &SeatView, number: u8) -> Self {
        let (answer, persona_prompt) = (seat.answer.as_ref(), seat.persona_prompt.as_deref());
        let text = text_of(seat);
        let stored_bytes = answer.map_or(0, |answer| answer.text_bytes);
        Self {
            seat: number,
            model: seat.model.to_string(),
            provider: seat.model.provider.0.clone(),
            persona: persona_prompt.and_then(|prompt| prompt.persona.clone()),
            stance: persona_prompt.and_then(|prompt| prompt.stance.as_ref()).map(ToString::to_string),
            served_model: answer.and_then(|answer| answer.served_model.clone()),
            status: seat.status.as_str().to_owned(),
            late: seat.late,
            text_bytes: text.as_ref().map_or(stored_bytes, |text| text.len() as u64),
            text,
            error: seat.failure.as_ref().map(ErrorReport::of),
            finish: answer.and_then(|answer| answer.finish.as_ref()).map(|finish| finish.as_str().to_owned()),
            truncated: answer.is_some_and(Answer::truncated),
            usage: answer.map_or_else(UsageReport::default, |answer| UsageReport::of(answer.usage)),
            cost_usd: seat.known_cost().map(PicoUsd::as_usd),
            attempts: seat.attempts,
            without: seat.without.clone(),
            connected_ms: answer.and_then(|answer| answer.connected_ms),
            first_token_ms: answer.and_then(|answer| answer.first_token_ms),
            first_text_ms: answer.and_then(|answer| answer.first_text_ms),
            elapsed_ms: seat.elapsed_ms,
            generation_id: seat.generation_id.clone(),
        }
    }

    /// The model, with persona and stance in brackets.
    pub fn who(&self) -> String {
        let names: Vec<&str> =
            [&self.persona, &self.stance].into_iter().flatten().map(String::as_str).collect();
        if names.is_empty() { self.model.clone() } else { format!("{} ({})", self.model, names.join(", ")) }
    }
}

/// The seat's text, shared with its answer; a text in progress is copied.
fn text_of(seat: &SeatView) -> Option<Arc<str>> {
    let whole = seat.answer.as_ref().map(|answer| &answer.text).filter(|text| !text.is_empty());
    whole.cloned().or_else(|| seat.text().map(Arc::from))
}

impl UsageReport {
    pub(super) const fn of(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cached_tokens: usage.cached_tokens,
        }
    }
}
