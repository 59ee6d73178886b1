//! Plays a draft as one body, the form without streaming. Its bytes come from `protocol`.
//!
//! A fault that is about streams breaks the body in the way that comes nearest: it is cut where the stream would be. An
//! error in the middle is an ordinary refusal, except where a status of 200 is known to hold one.

use std::time::Duration;

use hyper::StatusCode;

use crate::dialect::{error_body, refuse};
use crate::draft::{Draft, split_tokens};
use crate::fault::Fault;
use crate::odd::PADDING;
use crate::protocol::Form;
use crate::reply::{REPEATS_MAX, Reply, Steps, filler, scaled};
use crate::tempo::Tempo;

/// Pace of the padding that a fault repeats.
const PADDING_EVERY_MS: f64 = 600.0;

/// The reply without streaming.
pub(crate) fn reply(draft: &Draft, form: &dyn Form, tempo: &Tempo) -> Reply {
    let mut steps = Steps::new(tempo.time_scale);
    let wait = pad_while_waiting(draft, tempo, &mut steps);
    match draft.breaks {
        None => steps.send(&form.whole(None), draft.completion_tokens()),
        Some(fault) if is_refused(draft, fault) => {
            return Reply { wait, ..refuse(draft.dialect, &draft.trouble(fault)) };
        }
        Some(fault) => break_off(draft, form, fault, &mut steps),
    }
    Reply { wait, ..Reply::steps(StatusCode::OK, "application/json", steps) }
}

/// Whether an error in the middle of a stream is a refusal here: nobody but OpenRouter commits a status that early.
fn is_refused(draft: &Draft, fault: Fault) -> bool {
    let is_error = matches!(fault, Fault::SseErrorMid | Fault::SseErrorFirst | Fault::SseErrorBare);
    is_error && !draft.dialect.is_openrouter()
}

/// Waits as long as generating takes. If that is longer than a keep-alive and the dialect pads, the head leaves at once
/// and white space follows; otherwise the head waits for the time returned.
fn pad_while_waiting(draft: &Draft, tempo: &Tempo, steps: &mut Steps) -> Duration {
    let wait_ms = tempo.ttft_ms + tempo.ms(draft.completion_tokens());
    let every_ms = tempo.comment_every_ms as f64;
    let padding = draft.dialect.padding.as_deref().filter(|_| every_ms > 0.0 && wait_ms >= every_ms);
    let Some(padding) = padding else { return scaled(wait_ms, tempo.time_scale) };
    let paddings = REPEATS_MAX.min((wait_ms / every_ms) as u64);
    for _ in 0..paddings {
        steps.pause_ms(every_ms);
        steps.send(padding.as_bytes(), 0);
    }
    steps.pause_ms(wait_ms - paddings as f64 * every_ms);
    Duration::ZERO
}

fn break_off(draft: &Draft, form: &dyn Form, fault: Fault, steps: &mut Steps) {
    let body = form.whole(None);
    let cut = usize::try_from(draft.after_tokens * 4).unwrap_or(usize::MAX).min(body.len() / 2);
    let (sent, unsent) = body.split_at(cut);
    match fault {
        Fault::OkFinishError | Fault::SseErrorMid => {
            let (part, _) = split_tokens(draft.text(), draft.after_tokens);
            steps.send(&form.whole(Some(part)), draft.after_tokens);
        }
        Fault::SseErrorFirst | Fault::SseErrorBare => {
            steps.send(&error_body(draft.dialect, &draft.trouble(fault)), 0);
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

/// The body before and after the last quotation mark that a text may stand in front of.
fn around(body: &[u8]) -> (&[u8], &[u8]) {
    let within = br#"":""#;
    let at = body.windows(within.len()).position(|window| window == within);
    body.split_at(at.map_or(body.len(), |at| at + within.len()))
}
