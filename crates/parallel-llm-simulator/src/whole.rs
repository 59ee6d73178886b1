//! Writes a draft as one JSON body, the form without streaming.
//!
//! A fault that is about streams breaks the body in the way that comes nearest: it is cut where the stream would be.

use std::time::Duration;

use hyper::StatusCode;

use crate::draft::{Draft, bare_error, split_tokens};
use crate::fault::Fault;
use crate::json::Object;
use crate::odd::PADDING;
use crate::reply::{REPEATS_MAX, Reply, Steps, filler, scaled};
use crate::tempo::Tempo;

/// Pace of the padding that a fault repeats.
const PADDING_EVERY_MS: f64 = 600.0;

/// The reply without streaming.
pub(crate) fn reply(draft: &Draft, tempo: &Tempo) -> Reply {
    let mut steps = Steps::new(tempo.time_scale);
    let wait = pad_while_waiting(draft, tempo, &mut steps);
    match draft.breaks {
        None => steps.send(&body(draft), draft.completion_tokens()),
        Some(fault) => break_off(draft, fault, &mut steps),
    }
    Reply { wait, ..Reply::steps(StatusCode::OK, "application/json", steps) }
}

fn body(draft: &Draft) -> Vec<u8> {
    let choice = choice(draft, draft.text());
    let body = draft.opening("chat.completion").with("system_fingerprint", &None::<&str>);
    let choices = draft.has_choice.then_some(choice);
    body.list("choices", choices).nest("usage", draft.usage()).bytes()
}

fn choice(draft: &Draft, text: &str) -> Object {
    let content = draft.content.as_ref().map(|_| text);
    let message = Object::new().with("role", "assistant").with("content", &content);
    let message = message.with("refusal", &draft.refusal);
    let message = if draft.reasoning.is_empty() {
        message
    } else {
        let detail = Draft::reasoning_detail(&draft.reasoning);
        message.with("reasoning", &draft.reasoning).list("reasoning_details", [detail])
    };
    let message = if draft.novel { message.with("mood", "calm") } else { message };
    let choice = Object::new().with("index", &0).with("logprobs", &None::<&str>);
    draft.finished(choice, Some((draft.finish, draft.native_finish))).nest("message", message)
}

/// Waits as long as generating takes. If that is longer than a keep-alive, the head leaves at once and white space
/// follows, as OpenRouter does it; otherwise the head waits for the time returned.
fn pad_while_waiting(draft: &Draft, tempo: &Tempo, steps: &mut Steps) -> Duration {
    let wait_ms = tempo.ttft_ms + tempo.ms(draft.completion_tokens());
    let every_ms = tempo.comment_every_ms as f64;
    if every_ms == 0.0 || wait_ms < every_ms {
        return scaled(wait_ms, tempo.time_scale);
    }
    let paddings = REPEATS_MAX.min((wait_ms / every_ms) as u64);
    for _ in 0..paddings {
        steps.pause_ms(every_ms);
        steps.send(PADDING, 0);
    }
    steps.pause_ms(wait_ms - paddings as f64 * every_ms);
    Duration::ZERO
}

fn break_off(draft: &Draft, fault: Fault, steps: &mut Steps) {
    let body = body(draft);
    let cut = usize::try_from(draft.after_tokens * 4).unwrap_or(usize::MAX).min(body.len() / 2);
    let (sent, unsent) = body.split_at(cut);
    match fault {
        Fault::OkFinishError | Fault::SseErrorMid => steps.send(&partial(draft), draft.after_tokens),
        Fault::SseErrorFirst | Fault::SseErrorBare => steps.send(&bare_error().bytes(), 0),
        Fault::CommentsForever | Fault::SlowDrip => steps.repeat(PADDING, PADDING_EVERY_MS),
        Fault::HugeLine => {
            steps.send(br#"{"choices":[{"message":{"content":""#, 0);
            steps.huge_text();
            steps.send(br#""}}]}"#, 0);
        }
        Fault::Flood => {
            steps.send(br#"{"choices":[{"message":{"content":""#, 0);
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

/// Half an answer, its finish reason `error`.
fn partial(draft: &Draft) -> Vec<u8> {
    let (text, _) = split_tokens(draft.text(), draft.after_tokens);
    let message = Object::new().with("role", "assistant").with("content", text);
    let error = Object::new().with("code", &502).with("message", "Provider disconnected mid-stream");
    let choice = Object::new().with("index", &0).with("logprobs", &None::<&str>);
    let choice = draft.finished(choice, Some(("error", "error"))).nest("message", message);
    let choice = choice.nest("error", error);
    draft.opening("chat.completion").list("choices", [choice]).nest("usage", draft.usage_before()).bytes()
}
