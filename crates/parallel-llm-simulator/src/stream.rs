//! Writes a draft as server-sent events, the streamed form, and breaks it where the draft says.

use hyper::StatusCode;

use crate::draft::{Draft, bare_error, split_tokens};
use crate::fault::Fault;
use crate::json::Object;
use crate::reply::{REPEATS_MAX, Reply, Steps, filler};
use crate::request::token_count;
use crate::script::{Behaviour, UsageShape};
use crate::sse::{BYTE_ORDER_MARK, Framing};
use crate::tempo::Tempo;

/// The text of OpenRouter's keep-alive comments.
const KEEP_ALIVE: &str = "OPENROUTER PROCESSING";

/// Pace of comments and drips that a fault repeats.
const COMMENT_EVERY_MS: f64 = 600.0;
const DRIP_EVERY_MS: f64 = 1000.0;

/// The streamed reply.
pub(crate) fn reply(draft: &Draft, behaviour: &Behaviour, framing: Framing, tempo: Tempo) -> Reply {
    let opening = draft.opening("chat.completion.chunk");
    let steps = Steps::new(tempo.time_scale);
    let mut stream = Stream { draft, behaviour, framing, tempo, opening, steps, tokens: 0 };
    stream.write();
    let reply = Reply::steps(StatusCode::OK, "text/event-stream", stream.steps);
    reply.header("cache-control", "no-cache")
}

/// A stream being written.
struct Stream<'a> {
    draft: &'a Draft,
    behaviour: &'a Behaviour,
    framing: Framing,
    tempo: Tempo,
    opening: Object,
    steps: Steps,
    /// Tokens written so far.
    tokens: u64,
}

