//! Whole answers: the report of a run in the shapes of both protocols.

mod chat;
mod facts;
mod responses;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure, Finish, OutcomeKind, Run, RunId, RunStatus, SeatStatus};
use parallel_llm_service::report::Report;
use parallel_llm_service::{Principal, RunHandle};
use serde::Serialize;

pub(crate) use chat::{Chunk, Completion, Delta, FinishReason, UsageChunk};
pub(crate) use facts::{ChatUsage, Facts, ResponseUsage};
pub(crate) use responses::{OutputContent, OutputItem, OwnStatus, Response as ResponseObject, Settings};

use crate::refusal::{Refusal, header_of, json_of};
use crate::{COST, REQUEST_ID, vocabulary};

/// The answer of a run, as its caller may read it.
pub(crate) struct Answer {
    pub(crate) run_id: RunId,
    /// When the run began, in seconds since 1970.
    pub(crate) created: u64,
    /// The text.
    pub(crate) text: String,
    pub(crate) finish: FinishReason,
    pub(crate) facts: Facts,
    pub(crate) usage: Option<facts::Usage>,
}

impl Answer {
    /// The answer in a report of this run, or why there is none.
    pub(crate) fn of(handle: &RunHandle, report: Report, principal: &Principal) -> Result<Self, Refusal> {
        let run_id = handle.id();
        let report = principal.redact_report(report).in_vocabulary(vocabulary::of(principal));
        let Some(text) = report.answer.as_deref().map(str::to_owned) else {
            let refusal = match report.error {
                Some(error) => Refusal::reported(error),
                None if report.status == RunStatus::Running.as_str() => unfinished(run_id).into(),
                None => not_kept(run_id).into(),
            };
            return Err(refusal.of_run(run_id));
        };
        let usage = facts::Usage::sum(&report);
        Ok(Self {
            run_id,
            created: created(run_id),
            text,
            finish: handle.with_run(finish),
            usage: usage.known(),
            facts: Facts::of(&report, usage),
        })
    }

    /// The headers that name the run and its cost.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = headers(self.run_id);
        headers.extend(self.facts.cost_usd.map(|usd| (COST, header_of(&usd.to_string()))));
        headers
    }
}

/// When a run began, in seconds since 1970.
pub(crate) const fn created(run_id: RunId) -> u64 {
    run_id.unix_ms() / 1000
}

/// The headers that name a run.
pub(crate) fn headers(run_id: RunId) -> HeaderMap {
    [(REQUEST_ID, header_of(&run_id.to_string()))].into_iter().collect()
}

/// A body as JSON.
pub(crate) fn json(body: &impl Serialize) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (json, json_of(body)).into_response()
}

/// The failure of a call that is answered before its run has an answer.
pub(crate) fn unfinished(run_id: RunId) -> Failure {
    let message = format!("run {run_id} goes on, and has no answer yet");
    Failure::new(Code::Timeout, message)
        .with_next([Next::Use(Operation::WaitForRun), Next::Do(Advice::AskAgain)])
}

/// The failure of a run that has ended and whose text is nowhere.
fn not_kept(run_id: RunId) -> Failure {
    let failure = Failure::new(Code::Usage, format!("the texts of run {run_id} were not kept"));
    failure.with_next(Operation::KeepTexts)
}

/// Why the text of a run ends where it ends.
fn finish(run: &Run) -> FinishReason {
    let Some(outcome) = &run.outcome else { return FinishReason::Stop };
    let by_writer = |view: &&SeatView| outcome.by.as_ref() == Some(&view.model);
    let writer = match outcome.kind {
        OutcomeKind::Fused => run.called().filter(by_writer).filter(|view| view.answer.is_some()).last(),
        OutcomeKind::Selected | OutcomeKind::Verbatim => outcome.base_seat.and_then(|seat| run.seat(seat)),
        OutcomeKind::Listed | OutcomeKind::None => None,
    };
    let Some(writer) = writer else { return FinishReason::Stop };
    match writer.answer.as_ref().and_then(|answer| answer.finish.as_ref()) {
        Some(Finish::Other(word)) if word == "content_filter" => FinishReason::ContentFilter,
        Some(Finish::Length) => FinishReason::Length,
        // A text that broke off ends before its end, too; the protocol has no other word for it.
        _ if writer.status == SeatStatus::Cut => FinishReason::Length,
        _ => FinishReason::Stop,
    }
}
