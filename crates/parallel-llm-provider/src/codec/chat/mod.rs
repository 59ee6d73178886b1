//! The chat protocol, `POST chat/completions`, from OpenAI and used by nearly every provider.

mod chunk;
mod request;
#[cfg(test)]
pub(super) mod tests;

use std::borrow::Cow;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::request::routing::{DataCollection, Session};
use parallel_llm_engine::{Attachment, AttachmentKind, Effort, Message, Part, PicoUsd, Role, Routing};

use self::chunk::{Choice, Chunk};
use self::request::{
    ChatContent, ChatPart, ChatRequest, Include, IncludeUsage, ResponseFormat, ThinkingField,
};
use super::piece::{Declined, Piece};
use super::protocol::{Address, Codec};
use crate::providers::dialect::{CapField, Dialect, EffortField, UsageRequest};
use crate::wire::error::ErrorBody;
use crate::wire::loose;

/// The fields that set the effort, under all their names.
const THINKING_FIELDS: [&str; 4] = ["reasoning", "reasoning_effort", "thinking", "think"];

/// The chat protocol.
#[derive(Debug)]
pub(super) struct Chat;

impl Codec for Chat {
    fn address(&self, _model: &str) -> Address {
        Address::path("chat/completions")
    }

    /// Routing is not among them: a private question must not be sent without its routing terms.
    fn optional_fields(&self) -> &'static [&'static str] {
        &[
            "temperature",
            "max_completion_tokens",
            "max_tokens",
            "stream_options",
            "usage",
            "session_id",
            "service_tier",
            "response_format",
            // If any of these is rejected, all fields that set the effort are removed.
            "reasoning",
            "reasoning_effort",
            "thinking",
            "think",
        ]
    }

    fn body(&self, call: &Call, dialect: &Dialect) -> Vec<u8> {
        let may = |field: &str| !call.without.iter().any(|without| without == field);
        let cap_field = cap_field(dialect.cap_field, may);
        let cap = |field| (cap_field == Some(field)).then_some(call.max_tokens);
        let asks = |request, field| dialect.usage_request == request && may(field);
        let mut request = ChatRequest {
            model: &call.model.model,
            messages: call.messages.iter().map(|message| translated(message, dialect)).collect(),
            stream: true,
            max_completion_tokens: cap(CapField::MaxCompletionTokens),
            max_tokens: cap(CapField::MaxTokens),
            temperature: call
                .temperature
                .filter(|_| may("temperature"))
                .map(|wanted| wanted.min(dialect.temperature_max)),
            response_format: (call.json && may("response_format"))
                .then_some(ResponseFormat { kind: "json_object" }),
            usage: asks(UsageRequest::Usage, "usage").then_some(Include { include: true }),
            stream_options: asks(UsageRequest::StreamOptions, "stream_options")
                .then_some(IncludeUsage { include_usage: true }),
            ..ChatRequest::default()
        };
        if let Some(effort) = call.effort.filter(|_| THINKING_FIELDS.into_iter().all(may)) {
            think(&mut request, effort.nearest(dialect.efforts), dialect.effort_field);
        }
        if dialect.routes {
            route(&mut request, call, may);
        }
        serde_json::to_vec(&request).expect("a request is text, numbers and flags under fixed names")
    }

    fn read<'a>(&self, json: &'a str, whole: bool) -> serde_json::Result<Piece<'a>> {
        match Chunk::read(json) {
            Ok(chunk) => Ok(read_chunk(&chunk, json, whole)),
            Err(error) => {
                // A field of the wrong type is dropped; the rest, which was paid for, is used.
                let repaired = chunk::repaired(json).ok_or(error)?;
                let chunk = Chunk::read(&repaired)?;
                Ok(read_chunk(&chunk, &repaired, whole).into_owned())
            }
        }
    }
}

fn read_chunk<'a>(chunk: &Chunk<'a>, json: &str, whole: bool) -> Piece<'a> {
    let mut piece = Piece {
        has_content: chunk.has_content(),
        id: loose::text_of(chunk.id),
        model: loose::text_of(chunk.model),
        spent: chunk.usage(),
        ..Piece::default()
    };
    if let Some(choice) = &chunk.choices.first {
        read_choice(choice, whole, &mut piece);
    }
    if piece.error.is_none() && (loose::holds_any(chunk.error) || chunk.is_error()) {
        piece.error = ErrorBody::parse(json.as_bytes());
    }
    if piece.error.is_none() && piece.finish.as_deref() == Some("error") {
        piece.error = Some(ErrorBody::default());
    }
    piece
}

