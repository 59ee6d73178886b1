//! Results, as clients take them: a report with a bound for programs, and the same told as text.
//!
//! Several clients show their model only one of the two, so each stands alone. What always holds: the run's name and
//! the answer are in both; all else is at most [`RESULT_BYTES_MAX`]; what is left out is named with the call that
//! fetches it; `isError` is set only where nothing usable came back.

use parallel_llm_engine::Failure;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::part;
use crate::output::report::{ErrorReport, Report, SeatReport};
use crate::output::seat::seconds;

/// The most a report takes of a model's context beyond the answer itself, in bytes.
const RESULT_BYTES_MAX: usize = 10_000;
/// The longest answer given at once, in characters: beyond it clients cut by themselves, and do not say where.
const ANSWER_CHARS_MAX: usize = 100_000;
/// The longest wait one call of `get_run` is asked for, in seconds: below the shortest wall of a client.
pub(super) const WAIT_S_MAX: u64 = 50;

/// What is left out next where a report is still too large.
const SLIMMING: [fn(&mut Value); 3] = [leave_out_figures, leave_out_messages, leave_out_answered];

/// Tells a run.
pub(super) fn of_report(mut report: Report) -> CallToolResult {
    let is_error = is_useless(&report);
    let answer_rest = cut_answer(&mut report);
    let has_left_out = leave_out_texts(&mut report);
    let next = next_step(&report, answer_rest, has_left_out);
    let text = text_of(&report, next.as_deref());
    let mut told = report.to_json();
    for slim in SLIMMING {
        if beyond_answer(&told) > RESULT_BYTES_MAX {
            slim(&mut told);
        }
    }
    if let Some(error) = report.error.as_ref().filter(|_| is_error) {
        merge(&mut told, &serde_json::to_value(error).unwrap_or_default());
    }
    if let Some(next) = next {
        told["next"] = next.into();
    }
    result(told, text, is_error)
}

/// Tells why there is no run to tell of.
pub(super) fn of_failure(failure: &Failure) -> CallToolResult {
    let error = ErrorReport::of(failure);
    let text = format!("{}: {} (next: {})", error.code, error.message, error.next);
    result(json!(error), text, true)
}

/// Tells that a run was begun and lost sight of.
pub(super) fn of_run_failure(run_id: impl std::fmt::Display, failure: &Failure) -> CallToolResult {
    let mut result = of_failure(failure);
    if let Some(told) = &mut result.structured_content {
        told["run_id"] = run_id.to_string().into();
    }
    result
}

/// A result of both forms.
pub(super) fn result(told: Value, text: String, is_error: bool) -> CallToolResult {
    let mut result = CallToolResult::structured(told);
    result.content = vec![ContentBlock::text(text)];
    result.is_error = Some(is_error);
    result
}

fn merge(told: &mut Value, besides: &Value) {
    for (name, value) in besides.as_object().into_iter().flatten() {
        told[name] = value.clone();
    }
}

fn is_useless(report: &Report) -> bool {
    let is_over = report.status != "running";
    is_over && report.answer.is_none() && report.answers.iter().all(|seat| seat.text.is_none())
}

/// Cuts an answer that is too long, and returns where the rest begins.
fn cut_answer(report: &mut Report) -> Option<usize> {
    let answer = report.answer.as_mut()?;
    let (end, _) = answer.char_indices().nth(ANSWER_CHARS_MAX)?;
    answer.truncate(end);
    Some(ANSWER_CHARS_MAX)
}

/// Leaves out the texts of seats, the longest first, until the rest fits. Says whether any was.
fn leave_out_texts(report: &mut Report) -> bool {
    let mut has_left_out = false;
    while beyond_answer(&report.to_json()) > RESULT_BYTES_MAX {
        let longest =
            report.answers.iter_mut().filter(|seat| seat.text.is_some()).max_by_key(|seat| seat.text_bytes);
        match longest {
            Some(seat) => seat.text = None,
            None => break,
        }
        has_left_out = true;
    }
    has_left_out
}

