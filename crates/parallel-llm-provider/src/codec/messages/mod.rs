//! Anthropic's own protocol, `POST messages`.
//!
//! Instructions are separate from the messages, the output cap is required, a thinking model decides itself how much to
//! think within an effort, and a stream is a series of typed events that ends with `message_stop`.

mod event;
mod request;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::{Attachment, AttachmentKind, Effort, Message, Part, Role, Usage};
use serde_json::value::RawValue;

use self::event::{Block, Event, MessagesUsage};
use self::request::{InputBlock, MessagesRequest, OutputConfig, Source, ThinkingMode};
use super::piece::{Declined, Piece, Spent};
use super::protocol::{Address, Codec};
use crate::providers::dialect::Dialect;
use crate::wire::error::ErrorBody;
use crate::wire::loose;

/// Anthropic's protocol.
#[derive(Debug)]
pub(super) struct Messages;

impl Codec for Messages {
    fn address(&self, _model: &str) -> Address {
        Address::path("messages")
    }

    /// The largest page; the default has 20 models.
    fn models_query(&self) -> Option<&'static str> {
        Some("limit=1000")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    /// The cap is required, so it is not among them.
    fn optional_fields(&self) -> &'static [&'static str] {
        &["temperature", "thinking", "output_config"]
    }

    fn body(&self, call: &Call, dialect: &Dialect) -> Vec<u8> {
        let may = |field: &str| !call.without.iter().any(|without| without == field);
        let effort = call.effort.filter(|_| may("thinking"));
        let thinking = effort.map(|effort| match effort {
            Effort::None => ThinkingMode::Disabled,
            _ => ThinkingMode::Adaptive,
        });
        let output_config = effort.filter(|effort| *effort != Effort::None && may("output_config"));
        // With thinking the protocol allows only the default temperature.
        let takes_temperature = may("temperature") && thinking != Some(ThinkingMode::Adaptive);
        let instructions: Vec<&str> = call
            .messages
            .iter()
            .filter(|message| message.role == Role::System)
            .flat_map(Message::texts)
            .collect();
        let request = MessagesRequest {
            model: &call.model.model,
            max_tokens: call.max_tokens,
            system: (!instructions.is_empty()).then(|| instructions.join("\n\n")),
            messages: call.messages.iter().filter_map(translated).collect(),
            stream: true,
            temperature: call
                .temperature
                .filter(|_| takes_temperature)
                .map(|wanted| wanted.min(dialect.temperature_max)),
            thinking,
            output_config: output_config
                .map(|effort| OutputConfig { effort: effort.nearest(dialect.efforts).word() }),
        };
        serde_json::to_vec(&request).expect("a request is text, numbers and flags under fixed names")
    }

    fn read<'a>(&self, json: &'a str, _whole: bool) -> serde_json::Result<Piece<'a>> {
        let event: Event<'a> = serde_json::from_str(json)?;
        let kind = loose::text_of(event.kind);
        let mut piece = Piece::default();
        match kind.as_deref() {
            // A whole reply is a message; a stream begins with one.
            Some("message") => read_message(json, &mut piece)?,
            Some("message_start") => {
                if let Some(message) = event.message {
                    read_message(message.get(), &mut piece)?;
                }
            }
            Some("content_block_start") => read_block(&loose::part(event.content_block), &mut piece),
            Some("content_block_delta") => read_block(&loose::part(event.delta), &mut piece),
            Some("message_delta") => {
                let delta: event::Ending<'a> = loose::part(event.delta);
                stop(loose::text_of(delta.stop_reason), &mut piece);
                piece.spent = event.usage.map(spent);
            }
            Some("message_stop") => piece.ends = true,
            Some("error") => piece.error = Some(ErrorBody::of(loose::part(event.error))),
            // `ping`, `content_block_stop`, and future events.
            _ if loose::holds_any(event.error) => piece.error = Some(ErrorBody::of(loose::part(event.error))),
            _ => {}
        }
        Ok(piece)
    }
}

/// A message: complete in a reply that is not a stream, without content at the start of a stream.
fn read_message<'a>(json: &'a str, piece: &mut Piece<'a>) -> serde_json::Result<()> {
    let message: event::WholeMessage<'a> = serde_json::from_str(json)?;
    piece.has_content = true;
    piece.id = loose::text_of(message.id);
    piece.model = loose::text_of(message.model);
    piece.spent = message.usage.map(spent);
    for block in loose::part::<Vec<Block<'a>>>(message.content) {
        read_block(&block, piece);
    }
    stop(loose::text_of(message.stop_reason), piece);
    Ok(())
}

/// A block of content, or its new part. Thinking is noticed but not kept.
fn read_block<'a>(block: &Block<'a>, piece: &mut Piece<'a>) {
    piece.reasoning |= [block.thinking, block.signature, block.data].into_iter().any(loose::holds_any);
    let Some(text) = loose::text_of(block.text).filter(|text| !text.is_empty()) else { return };
    if piece.text.is_empty() {
        piece.text = text;
    } else {
        piece.text.to_mut().push_str(&text);
    }
}

/// Translates the protocol's stop reason into the common ones.
fn stop<'a>(reason: Option<Cow<'a, str>>, piece: &mut Piece<'a>) {
    let Some(reason) = reason else { return };
    piece.finish = Some(match &*reason {
        "end_turn" | "stop_sequence" => Cow::Borrowed("stop"),
        "max_tokens" | "model_context_window_exceeded" => Cow::Borrowed("length"),
        _ => reason,
    });
    piece.declined = (piece.finish.as_deref() == Some("refusal")).then_some(Declined::Model);
}

/// Input tokens are counted separately as new, cached, and written to the cache.
fn spent(usage: &RawValue) -> Spent {
    let usage: MessagesUsage<'_> = loose::part(Some(usage));
    let [new, from_cache, to_cache] = [usage.new, usage.from_cache, usage.to_cache].map(loose::count);
    let usage = Usage {
        input_tokens: new
            .map(|new| new.saturating_add(from_cache.unwrap_or(0)).saturating_add(to_cache.unwrap_or(0))),
        output_tokens: loose::count(usage.written),
        reasoning_tokens: None,
        cached_tokens: from_cache,
    };
    Spent { usage, cost: None }
}

fn translated(message: &Message) -> Option<request::InputMessage<'_>> {
    let role = match message.role {
        Role::System => return None,
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let content = message.parts.iter().map(|part| match part {
        Part::Text { text } => InputBlock::Text { text },
        Part::File(file) => translated_file(file),
    });
    Some(request::InputMessage { role, content: content.collect() })
}

fn translated_file(file: &Attachment) -> InputBlock<'_> {
    let source = Source { kind: "base64", media_type: &file.media_type, data: &file.base64 };
    match file.kind() {
        AttachmentKind::Image => InputBlock::Image { source },
        AttachmentKind::Document => InputBlock::Document { source, title: &file.name },
    }
}
