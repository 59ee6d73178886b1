//! Google's own protocol, `POST models/{model}:streamGenerateContent`.
//!
//! The model is part of the address, options are in `generationConfig`, every event is a complete response with the
//! usage so far, and the stream has no end marker. A filter is reported in `promptFeedback` or as the finish reason.

mod request;
mod response;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::{Attachment, Effort, Message, Part, Role, Usage};
use serde_json::json;
use serde_json::value::RawValue;

use self::request::{GeminiContent, GeminiRequest, GenerationConfig, InlineData, ThinkingConfig};
use self::response::{Candidate, GeminiUsage, Response};
use super::piece::{Declined, Piece, Spent};
use super::protocol::{Address, Codec};
use crate::providers::dialect::Dialect;
use crate::wire::error::ErrorBody;
use crate::wire::loose;

/// The finish reasons that mean a filter.
const FILTERS: [&str; 9] = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "LANGUAGE",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "MODEL_ARMOR",
];

/// Google's protocol.
#[derive(Debug)]
pub(super) struct Gemini;

impl Codec for Gemini {
    /// A name with a slash is a whole path, as for tuned models.
    fn address(&self, model: &str) -> Address {
        let path =
            if model.contains('/') { Cow::Borrowed(model) } else { Cow::Owned(format!("models/{model}")) };
        Address { query: Some("alt=sse".into()), ..Address::path(&format!("{path}:streamGenerateContent")) }
    }

    /// The largest page; the default has 50 models.
    fn models_query(&self) -> Option<&'static str> {
        Some("pageSize=1000")
    }

    fn optional_fields(&self) -> &'static [&'static str] {
        &["temperature", "thinkingConfig", "thinkingLevel", "thinkingBudget", "thinking"]
    }

    fn body(&self, call: &Call, dialect: &Dialect) -> Vec<u8> {
        let may = |field: &str| !call.without.iter().any(|without| without == field);
        let may_think = !call.without.iter().any(|without| without.starts_with("thinking"));
        let instructions: Vec<_> =
            call.messages.iter().filter(|message| message.role == Role::System).flat_map(parts).collect();
        let temperature = call.temperature.filter(|_| may("temperature"));
        let request = GeminiRequest {
            contents: call.messages.iter().filter_map(translated).collect(),
            system_instruction: (!instructions.is_empty())
                .then_some(GeminiContent { role: None, parts: instructions }),
            generation_config: GenerationConfig {
                max_output_tokens: call.max_tokens,
                temperature: temperature.map(|wanted| wanted.min(dialect.temperature_max)),
                thinking_config: call.effort.filter(|_| may_think).map(thinking),
            },
        };
        serde_json::to_vec(&request).expect("a request is text, numbers and flags under fixed names")
    }

    fn may_end_silently(&self) -> bool {
        true
    }

    fn read<'a>(&self, json: &'a str, _whole: bool) -> serde_json::Result<Piece<'a>> {
        let response: Response<'a> = serde_json::from_str(json)?;
        let mut piece = Piece {
            has_content: response.candidates.is_some() || response.prompt_feedback.is_some(),
            id: loose::text_of(response.id),
            model: loose::text_of(response.model_version),
            spent: response.usage_metadata.map(spent),
            ..Piece::default()
        };
        let candidates: Vec<Candidate<'a>> = loose::part(response.candidates);
        if let Some(candidate) = candidates.into_iter().next() {
            read_candidate(&candidate, &mut piece);
        }
        let feedback: response::Feedback<'a> = loose::part(response.prompt_feedback);
        if loose::holds_any(response.error) {
            piece.error = Some(ErrorBody::of(loose::part(response.error)));
        } else if let Some(reason) = loose::text_of(feedback.block_reason) {
            let message = format!("the question was blocked: {reason}");
            piece.error = Some(ErrorBody::of(json!({ "code": "content_filter", "message": message })));
        }
        Ok(piece)
    }
}

fn read_candidate<'a>(candidate: &Candidate<'a>, piece: &mut Piece<'a>) {
    let content: response::CandidateContent<'a> = loose::part(candidate.content);
    for part in loose::part::<Vec<response::CandidatePart<'a>>>(content.parts) {
        let Some(text) = loose::text_of(part.text).filter(|text| !text.is_empty()) else { continue };
        if part.thought.is_some_and(|thought| thought.get() == "true") {
            piece.reasoning = true;
        } else if piece.text.is_empty() {
            piece.text = text;
        } else {
            piece.text.to_mut().push_str(&text);
        }
    }
    let Some(reason) = loose::text_of(candidate.finish_reason) else { return };
    piece.finish = match &*reason {
        "" | "FINISH_REASON_UNSPECIFIED" => return,
        "STOP" => Some(Cow::Borrowed("stop")),
        "MAX_TOKENS" => Some(Cow::Borrowed("length")),
        // The protocol's catch-all reason; the text is incomplete.
        "OTHER" => {
            piece.error =
                Some(ErrorBody::of(json!({ "message": "the model stopped for a reason it does not name" })));
            Some(reason)
        }
        filter if FILTERS.contains(&filter) => {
            piece.declined = Some(Declined::Filter);
            Some(reason)
        }
        _ => Some(reason),
    };
}

/// Thoughts are billed like the answer but counted separately.
fn spent(usage: &RawValue) -> Spent {
    let usage: GeminiUsage<'_> = loose::part(Some(usage));
    let [answer, thoughts] = [usage.answer, usage.thoughts].map(loose::count);
    let usage = Usage {
        input_tokens: loose::count(usage.prompt),
        output_tokens: match (answer, thoughts) {
            (None, None) => None,
            (answer, thoughts) => Some(answer.unwrap_or(0).saturating_add(thoughts.unwrap_or(0))),
        },
        reasoning_tokens: thoughts,
        cached_tokens: loose::count(usage.cached),
    };
    Spent { usage, cost: None }
}

/// The protocol has three levels, and a budget of 0 for no thinking at all.
const fn thinking(effort: Effort) -> ThinkingConfig {
    match effort {
        Effort::None => ThinkingConfig::Budget { thinking_budget: 0 },
        Effort::Minimal | Effort::Low => ThinkingConfig::Level { thinking_level: "low" },
        Effort::Medium => ThinkingConfig::Level { thinking_level: "medium" },
        Effort::High | Effort::Xhigh | Effort::Max => ThinkingConfig::Level { thinking_level: "high" },
    }
}

fn translated(message: &Message) -> Option<GeminiContent<'_>> {
    let role = match message.role {
        Role::System => return None,
        Role::User => "user",
        Role::Assistant => "model",
    };
    Some(GeminiContent { role: Some(role), parts: parts(message).collect() })
}

fn parts(message: &Message) -> impl Iterator<Item = request::GeminiPart<'_>> {
    message.parts.iter().map(|part| match part {
        Part::Text { text } => request::GeminiPart::Text(text),
        Part::File(Attachment { media_type, base64, .. }) => {
            request::GeminiPart::InlineData(InlineData { mime_type: media_type, data: base64 })
        }
    })
}
