//! The `next` of a result: the calls that fetch what is missing, or continue the run.

use parallel_llm_engine::value::next::{self, Next, Operation};
use parallel_llm_service::Principal;
use parallel_llm_service::report::{Report, Resuming};

use super::super::{part, vocabulary};
use super::size::Rest;

/// The longest wait that `next` suggests for one call of `get_run`, in seconds: below the shortest timeout of a client.
pub(crate) const WAIT_S_MAX: u64 = 50;

/// All next steps in one text; `None` for a result that lacks nothing.
pub(super) fn of(report: &Report, answer_rest: Option<Rest>, has_left_out: bool) -> Option<String> {
    let run_id = &report.run_id;
    let mut steps = Vec::new();
    // Until a further part of a run is decided, its answer is the earlier one.
    let has_answer = report.answer.is_some();
    if report.status == "running" {
        let earlier = if has_answer { ", and `answer` is the one from before" } else { "" };
        steps.push(format!(
            "the run goes on{earlier}: call get_run with {{\"run_id\":\"{run_id}\",\"wait_s\":{WAIT_S_MAX}}} for the \
             answer"
        ));
    }
    steps.extend(resume_step(report));
    let kind = report.synthesis.as_ref().map(|synthesis| synthesis.kind.as_str());
    if !has_answer && kind.is_some_and(|kind| kind != "none") {
        steps.push(format!(
            "{}: {}",
            part::TEXTS_NOT_KEPT,
            next::render(&[Next::Use(Operation::KeepTexts)], vocabulary::of(&Principal::Owner))
        ));
    }
    let answered = report.answers.iter().filter(|seat| seat.status == "answered").count();
    if answered > 1 && report.status != "running" && kind == Some("verbatim") {
        steps.push(format!(
            "the answers were not fused: resume_run with {{\"run_id\":\"{run_id}\",\"synthesizer\":\"<model>\"}} does it"
        ));
    }
    if let Some(rest) = answer_rest {
        steps.push(format!(
            "the rest of the answer: get_run with {}",
            part::call(run_id, "answer", rest.offset)
        ));
    }
    if has_left_out {
        steps.push(format!(
            "texts left out for their size: get_run with {}",
            part::call(run_id, "answer:<seat>", 0)
        ));
    }
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// The call that continues a run that was interrupted or lacks answers.
fn resume_step(report: &Report) -> Option<String> {
    let run_id = &report.run_id;
    let lead = match (report.status.as_str(), report.answer.is_some()) {
        ("interrupted", true) => {
            "a further part of the run was interrupted, and `answer` is the one from before"
        }
        ("interrupted", false) => "the run was interrupted",
        _ => "seats are without an answer",
    };
    Some(match report.resuming? {
        Resuming::Ask => format!(
            "{lead}: call resume_run with {{\"run_id\":\"{run_id}\"}} to go on, without paying for its answers again"
        ),
        Resuming::Resend => format!(
            "{lead}; what was sent and never heard of may have been paid: ask the user, then call resume_run with \
             {{\"run_id\":\"{run_id}\",\"resend\":true}}"
        ),
    })
}
