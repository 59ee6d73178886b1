//! The questions: `POST /v1/chat/completions` and `POST /v1/responses`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::Code;
use parallel_llm_service::{Begun, Consent, Order, RunHandle};

use crate::caller::Caller;
use crate::refusal::Refusal;
use crate::reply::{self, Answer, Completion, ResponseObject, Settings};
use crate::request::{self, Asked, ChatRequest, ResponsesRequest};
use crate::stream::{self, ChatFrames, Frames, ResponseFrames};

/// The form of the answer of a chat.
struct ChatForm {
    stream: bool,
    includes_usage: bool,
}

/// Answers a chat.
pub(crate) async fn chat(caller: Caller, body: Bytes) -> Response {
    let caller = Arc::new(caller);
    // Boxed, because planning and beginning a run takes kilobytes.
    let answered = Box::pin(answer_chat(&caller, body)).await;
    answered.unwrap_or_else(|refusal| caller.refuse(refusal.at(|code| param(code, "messages"))))
}

/// Answers with a response.
pub(crate) async fn responses(caller: Caller, body: Bytes) -> Response {
    let caller = Arc::new(caller);
    let answered = Box::pin(answer_response(&caller, body)).await;
    answered.unwrap_or_else(|refusal| caller.refuse(refusal.at(|code| param(code, "input"))))
}

async fn answer_chat(caller: &Arc<Caller>, body: Bytes) -> Result<Response, Refusal> {
    let reader = Arc::clone(caller);
    let read = move |request: ChatRequest| {
        let includes_usage = request.includes_usage();
        let form = ChatForm { stream: request.stream.unwrap_or_default(), includes_usage };
        Ok((request.ask(&reader)?, form))
    };
    let (Asked { question, model, progress }, form) = request::read(body, read).await?;
    let handle = begin(caller, Order::Ask(question)).await?;
    if form.stream {
        let frames = ChatFrames::new(handle.id(), model, form.includes_usage, progress);
        return stream::answer(caller, &handle, progress, Frames::Chat(frames)).await;
    }
    let answer = whole(caller, &handle).await?;
    let headers = answer.headers();
    Ok((headers, reply::json(&Completion::new(answer, model))).into_response())
}

async fn answer_response(caller: &Arc<Caller>, body: Bytes) -> Result<Response, Refusal> {
    let reader = Arc::clone(caller);
    let read = move |request: ResponsesRequest| {
        let stream = request.stream.unwrap_or_default();
        let settings = Settings::of(&request);
        Ok((request.ask(&reader)?, stream, settings))
    };
    let (Asked { question, progress, .. }, stream, settings) = request::read(body, read).await?;
    let handle = begin(caller, Order::Ask(question)).await?;
    let settings = settings.kept_by(&handle);
    if stream {
        let frames = ResponseFrames::new(handle.id(), settings, progress);
        return stream::answer(caller, &handle, progress, Frames::Response(Box::new(frames))).await;
    }
    let answer = whole(caller, &handle).await?;
    let headers = answer.headers();
    Ok((headers, reply::json(&ResponseObject::ended(&answer, &settings, None))).into_response())
}

/// Begins an order. No user can be asked to allow more than the settings do.
async fn begin(caller: &Caller, order: Order) -> Result<RunHandle, Refusal> {
    match caller.services.ask.begin_with_consent(order, Consent::CannotBeAsked).await? {
        Begun::Run(handle) => Ok(handle),
        Begun::Unapproved(unapproved) => Err(unapproved.refused.into()),
    }
}

/// Waits for the whole answer. A caller that leaves gives the run up.
async fn whole(caller: &Caller, handle: &RunHandle) -> Result<Answer, Refusal> {
    let report = caller.waiting().paid_answer_or_drop(handle).await;
    Answer::of(handle, report, &caller.services.principal)
}

/// The field to which a failure of the service belongs; `question` is that of the messages.
fn param(code: Code, question: &str) -> Option<String> {
    let name = match code {
        Code::ModelUnknown | Code::ModelInvalid | Code::PanelSize => "model",
        Code::PromptEmpty | Code::PromptTooLong | Code::AttachmentUnsupported => question,
        Code::IdempotencyConflict => "parallel_llm.idempotency_key",
        Code::RunNotFound if question == "input" => "previous_response_id",
        Code::RunNotFound => "parallel_llm.continue_run",
        _ => return None,
    };
    Some(name.to_owned())
}
