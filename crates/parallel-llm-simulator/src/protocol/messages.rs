//! Encodes Anthropic's `messages`: named events around content blocks.

use super::draft::Draft;
use super::encoder::Encoder;
use super::sse::Frame;
use crate::behaviour::fault::Fault;
use crate::dialect::error_body;
use crate::replies::json::Object;

/// A draft encoded as `messages`.
pub(super) struct Messages<'a> {
    draft: &'a Draft,
    /// Number of blocks begun, and the kind of the open one.
    blocks: u32,
    open: Option<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Thinking,
    Text,
}

impl<'a> Messages<'a> {
    pub(super) fn new(draft: &'a Draft) -> Self {
        Self { draft, blocks: 0, open: None }
    }

    /// Begins a block of this kind unless it is open; ends any other first.
    fn begin(&mut self, block: Block) -> Vec<Frame> {
        if self.open == Some(block) {
            return Vec::new();
        }
        let mut frames = self.end();
        let content = match block {
            Block::Thinking => thinking("", ""),
            Block::Text => text(""),
        };
        let start = event_of("content_block_start").with("index", &self.blocks);
        frames.push(event("content_block_start", start.nest("content_block", content)));
        if self.blocks == 0 {
            frames.push(ping());
        }
        self.open = Some(block);
        self.blocks += 1;
        frames
    }

    /// Ends the open block; a thinking block is signed first.
    fn end(&mut self) -> Vec<Frame> {
        let Some(block) = self.open.take() else { return Vec::new() };
        let mut frames = Vec::new();
        if block == Block::Thinking {
            let delta =
                Object::new().with("type", "signature_delta").with("signature", &signature(self.draft));
            frames.push(self.delta(delta));
        }
        let stop = event_of("content_block_stop").with("index", &(self.blocks - 1));
        frames.push(event("content_block_stop", stop));
        frames
    }

    fn delta(&self, delta: Object) -> Frame {
        let delta = if self.draft.has_unknown_fields { delta.with("mood", "calm") } else { delta };
        let index = self.blocks.saturating_sub(1);
        event(
            "content_block_delta",
            event_of("content_block_delta").with("index", &index).nest("delta", delta),
        )
    }

    fn stop_reason(&self) -> &str {
        match (&self.draft.refusal, self.draft.finish) {
            (Some(_), _) | (None, "content_filter") => "refusal",
            (None, "stop") => "end_turn",
            (None, "length") => "max_tokens",
            (None, other) => other,
        }
    }

    fn message(&self) -> Object {
        Object::new()
            .with("id", &self.draft.id)
            .with("type", "message")
            .with("role", "assistant")
            .with("model", &self.draft.model)
    }

    fn usage(&self, output_tokens: u64) -> Object {
        Object::new()
            .with("input_tokens", &self.draft.prompt_tokens)
            .with("cache_creation_input_tokens", &0)
            .with("cache_read_input_tokens", &0)
            .with("output_tokens", &output_tokens)
    }

    /// The content blocks of a body.
    fn content(&self, part: Option<&str>) -> Vec<Object> {
        let draft = self.draft;
        if !draft.has_choice {
            return Vec::new();
        }
        let mut blocks = Vec::new();
        if !draft.reasoning.is_empty() {
            blocks.push(thinking(&draft.reasoning, &signature(draft)));
        }
        let reply = part.or(draft.refusal.as_deref()).unwrap_or(draft.text());
        let is_burnt = reply.is_empty() && draft.finish == "length";
        if !is_burnt && draft.finish != "content_filter" {
            blocks.push(text(reply));
        }
        blocks
    }
}

impl Encoder for Messages<'_> {
    fn open(&mut self) -> Vec<Frame> {
        let message = self.message().list("content", []).with("stop_reason", &None::<&str>);
        let message = message.with("stop_sequence", &None::<&str>).nest("usage", self.usage(1));
        vec![event("message_start", event_of("message_start").nest("message", message))]
    }

    fn reasoning(&mut self, piece: &str) -> Vec<Frame> {
        let mut frames = self.begin(Block::Thinking);
        frames.push(self.delta(Object::new().with("type", "thinking_delta").with("thinking", piece)));
        frames
    }

    fn text(&mut self, piece: &str) -> Vec<Frame> {
        let mut frames = self.begin(Block::Text);
        frames.push(self.delta(Object::new().with("type", "text_delta").with("text", piece)));
        frames
    }

    fn refusal(&mut self, words: &str) -> Vec<Frame> {
        self.text(words)
    }

    fn close(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        if self.draft.has_choice && self.draft.content.as_deref() == Some("") && self.draft.finish == "stop" {
            frames.extend(self.begin(Block::Text));
        }
        frames.extend(self.end());
        let delta =
            Object::new().with("stop_reason", self.stop_reason()).with("stop_sequence", &None::<&str>);
        let last = event_of("message_delta").nest("delta", delta);
        let last = last.nest("usage", self.usage(self.draft.completion_tokens()));
        if self.draft.has_unknown_fields {
            frames.push(event("sim_novelty", event_of("sim_novelty").with("hops", &[1, 2])));
        }
        frames.push(event("message_delta", last));
        if self.draft.has_end_mark {
            frames.push(event("message_stop", event_of("message_stop")));
        }
        frames
    }

    fn failure(&mut self, fault: Fault) -> Vec<Frame> {
        let data = error_body(self.draft.dialect, &self.draft.error(fault));
        let name = (fault != Fault::SseErrorBare).then_some("error");
        vec![Frame::Event { name, data }]
    }

    fn whole(&self, part: Option<&str>) -> Vec<u8> {
        let body = self.message();
        let is_null = self.draft.content.is_none() && self.draft.refusal.is_none() && self.draft.has_choice;
        let body = if is_null {
            body.with("content", &None::<&str>)
        } else {
            body.list("content", self.content(part))
        };
        let body = body.with("stop_reason", self.stop_reason()).with("stop_sequence", &None::<&str>);
        let body = if self.draft.has_unknown_fields { body.with("mood", "calm") } else { body };
        body.nest("usage", self.usage(self.draft.completion_tokens())).bytes()
    }
}

/// The keep-alive event.
pub(super) fn ping() -> Frame {
    event("ping", event_of("ping"))
}

/// Every event's data begins with its name.
fn event_of(name: &str) -> Object {
    Object::new().with("type", name)
}

fn event(name: &'static str, data: Object) -> Frame {
    Frame::Event { name: Some(name), data: data.bytes() }
}

fn thinking(text: &str, signature: &str) -> Object {
    Object::new().with("type", "thinking").with("thinking", text).with("signature", signature)
}

fn text(text: &str) -> Object {
    Object::new().with("type", "text").with("text", text)
}

/// A placeholder for the signature that only Anthropic can verify.
fn signature(draft: &Draft) -> String {
    blake3::hash(draft.reasoning.as_bytes()).to_hex().to_string()
}