fn read_choice<'a>(choice: &Choice<'a>, whole: bool, piece: &mut Piece<'a>) {
    // Some servers repeat the whole message at the end of a stream of deltas.
    let delta = if whole { choice.message.as_ref().or(choice.delta.as_ref()) } else { choice.delta.as_ref() };
    if let Some(delta) = delta {
        piece.text = delta.text();
        piece.reasoning = delta.has_reasoning();
        piece.refusal = loose::text_of(delta.refusal);
    }
    if loose::holds_any(choice.error) {
        piece.error = Some(ErrorBody::of(loose::part(choice.error)));
    }
    piece.finish = loose::text_of(choice.finish_reason).filter(|finish| !finish.is_empty());
    let native = loose::text_of(choice.native_finish_reason);
    piece.declined = match (piece.finish.as_deref(), native.as_deref()) {
        (Some("refusal"), _) | (Some(_), Some("refusal")) => Some(Declined::Model),
        (Some("content_filter"), _) => Some(Declined::Filter),
        _ => None,
    };
}

/// The name of the output cap. The cap limits what a call may cost, so its other name is tried before it is left out.
fn cap_field(preferred: CapField, may: impl Fn(&str) -> bool) -> Option<CapField> {
    let name = |field| match field {
        CapField::MaxCompletionTokens => "max_completion_tokens",
        CapField::MaxTokens => "max_tokens",
    };
    let other = match preferred {
        CapField::MaxCompletionTokens => CapField::MaxTokens,
        CapField::MaxTokens => CapField::MaxCompletionTokens,
    };
    [preferred, other].into_iter().find(|field| may(name(*field)))
}

/// Sets the effort in the provider's way.
fn think(request: &mut ChatRequest<'_>, effort: Effort, field: EffortField) {
    let thinks = effort != Effort::None;
    match field {
        EffortField::Reasoning => request.reasoning = Some(ThinkingField::Effort { effort: effort.word() }),
        EffortField::ReasoningEnabled => request.reasoning = Some(ThinkingField::Enabled { enabled: thinks }),
        EffortField::ReasoningEffort => request.reasoning_effort = Some(effort.word()),
        EffortField::ThinkingAndEffort => {
            let kind = if thinks { "enabled" } else { "disabled" };
            request.thinking = Some(ThinkingField::Type { kind });
            request.reasoning_effort = thinks.then_some(effort.word());
        }
        // These belong to the other protocols.
        _ => {}
    }
}

/// Sets how a router may choose providers, and which calls belong together.
fn route(request: &mut ChatRequest<'_>, call: &Call, may: impl Fn(&str) -> bool) {
    let routing = &call.routing;
    request.provider = preferences(routing);
    request.service_tier = routing.service_tier.clone().filter(|_| may("service_tier"));
    let session = match routing.session {
        Session::Run => Some(call.run_id.to_string()),
        Session::Seat => Some(format!("{}-{}", call.run_id, call.attempt.slot).replace(' ', "-")),
        Session::Off => None,
    };
    request.session_id = session.filter(|_| may("session_id"));
}

/// `None` if the router may choose freely, so that a plain request stays plain.
fn preferences(routing: &Routing) -> Option<request::Preferences> {
    let named = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let prices = [routing.input_price_max, routing.output_price_max];
    let max_price = prices.iter().any(Option::is_some).then(|| {
        let [prompt, completion] = prices.map(|price| price.map(PicoUsd::as_usd));
        request::MaxPrice { prompt, completion }
    });
    let preferences = request::Preferences {
        order: named(&routing.order),
        only: named(&routing.only),
        ignore: named(&routing.ignore),
        allow_fallbacks: routing.fallbacks,
        data_collection: routing.data_collection.map(|rule| match rule {
            DataCollection::Allow => "allow",
            DataCollection::Deny => "deny",
        }),
        zdr: routing.zdr.then_some(true),
        max_price,
    };
    (preferences != request::Preferences::default()).then_some(preferences)
}

fn translated<'a>(message: &'a Message, dialect: &Dialect) -> request::ChatMessage<'a> {
    let role = match message.role {
        Role::System => dialect.system_role,
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    if message.files().next().is_some() {
        let parts = message.parts.iter().map(translated_part).collect();
        return request::ChatMessage { role, content: ChatContent::Parts(parts) };
    }
    let mut texts = message.texts();
    let content = match (texts.next(), texts.next()) {
        (Some(only), None) => Cow::Borrowed(only),
        _ => Cow::Owned(message.texts().collect()),
    };
    request::ChatMessage { role, content: ChatContent::Text(content) }
}

fn translated_part(part: &Part) -> ChatPart<'_> {
    match part {
        Part::Text { text } => ChatPart::Text { text },
        Part::File(file) => translated_file(file),
    }
}

fn translated_file(file: &Attachment) -> ChatPart<'_> {
    let url = format!("data:{};base64,{}", file.media_type, file.base64);
    match file.kind() {
        AttachmentKind::Image => {
            ChatPart::ImageUrl { image_url: request::ImageUrl { url, detail: file.detail } }
        }
        AttachmentKind::Document => {
            ChatPart::File { file: request::File { filename: &file.name, file_data: url } }
        }
    }
}
