//! The tool results of runs and failures: a report within its size, and the same report as text.
//!
//! Several clients show their model only one of the two, so each stands alone. What always holds: the run's id and the
//! answer are in both; everything else takes at most [`RESULT_BYTES_MAX`]; what is left out is named with the call that
//! fetches it; `isError` is set only where nothing usable came back.

mod agreement;
mod next_step;
mod size;
#[cfg(test)]
mod tests;
mod text;

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::answer::is_long_enough;
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::{Value, json};

use super::result::{self, THIRD_PARTY};
use super::{address, vocabulary};
use parallel_llm_service::Principal;
use parallel_llm_service::report::{ErrorReport, Report, SeatReport};

pub(super) use next_step::WAIT_S_MAX;
pub(super) use size::RESULT_BYTES_MAX;

/// Linked texts; `next` names the call that fetches any other.
const LINKS_MAX: usize = 8;

/// The report of a run, as this principal may read it.
pub(super) fn of_report(principal: &Principal, report: Report) -> CallToolResult {
    let mut report = principal.redact_report(report).in_vocabulary(vocabulary::of(principal));
    let is_error = is_useless(&report);
    let answer_rest = size::cut_answer(&mut report);
    // Earlier results gave these texts.
    report.earlier.iter_mut().for_each(|earlier| earlier.answer = None);
    // The line reads the whole analysis, so it is made before the analysis is shortened.
    let agreement_line = agreement::line(&report);
    let left_out = size::shorten(&mut report);
    let next = next_step::of(&report, answer_rest, !left_out.is_empty());
    let text = text::of(&report, agreement_line, next.as_deref());
    let links = links(&report, answer_rest, &left_out);
    let mut structured = size::slimmed(report.to_json());
    if let Some(error) = report.error.as_ref().filter(|_| is_error) {
        merge(&mut structured, &serde_json::to_value(error).unwrap_or_default());
    }
    if let Some(next) = next {
        structured["next"] = next.into();
    }
    structured["third_party"] = THIRD_PARTY.into();
    let mut result = result::of(structured, text, is_error);
    result.content.extend(links.into_iter().map(ContentBlock::resource_link));
    result
}

/// A failure without a run, as this principal may read it.
pub(super) fn of_failure(principal: &Principal, failure: Failure) -> CallToolResult {
    let error = ErrorReport::of(&principal.redact(failure)).in_vocabulary(vocabulary::of(principal));
    result::of(json!(error), text::of_error(&error), true)
}

/// A failure after the run began, which says nothing of how the run ends.
pub(super) fn of_run_failure(
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

fn merge(structured: &mut Value, members: &Value) {
    for (name, value) in members.as_object().into_iter().flatten() {
        structured[name] = value.clone();
    }
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
