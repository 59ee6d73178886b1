//! Encodes Gemini's `generateContent`: every chunk is a whole response with the usage so far.

use serde_json::json;

use super::draft::Draft;
use super::encoder::Encoder;
use super::sse::Frame;
use crate::behaviour::fault::Fault;
use crate::dialect::error_body;
use crate::replies::json::Object;
use crate::request::chat_request::token_count;

/// A draft encoded as `generateContent`.
pub(super) struct Gemini<'a> {
    draft: &'a Draft,
    /// Bytes encoded so far, whether shown or not.
    thought_bytes: usize,
    output_bytes: usize,
}

impl<'a> Gemini<'a> {
    pub(super) fn new(draft: &'a Draft) -> Self {
        Self { draft, thought_bytes: 0, output_bytes: 0 }
    }

    /// The state after everything was encoded.
    fn written(draft: &'a Draft) -> Self {
        let output_bytes = draft.text().len() + draft.refusal.as_ref().map_or(0, String::len);
        Self { draft, thought_bytes: draft.reasoning.len(), output_bytes }
    }

    /// A chunk with the usage so far.
    fn chunk(&self, candidates: Option<Object>) -> Object {
        let chunk = Object::new();
        let chunk = match candidates {
            Some(candidate) => chunk.list("candidates", [candidate]),
            None => chunk,
        };
        let chunk = chunk
            .nest("usageMetadata", self.usage())
            .with("modelVersion", &self.draft.model)
            .with("responseId", &self.draft.id);
        if self.draft.has_unknown_fields {
            chunk.nest("xTrace", Object::new().with("hops", &[1, 2]))
        } else {
            chunk
        }
    }

    /// Token counts; thoughts are not part of the candidates' count.
    fn usage(&self) -> Object {
        let (thought_tokens, output_tokens) =
            (token_count(self.thought_bytes), token_count(self.output_bytes));
        let prompt_tokens = self.draft.prompt_tokens;
        let usage = Object::new().with("promptTokenCount", &prompt_tokens);
        let usage =
            if output_tokens > 0 { usage.with("candidatesTokenCount", &output_tokens) } else { usage };
        let usage = usage.with("totalTokenCount", &(prompt_tokens + thought_tokens + output_tokens));
        if thought_tokens > 0 { usage.with("thoughtsTokenCount", &thought_tokens) } else { usage }
    }

    /// The finish reason in Gemini's words.
    fn finish_reason(&self) -> &str {
        match (&self.draft.refusal, self.draft.finish) {
            (Some(_), _) => "PROHIBITED_CONTENT",
            (None, "stop") => "STOP",
            (None, "length") => "MAX_TOKENS",
            (None, "content_filter") => "SAFETY",
            (None, _) => "COMPACTED",
        }
    }

    /// Whether the last candidate has no content.
    fn is_withheld(&self) -> bool {
        self.draft.refusal.is_some() || self.draft.finish == "content_filter"
    }
}

impl Encoder for Gemini<'_> {
    fn reasoning(&mut self, piece: &str) -> Vec<Frame> {
        self.thought_bytes += piece.len();
        if !self.draft.shows_reasoning {
            return Vec::new();
        }
        let part = Object::new().with("text", piece).with("thought", &true);
        vec![frame(self.chunk(Some(candidate(Some(vec![part]), None))))]
    }

    fn text(&mut self, piece: &str) -> Vec<Frame> {
        self.output_bytes += piece.len();
        vec![frame(self.chunk(Some(candidate(Some(vec![text(piece)]), None))))]
    }

    fn refusal(&mut self, words: &str) -> Vec<Frame> {
        self.output_bytes += words.len();
        Vec::new()
    }

    fn close(&mut self) -> Vec<Frame> {
        *self = Self::written(self.draft);
        if !self.draft.has_choice {
            return vec![frame(self.chunk(None))];
        }
        let parts = (self.draft.content.is_some() && !self.is_withheld()).then(|| vec![text("")]);
        vec![frame(self.chunk(Some(candidate(parts, Some(self.finish_reason())))))]
    }

    fn failure(&mut self, fault: Fault) -> Vec<Frame> {
        if fault == Fault::OkFinishError {
            return vec![frame(self.chunk(Some(candidate(None, Some("OTHER")))))];
        }
        vec![Frame::data(error_body(self.draft.dialect, &self.draft.error(fault)))]
    }

    fn whole(&self, part: Option<&str>) -> Vec<u8> {
        let draft = self.draft;
        let last = Self::written(draft);
        if !draft.has_choice {
            return last.chunk(None).bytes();
        }
        let mut parts = Vec::new();
        if draft.shows_reasoning && !draft.reasoning.is_empty() {
            parts.push(Object::new().with("text", &draft.reasoning).with("thought", &true));
        }
        if draft.content.is_some() && !(draft.text().is_empty() && draft.finish == "length") {
            parts.push(text(part.unwrap_or(draft.text())));
        }
        let parts = (!self.is_withheld() && draft.content.is_some()).then_some(parts);
        let reason = if part.is_some() { "OTHER" } else { self.finish_reason() };
        last.chunk(Some(candidate(parts, Some(reason)))).bytes()
    }

    fn blocked(&self) -> Option<Vec<u8>> {
        let ratings = json!([{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH"}]);
        let feedback = Object::new().with("blockReason", "SAFETY").with("safetyRatings", &ratings);
        let body = Object::new().nest("promptFeedback", feedback).nest("usageMetadata", self.usage());
        Some(body.with("modelVersion", &self.draft.model).with("responseId", &self.draft.id).bytes())
    }
}

fn frame(chunk: Object) -> Frame {
    Frame::data(chunk.bytes())
}

fn text(text: &str) -> Object {
    Object::new().with("text", text)
}

/// A candidate; without parts it has at most a role as content.
fn candidate(parts: Option<Vec<Object>>, finish_reason: Option<&str>) -> Object {
    let candidate = Object::new();
    let candidate = match parts {
        Some(parts) => {
            let content = if parts.is_empty() { Object::new() } else { Object::new().list("parts", parts) };
            candidate.nest("content", content.with("role", "model"))
        }
        None if finish_reason == Some("STOP") => {
            candidate.nest("content", Object::new().with("role", "model"))
        }
        None => candidate,
    };
    let candidate = match finish_reason {
        Some(reason) => candidate.with("finishReason", reason),
        None => candidate,
    };
    candidate.with("index", &0)
}
