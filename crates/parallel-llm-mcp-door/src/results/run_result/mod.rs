//! The tool results of runs and failures: a small reply or the report within its size, and the same as text.
//!
//! Several clients show their model only one of the two forms, so each stands alone. What always holds: the run's id and
//! the answer are in both; everything else takes at most [`RESULT_BYTES_MAX`]; what is left out is named with the call that
//! fetches it; `isError` is set only where nothing usable came back.

mod agreement;
mod next_step;
mod reply;
mod seat_name;
mod size;
#[cfg(test)]
mod tests;
mod text;

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::answer::is_long_enough;
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::{Value, json};

use super::address;
use super::next_step::NextStep;
use super::result::{self, THIRD_PARTY};
use crate::vocabulary;
use parallel_llm_service::Principal;
use parallel_llm_service::report::{ErrorReport, Report, SeatReport};

use agreement::AgreementReply;
pub(crate) use next_step::WAIT_S_MAX;
pub(crate) use reply::RunReply;
pub(crate) use size::RESULT_BYTES_MAX;

/// Linked texts; `next` names the call that fetches any other.
const LINKS_MAX: usize = 8;

/// The reply on a run, as this principal may read it.
pub(crate) fn of_run(principal: &Principal, report: Report) -> CallToolResult {
    let mut report = rendered(principal, report);
    let is_error = is_useless(&report);
    let answer_rest = size::cut_answer(&mut report);
    // The agreement reads the whole analysis, so it is made before the analysis is shortened.
    let agreement = AgreementReply::of(&report);
    // The texts of seats are given only in place of an answer.
    let left_out = if report.answer.is_none() { size::shorten(&mut report) } else { Vec::new() };
    let next = next_step::of(&report, answer_rest, &left_out);
    let text = {
        let details = || NextStep::part(&report.run_id, "report", 0, "details");
        let footer = next.as_ref().map_or_else(|| details().to_string(), |next| format!("next: {next}"));
        text::of(&report, agreement.as_ref(), Some(footer))
    };
    let links = links(&report, answer_rest, &left_out);
    let reply = RunReply::of(&report, agreement, &left_out, next, is_error);
    linked(result::of(json!(reply), text, is_error), links)
}

/// The whole report of a run within its size, as this principal may read it.
pub(crate) fn of_report(principal: &Principal, report: Report) -> CallToolResult {
    let mut report = rendered(principal, report);
    let is_error = is_useless(&report);
    let answer_rest = size::cut_answer(&mut report);
    // Earlier results gave these texts.
    report.earlier.iter_mut().for_each(|earlier| earlier.answer = None);
    let agreement = AgreementReply::of(&report);
    let left_out = size::shorten(&mut report);
    let next = next_step::of(&report, answer_rest, &left_out);
    let text = text::of(&report, agreement.as_ref(), next.as_ref().map(|next| format!("next: {next}")));
    let links = links(&report, answer_rest, &left_out);
    let mut structured = size::slimmed(report.to_json());
    if let Some(error) = report.error.as_ref().filter(|_| is_error) {
        merge(&mut structured, &serde_json::to_value(error).unwrap_or_default());
    }
    if let Some(next) = next {
        structured["next"] = json!(next);
    }
    structured["third_party"] = THIRD_PARTY.into();
    linked(result::of(structured, text, is_error), links)
}

/// A failure without a run, as this principal may read it.
pub(crate) fn of_failure(principal: &Principal, failure: Failure) -> CallToolResult {
    let error = ErrorReport::of(&principal.redact(failure)).in_vocabulary(vocabulary::of(principal));
    result::of(json!(error), text::of_error(&error), true)
}

/// A failure after the run began, which says nothing of how the run ends.
pub(crate) fn of_run_failure(
    principal: &Principal,
    run_id: impl std::fmt::Display,
    failure: Failure,
) -> CallToolResult {
    let mut result = of_failure(principal, failure);
    if let Some(structured) = &mut result.structured_content {
        structured["run_id"] = run_id.to_string().into();
    }
    result
}

/// The report without what this principal may not read, its next steps in the words of the tools.
fn rendered(principal: &Principal, report: Report) -> Report {
    principal.redact_report(report).in_vocabulary(vocabulary::of(principal))
}

fn merge(structured: &mut Value, members: &Value) {
    for (name, value) in members.as_object().into_iter().flatten() {
        structured[name] = value.clone();
    }
}

fn linked(mut result: CallToolResult, links: Vec<Resource>) -> CallToolResult {
    result.content.extend(links.into_iter().map(ContentBlock::resource_link));
    result
}

/// Whether a run failed without a usable text, by the engine's own rule for answers: a scrap of a cut answer is reported,
/// but is not usable.
fn is_useless(report: &Report) -> bool {
    let is_usable =
        |seat: &SeatReport| seat.text.is_some() && is_long_enough(seat.status == "answered", seat.text_bytes);
    report.error.is_some() && !report.answers.iter().any(is_usable)
}

/// Links to texts that are cut or left out, for clients that read resources.
fn links(report: &Report, answer_rest: Option<size::Rest>, left_out: &[usize]) -> Vec<Resource> {
    let run_id = &report.run_id;
    let answer = answer_rest
        .map(|rest| address::link(run_id, "answer", "The whole answer".to_owned(), rest.whole_bytes));
    let of_seat = |index: &usize| {
        let seat = &report.answers[*index];
        let title = format!("The answer of seat {}, {}", seat.seat, seat.who());
        address::link(run_id, &format!("answer:{}", seat.seat), title, seat.text_bytes)
    };
    answer.into_iter().chain(left_out.iter().map(of_seat)).take(LINKS_MAX).collect()
}