impl Stream<'_> {
    fn write(&mut self) {
        if self.framing.odd {
            self.steps.send(BYTE_ORDER_MARK, 0);
        }
        self.wait();
        if self.draft.breaks == Some(Fault::SseErrorFirst) {
            self.comment();
        }
        if let Some(fault) = self.draft.breaks {
            if !breaks_at_once(fault) {
                self.deltas(self.draft.after_tokens);
            }
            self.break_off(fault);
        } else {
            self.deltas(u64::MAX);
            self.finish();
        }
    }

    /// Comments until the first token.
    fn wait(&mut self) {
        let mut wait_ms = self.tempo.ttft_ms;
        let every_ms = self.tempo.comment_every_ms as f64;
        if every_ms > 0.0 && wait_ms > 0.0 {
            self.comment();
            for _ in 0..REPEATS_MAX.min((wait_ms / every_ms) as u64) {
                self.steps.pause_ms(every_ms);
                self.comment();
                wait_ms -= every_ms;
            }
        }
        self.steps.pause_ms(wait_ms);
    }

    /// The answer, up to so many tokens.
    fn deltas(&mut self, tokens_max: u64) {
        let draft = self.draft;
        let mut rest = draft.reasoning.as_str();
        while let Some(piece) = self.piece(&mut rest, tokens_max) {
            let details = [Draft::reasoning_detail(piece)];
            let delta = self.delta("").with("reasoning", piece).list("reasoning_details", details);
            self.pace(delta, piece.len());
        }
        if let Some(refusal) = draft.refusal {
            let delta = self.delta("").with("refusal", refusal);
            self.pace(delta, refusal.len());
        }
        let mut rest = draft.text();
        while let Some(piece) = self.piece(&mut rest, tokens_max) {
            self.pace(self.delta(piece), piece.len());
        }
    }

    /// The next piece of a text, if there is one and it may still leave.
    fn piece<'t>(&self, rest: &mut &'t str, tokens_max: u64) -> Option<&'t str> {
        let allowed =
            tokens_max.saturating_sub(self.tokens).min(u64::from(self.behaviour.chunk_tokens.max(1)));
        let (piece, later) = split_tokens(rest, allowed);
        *rest = later;
        (!piece.is_empty()).then_some(piece)
    }

    /// Sends a delta and waits as long as its tokens take.
    fn pace(&mut self, delta: Object, bytes: usize) {
        let tokens = token_count(bytes);
        let chunk = self.chunk(delta, None);
        self.event(chunk, tokens);
        self.tokens += tokens;
        self.steps.pause_ms(self.tempo.ms(tokens));
    }

    /// Finish reason, usage in its shape, and the end mark.
    fn finish(&mut self) {
        let finish = Some((self.draft.finish, self.draft.native_finish));
        if self.draft.has_choice {
            let chunk = self.chunk(self.delta(""), finish);
            self.event(chunk, 0);
        }
        let shape = if self.draft.has_choice { self.behaviour.usage_shape } else { UsageShape::EmptyChoices };
        let repeated = self.chunk(self.delta(""), finish);
        let usage = self.draft.usage();
        match shape {
            UsageShape::None => {}
            UsageShape::OrChoice => self.event(repeated.nest("usage", usage), 0),
            UsageShape::EmptyChoices => {
                let chunk = self.opening.clone().list("choices", []);
                self.event(chunk.nest("usage", usage), 0);
            }
            UsageShape::Twice => {
                let before = self.draft.usage_before();
                self.event(repeated.clone().nest("usage", before), 0);
                self.event(repeated.nest("usage", usage), 0);
            }
        }
        if self.behaviour.done {
            let done = self.framing.event(b"[DONE]");
            self.steps.send(&done, 0);
        }
    }

    fn break_off(&mut self, fault: Fault) {
        match fault {
            Fault::SseErrorMid => {
                self.error(&Object::new().with("code", &429), "Rate limit exceeded", "rate_limit_exceeded");
            }
            Fault::OkFinishError | Fault::SseErrorFirst => self.error(
                &Object::new().with("code", &502),
                "Provider disconnected mid-stream",
                "provider_unavailable",
            ),
            Fault::SseErrorBare => self.event(bare_error(), 0),
            Fault::SseReset => self.steps.reset(),
            Fault::SseEofInChunk => {
                let chunk = self.chunk(self.delta("This chunk never arrives whole."), None);
                let event = self.framing.event(&chunk.bytes());
                self.steps.cut_inside(&event);
            }
            Fault::Stall => self.steps.hang(),
            Fault::CommentsForever => {
                let comment = self.framing.comment(KEEP_ALIVE);
                self.steps.repeat(&comment, COMMENT_EVERY_MS);
            }
            Fault::SlowDrip => {
                let drip = self.framing.event(&self.chunk(self.delta("drop "), None).bytes());
                self.steps.repeat(&drip, DRIP_EVERY_MS);
            }
            Fault::BadJsonChunk => {
                let event = self.framing.event(br#"{"id":"gen-1","choices":[{"delta":{"cont"#);
                self.steps.send(&event, 0);
            }
            Fault::HugeLine => {
                self.steps.send(b"data: {\"choices\":[{\"delta\":{\"content\":\"", 0);
                self.steps.huge_text();
                self.steps.send(b"\"}}]}\n\n", 0);
            }
            Fault::Flood => {
                let text = String::from_utf8(filler()).expect("a filler is made of letters");
                let event = self.framing.event(&self.chunk(self.delta(&text), None).bytes());
                self.steps.flood(&event);
            }
            // What remains ends cleanly, without a finish reason and without `[DONE]`.
            _ => {}
        }
    }

    /// OpenRouter's unified error chunk; `error` holds the code already.
    fn error(&mut self, error: &Object, message: &str, error_type: &str) {
        let metadata = Object::new().with("error_type", error_type);
        let error = error.clone().with("message", message).nest("metadata", metadata);
        let choice = Object::new()
            .with("index", &0)
            .nest("delta", Object::new().with("content", ""))
            .with("finish_reason", "error");
        let chunk = self.opening.clone().nest("error", error).list("choices", [choice]);
        self.event(chunk, 0);
    }

    fn delta(&self, content: &str) -> Object {
        let delta = Object::new().with("content", content).with("role", "assistant");
        if self.draft.novel { delta.with("mood", "calm").with("annotations", &[0; 0]) } else { delta }
    }

    fn chunk(&self, delta: Object, finish: Option<(&str, &str)>) -> Object {
        let choice = Object::new().with("index", &0).nest("delta", delta);
        let chunk = self.opening.clone().list("choices", [self.draft.finished(choice, finish)]);
        if self.draft.novel && finish.is_none() { chunk.with("usage", &None::<&str>) } else { chunk }
    }

    fn event(&mut self, chunk: Object, tokens: u64) {
        let event = self.framing.event(&chunk.bytes());
        self.steps.send(&event, tokens);
    }

    fn comment(&mut self) {
        let comment = self.framing.comment(KEEP_ALIVE);
        self.steps.send(&comment, 0);
    }
}

/// Faults that show before the first token.
fn breaks_at_once(fault: Fault) -> bool {
    matches!(fault, Fault::SseErrorFirst | Fault::CommentsForever | Fault::HugeLine | Fault::Flood)
}
