//! Encodes Ollama's `/api/chat`: one JSON object per line, the last with `done`.

use super::draft::Draft;
use super::encoder::Encoder;
use super::sse::Frame;
use crate::behaviour::fault::Fault;
use crate::dialect::error_body;
use crate::replies::json::Object;
use crate::state::clock::iso_time;

/// A draft encoded for `/api/chat`.
pub(super) struct Lines<'a> {
    draft: &'a Draft,
    created_at: String,
}

/// Nanoseconds per token in the reported durations.
const TOKEN_NS: u64 = 8_000_000;

impl<'a> Lines<'a> {
    pub(super) fn new(draft: &'a Draft) -> Self {
        Self { draft, created_at: iso_time(draft.created) }
    }

    fn line(&self, message: Option<Object>, is_done: bool) -> Object {
        let line = Object::new().with("model", &self.draft.model).with("created_at", &self.created_at);
        let line = match message {
            Some(message) => line.nest("message", message),
            None => line,
        };
        let line = if self.draft.has_unknown_fields { line.with("mood", "calm") } else { line };
        line.with("done", &is_done)
    }

    fn last(&self, message: Option<Object>) -> Object {
        let (prompt, output) = (self.draft.prompt_tokens, self.draft.completion_tokens());
        self.line(message, true)
            .with("done_reason", self.draft.finish)
            .with("total_duration", &((prompt + output) * TOKEN_NS))
            .with("load_duration", &TOKEN_NS)
            .with("prompt_eval_count", &prompt)
            .with("prompt_eval_duration", &(prompt * TOKEN_NS))
            .with("eval_count", &output)
            .with("eval_duration", &(output * TOKEN_NS))
    }
}

impl Encoder for Lines<'_> {
    fn reasoning(&mut self, piece: &str) -> Vec<Frame> {
        vec![frame(self.line(Some(message(Some("")).with("thinking", piece)), false))]
    }

    fn text(&mut self, piece: &str) -> Vec<Frame> {
        vec![frame(self.line(Some(message(Some(piece))), false))]
    }

    fn refusal(&mut self, words: &str) -> Vec<Frame> {
        self.text(words)
    }

    fn close(&mut self) -> Vec<Frame> {
        let reply = self.draft.has_choice.then(|| message(self.draft.text_or_refusal().map(|_| "")));
        vec![frame(self.last(reply))]
    }

    fn failure(&mut self, fault: Fault) -> Vec<Frame> {
        vec![Frame::Line(error_body(self.draft.dialect, &self.draft.error(fault)))]
    }

    fn whole(&self, part: Option<&str>) -> Vec<u8> {
        let draft = self.draft;
        let reply = message(part.or(draft.text_or_refusal()));
        let reply = if draft.reasoning.is_empty() { reply } else { reply.with("thinking", &draft.reasoning) };
        self.last(draft.has_choice.then_some(reply)).bytes()
    }
}

fn frame(line: Object) -> Frame {
    Frame::Line(line.bytes())
}

fn message(content: Option<&str>) -> Object {
    Object::new().with("role", "assistant").with("content", &content)
}
