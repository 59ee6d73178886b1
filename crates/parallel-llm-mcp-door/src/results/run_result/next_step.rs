//! The choice of a run's next step: the one call that fetches what is missing or continues the run.

use parallel_llm_engine::value::next::{self, Next, Operation};
use parallel_llm_service::Principal;
use parallel_llm_service::report::{Report, Resuming};

use super::size::Rest;
use crate::results::next_step::{Arguments, GET_RUN, NextStep, RESUME_RUN};
use crate::results::part;
use crate::vocabulary;

/// The longest wait that `next` suggests for one call of `get_run`, in seconds: below the shortest timeout of a client.
pub(crate) const WAIT_S_MAX: u64 = 50;

/// The next step, free ones first; `None` for a result that lacks nothing.
pub(super) fn of(report: &Report, answer_rest: Option<Rest>, left_out: &[usize]) -> Option<NextStep> {
    let run_id = &report.run_id;
    if report.status == "running" {
        // Until a further part of a run is decided, its answer is the earlier one.
        let earlier = if report.answer.is_some() { ", and `answer` is the one from before" } else { "" };
        let arguments = Arguments { wait_s: Some(WAIT_S_MAX), ..Arguments::of_run(run_id) };
        return Some(NextStep::call(GET_RUN, arguments, format!("the run goes on{earlier}")));
    }
    if let Some(rest) = answer_rest {
        return Some(NextStep::part(run_id, "answer", rest.offset, "the rest of the answer"));
    }
    text_left_out(report, left_out)
        .or_else(|| resume(report))
        .or_else(|| texts_not_kept(report))
        .or_else(|| fuse(report))
}

/// The call that fetches the first text that was left out.
fn text_left_out(report: &Report, left_out: &[usize]) -> Option<NextStep> {
    let numbers: Vec<String> = left_out.iter().map(|index| report.answers[*index].seat.to_string()).collect();
    let first = numbers.first()?;
    let why = match numbers.as_slice() {
        [_] => format!("the text of seat {first} was left out for its size"),
        _ => format!("the texts of seats {} were left out for their size", numbers.join(", ")),
    };
    Some(NextStep::part(&report.run_id, format!("answer:{first}"), 0, why))
}

/// The call that continues a run that was interrupted or lacks answers.
fn resume(report: &Report) -> Option<NextStep> {
    let lead = match (report.status.as_str(), report.answer.is_some()) {
        ("interrupted", true) => {
            "a further part of the run was interrupted, and `answer` is the one from before"
        }
        ("interrupted", false) => "the run was interrupted",
        _ => "seats are without an answer",
    };
    let arguments = Arguments::of_run(&report.run_id);
    Some(match report.resuming? {
        Resuming::Ask => {
            let why = format!("{lead}; no answer is paid for twice");
            NextStep::call(RESUME_RUN, arguments, why)
        }
        Resuming::Resend => {
            let why =
                format!("{lead}; what was sent and never heard of may have been paid, so ask the user first");
            NextStep::call(RESUME_RUN, Arguments { resend: Some(true), ..arguments }, why)
        }
    })
}

/// Advice for a run that had an answer, which is not kept.
fn texts_not_kept(report: &Report) -> Option<NextStep> {
    let synthesis = report.synthesis.as_ref()?;
    if report.answer.is_some() || synthesis.kind == "none" {
        return None;
    }
    let keep = next::render(&[Next::Use(Operation::KeepTexts)], vocabulary::of(&Principal::Owner));
    Some(NextStep::Advice(format!("{}: {keep}", part::TEXTS_NOT_KEPT)))
}

/// The call that fuses answers of which only one was given, word for word.
fn fuse(report: &Report) -> Option<NextStep> {
    let is_verbatim = report.synthesis.as_ref().is_some_and(|synthesis| synthesis.kind == "verbatim");
    (report.seats_answered > 1 && is_verbatim).then(|| {
        let arguments = Arguments { strategy: Some("synthesize"), ..Arguments::of_run(&report.run_id) };
        NextStep::call(RESUME_RUN, arguments, "the answers were not fused")
    })
}
