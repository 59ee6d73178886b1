//! Turns a draft into a single body, the reply without streaming; `protocol` encodes the bytes.
//!
//! A fault of streams breaks the body in the nearest possible way: it is cut where the stream would be. An error in the
//! middle becomes an ordinary error reply, unless a provider is known to send it with status 200.

use std::time::Duration;

use hyper::StatusCode;

use crate::behaviour::fault::Fault;
use crate::behaviour::timing::Timing;
use crate::dialect::{error_body, error_reply};
use crate::protocol::draft::{Draft, split_tokens};
use crate::protocol::encoder::Encoder;
use crate::replies::off_protocol::PADDING;
use crate::replies::reply::{REPEATS_MAX, Reply, Steps, filler, scaled};

/// Pace of the padding that a fault repeats.
const PADDING_EVERY_MS: f64 = 600.0;

/// The reply without streaming.
pub(crate) fn reply(draft: &Draft, encoder: &dyn Encoder, timing: &Timing) -> Reply {
    let mut steps = Steps::new(timing.time_scale);
    let wait = pad_while_waiting(draft, timing, &mut steps);
    match draft.breaks {
        None => steps.send(&encoder.whole(None), draft.completion_tokens()),
        Some(fault) if is_refused(draft, fault) => {
            return Reply { wait, ..error_reply(draft.dialect, &draft.error(fault)) };
        }
        Some(fault) => break_off(draft, encoder, fault, &mut steps),
    }
    Reply { wait, ..Reply::steps(StatusCode::OK, "application/json", steps) }
}

/// Whether an error in the middle of a stream is an error reply here: only OpenRouter sends its status that early.
fn is_refused(draft: &Draft, fault: Fault) -> bool {
    let is_error = matches!(fault, Fault::SseErrorMid | Fault::SseErrorFirst | Fault::SseErrorBare);
    is_error && !draft.dialect.is_openrouter()
}

/// Adds the time that generating takes. If it is longer than a keep-alive interval and the dialect pads, the head
/// leaves at once and white space follows; otherwise returns the wait before the head.
fn pad_while_waiting(draft: &Draft, timing: &Timing, steps: &mut Steps) -> Duration {
    let wait_ms = timing.ttft_ms + timing.ms(draft.completion_tokens());
    let every_ms = timing.comment_every_ms as f64;
    let padding = draft.dialect.padding.as_deref().filter(|_| every_ms > 0.0 && wait_ms >= every_ms);
    let Some(padding) = padding else { return scaled(wait_ms, timing.time_scale) };
    let paddings = REPEATS_MAX.min((wait_ms / every_ms) as u64);
    for _ in 0..paddings {
        steps.pause_ms(every_ms);
        steps.send(padding.as_bytes(), 0);
    }
    steps.pause_ms(wait_ms - paddings as f64 * every_ms);
    Duration::ZERO
}

fn break_off(draft: &Draft, encoder: &dyn Encoder, fault: Fault, steps: &mut Steps) {
    let body = encoder.whole(None);
    let cut = usize::try_from(draft.after_tokens * 4).unwrap_or(usize::MAX).min(body.len() / 2);
    let (sent, unsent) = body.split_at(cut);
    match fault {
        Fault::OkFinishError | Fault::SseErrorMid => {
            let (part, _) = split_tokens(draft.text(), draft.after_tokens);
            steps.send(&encoder.whole(Some(part)), draft.after_tokens);
        }
        Fault::SseErrorFirst | Fault::SseErrorBare => {
            steps.send(&error_body(draft.dialect, &draft.error(fault)), 0);
        }
        Fault::CommentsForever | Fault::SlowDrip => steps.repeat(PADDING, PADDING_EVERY_MS),
        Fault::HugeLine => {
            let (before, after) = around(&body);
            steps.send(before, 0);
            steps.huge_text();
            steps.send(after, 0);
        }
        Fault::Flood => {
            let (before, _) = around(&body);
            steps.send(before, 0);
            steps.flood(&filler());
        }
        Fault::SseReset => {
            steps.send(sent, draft.after_tokens);
            steps.reset();
        }
        Fault::SseEofInChunk => {
            steps.send(sent, draft.after_tokens);
            steps.cut_inside(unsent);
        }
        Fault::Stall => {
            steps.send(sent, draft.after_tokens);
            steps.hang();
        }
        _ => steps.send(sent, draft.after_tokens),
    }
}

/// The body before and after the last opening quotation mark of a text value.
fn around(body: &[u8]) -> (&[u8], &[u8]) {
    let within = br#"":""#;
    let at = body.windows(within.len()).position(|window| window == within);
    body.split_at(at.map_or(body.len(), |at| at + within.len()))
}
