//! Turns a draft into a timed stream that breaks where its fault requires; `protocol` encodes the bytes.

use hyper::StatusCode;

use crate::behaviour::fault::Fault;
use crate::behaviour::timing::Timing;
use crate::protocol::draft::{Draft, split_tokens};
use crate::protocol::encoder::Encoder;
use crate::protocol::sse::{BYTE_ORDER_MARK, Frame, Framing};
use crate::protocol::{keep_alive, proxy_keep_alive, stream_type};
use crate::replies::reply::{REPEATS_MAX, Reply, Steps, filler};
use crate::request::chat_request::token_count;

/// Pace of the comments and drips that a fault repeats.
const COMMENT_EVERY_MS: f64 = 600.0;
const DRIP_EVERY_MS: f64 = 1000.0;

/// Placeholder for a huge text.
const HUGE_MARK: &str = "HUGE_TEXT_GOES_HERE";

/// The streamed reply.
pub(crate) fn reply<'a>(
    draft: &'a Draft,
    encoder: Box<dyn Encoder + 'a>,
    framing: Framing,
    timing: Timing,
) -> Reply {
    let steps = Steps::new(timing.time_scale);
    let mut stream = Stream { draft, encoder, framing, timing, steps, tokens: 0 };
    stream.write();
    let reply = Reply::steps(StatusCode::OK, stream_type(draft.dialect.protocol), stream.steps);
    reply.header("cache-control", "no-cache")
}

/// A stream under construction.
struct Stream<'a> {
    draft: &'a Draft,
    encoder: Box<dyn Encoder + 'a>,
    framing: Framing,
    timing: Timing,
    steps: Steps,
    /// Tokens written so far.
    tokens: u64,
}

impl Stream<'_> {
    fn write(&mut self) {
        let is_events = stream_type(self.draft.dialect.protocol) == "text/event-stream";
        if self.framing.odd && is_events {
            self.steps.send(BYTE_ORDER_MARK, 0);
        }
        if self.draft.breaks != Some(Fault::SseErrorFirst) {
            let opening = self.encoder.open();
            self.send(&opening, 0);
        }
        self.wait();
        if self.draft.breaks == Some(Fault::SseErrorFirst) {
            self.keep_alive();
        }
        let Some(fault) = self.draft.breaks else {
            self.deltas(u64::MAX);
            let closing = self.encoder.close();
            self.send(&closing, 0);
            return;
        };
        if !breaks_at_once(fault) {
            self.deltas(self.draft.after_tokens);
        }
        self.break_off(fault);
    }

    /// Sends keep-alives until the first token is due.
    fn wait(&mut self) {
        let mut wait_ms = self.timing.ttft_ms;
        let every_ms = self.timing.comment_every_ms as f64;
        let speaks = keep_alive(self.draft).is_some();
        if speaks && every_ms > 0.0 && wait_ms > 0.0 {
            self.keep_alive();
            for _ in 0..REPEATS_MAX.min((wait_ms / every_ms) as u64) {
                self.steps.pause_ms(every_ms);
                self.keep_alive();
                wait_ms -= every_ms;
            }
        }
        self.steps.pause_ms(wait_ms);
    }

    fn keep_alive(&mut self) {
        let frame = keep_alive(self.draft);
        self.send(frame.as_slice(), 0);
    }

    /// Sends the answer, up to this many tokens in all.
    fn deltas(&mut self, tokens_max: u64) {
        let draft = self.draft;
        let mut rest = draft.reasoning.as_str();
        while let Some(piece) = self.piece(&mut rest, tokens_max) {
            let frames = self.encoder.reasoning(piece);
            self.pace(&frames, piece.len());
        }
        if let Some(refusal) = &draft.refusal {
            let frames = self.encoder.refusal(refusal);
            self.pace(&frames, refusal.len());
        }
        let mut rest = draft.text();
        while let Some(piece) = self.piece(&mut rest, tokens_max) {
            let frames = self.encoder.text(piece);
            self.pace(&frames, piece.len());
        }
    }

    /// The next piece of a text; `None` if the text or the allowed tokens are used up.
    fn piece<'t>(&self, rest: &mut &'t str, tokens_max: u64) -> Option<&'t str> {
        let allowed = tokens_max.saturating_sub(self.tokens).min(self.timing.chunk_tokens);
        let (piece, later) = split_tokens(rest, allowed);
        *rest = later;
        (!piece.is_empty()).then_some(piece)
    }

    /// Sends a piece and pauses for the time its tokens take.
    fn pace(&mut self, frames: &[Frame], bytes: usize) {
        let tokens = token_count(bytes);
        self.send(frames, tokens);
        self.tokens += tokens;
        self.steps.pause_ms(self.timing.ms(tokens));
    }

    fn break_off(&mut self, fault: Fault) {
        match fault {
            Fault::SseErrorMid | Fault::SseErrorFirst | Fault::SseErrorBare | Fault::OkFinishError => {
                let frames = self.encoder.failure(fault);
                self.send(&frames, 0);
            }
            Fault::SseReset => self.steps.reset(),
            Fault::SseEofInChunk => {
                let bytes = self.text("This chunk never arrives whole.");
                self.steps.cut_inside(&bytes);
            }
            Fault::Stall => self.steps.hang(),
            Fault::CommentsForever => {
                let frame = keep_alive(self.draft);
                let frame = frame.unwrap_or_else(|| proxy_keep_alive(self.draft.dialect.protocol));
                let bytes = self.framing.frame(&frame);
                self.steps.repeat(&bytes, COMMENT_EVERY_MS);
            }
            Fault::SlowDrip => {
                let drip = self.text("drop ");
                self.steps.repeat(&drip, DRIP_EVERY_MS);
            }
            Fault::BadJsonChunk => {
                let frame = self.encoder.broken();
                self.send(&[frame], 0);
            }
            Fault::HugeLine => {
                let (before, after) = around(&self.text(HUGE_MARK));
                self.steps.send(&before, 0);
                self.steps.huge_text();
                self.steps.send(&after, 0);
            }
            Fault::Flood => {
                let text = String::from_utf8(filler()).expect("a filler is made of letters");
                let bytes = self.text(&text);
                self.steps.flood(&bytes);
            }
            // All other faults end the stream cleanly, without a finish reason and an end mark.
            _ => {}
        }
    }

    /// The bytes of one piece of text, to be repeated. Frames that must come before it are sent now.
    fn text(&mut self, text: &str) -> Vec<u8> {
        let mut frames = self.encoder.text(text);
        let last = frames.pop();
        self.send(&frames, 0);
        last.map(|frame| self.framing.frame(&frame)).unwrap_or_default()
    }

    fn send(&mut self, frames: &[Frame], tokens: u64) {
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| self.framing.frame(frame)).collect();
        if !bytes.is_empty() || tokens > 0 {
            self.steps.send(&bytes, tokens);
        }
    }
}

/// The bytes before and after the placeholder.
fn around(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mark = HUGE_MARK.as_bytes();
    let at = bytes.windows(mark.len()).position(|window| window == mark).unwrap_or(bytes.len());
    let after = bytes.get(at + mark.len()..).unwrap_or_default();
    (bytes[..at].to_vec(), after.to_vec())
}

/// Whether this fault breaks the stream before the first token.
fn breaks_at_once(fault: Fault) -> bool {
    matches!(fault, Fault::SseErrorFirst | Fault::CommentsForever | Fault::HugeLine | Fault::Flood)
}