fn beyond_answer(told: &Value) -> usize {
    told.to_string().len() - told["answer"].to_string().len()
}

fn seats(told: &mut Value) -> impl Iterator<Item = &mut Value> {
    told["answers"].as_array_mut().into_iter().flatten()
}

/// Keeps of each seat what tells how it went.
fn leave_out_figures(told: &mut Value) {
    const KEPT: [&str; 6] = ["seat", "model", "status", "late", "text_bytes", "error"];
    for seat in seats(told).filter_map(Value::as_object_mut) {
        seat.retain(|name, value| KEPT.contains(&name.as_str()) && !value.is_null());
    }
}

/// Keeps of each seat's error its code.
fn leave_out_messages(told: &mut Value) {
    for error in seats(told).filter_map(|seat| seat.get_mut("error")) {
        *error = json!({ "code": error["code"] });
    }
    told["warnings"] = json!([]);
}

/// Keeps the seats that are missing.
fn leave_out_answered(told: &mut Value) {
    if let Some(seats) = told["answers"].as_array_mut() {
        seats.retain(|seat| seat["status"] != "answered");
    }
}

/// How to get what is not here.
fn next_step(report: &Report, answer_rest: Option<usize>, has_left_out: bool) -> Option<String> {
    let run_id = &report.run_id;
    let mut steps = Vec::new();
    if report.status == "running" {
        steps.push(format!(
            "the run goes on: call get_run with {{\"run_id\":\"{run_id}\",\"wait_s\":{WAIT_S_MAX}}} for the answer"
        ));
    }
    if let Some(offset) = answer_rest {
        steps.push(format!("the rest of the answer: get_run with {}", part::call(run_id, "answer", offset)));
    }
    if has_left_out {
        steps.push(format!(
            "texts left out for their size: get_run with {}",
            part::call(run_id, "answer:<seat>", 0)
        ));
    }
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// The answer, and a line on how it came about.
fn text_of(report: &Report, next: Option<&str>) -> String {
    let mut parts = Vec::new();
    match (&report.answer, &report.error) {
        (Some(answer), _) => parts.push(answer.clone()),
        (None, Some(error)) => {
            parts.push(format!("{}: {} (next: {})", error.code, error.message, error.next))
        }
        (None, None) => {}
    }
    if report.answer.is_none() {
        let finished = report.answers.iter().filter_map(|seat| seat.text.as_ref().map(|text| (seat, text)));
        parts
            .extend(finished.map(|(seat, text)| {
                format!("[seat {}, {}, {}]\n{text}", seat.seat, seat.model, seat.status)
            }));
    }
    parts.push(summary(report));
    parts.extend(next.map(|next| format!("next: {next}")));
    parts.join("\n\n")
}

/// One line such as `run_id 01…, complete, 4 of 5 answered, missing: a/b (rate_limited: …), 42.0 s, $0.0310`.
fn summary(report: &Report) -> String {
    let is_missing = |seat: &&SeatReport| seat.status != "answered";
    let answered = report.answers.iter().filter(|seat| seat.status == "answered").count();
    let mut parts = vec![
        format!("run_id {}", report.run_id),
        report.status.clone(),
        format!("{answered} of {} answered", report.answers.len()),
    ];
    let missing: Vec<String> = report.answers.iter().filter(is_missing).map(reason).collect();
    if !missing.is_empty() {
        parts.push(format!("missing: {}", missing.join("; ")));
    }
    parts.push(seconds(report.elapsed_ms));
    let about = if report.cost_is_estimate { "about " } else { "" };
    parts.push(format!("{about}${:.4}", report.cost_usd));
    parts.join(", ")
}

fn reason(seat: &SeatReport) -> String {
    match &seat.error {
        Some(error) => format!("{} ({} {}: {})", seat.model, seat.status, error.code, error.message),
        None => format!("{} ({})", seat.model, seat.status),
    }
}
