//! A report as text for readers.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::{ErrorReport, Report, SeatReport};

use super::agreement::AgreementReply;
use super::reply;
use super::seat_name::name;

/// Missing seats that the text names; of the others it gives the number.
const MISSING_MAX: usize = 8;
/// The longest excerpt of a reason, in characters.
const REASON_CHARS: usize = 160;

/// The answer, a summary line, lines on synthesis, agreement and warnings, and a footer. Without an answer: the error and the seats' texts.
pub(super) fn of(report: &Report, agreement: Option<&AgreementReply>, footer: Option<String>) -> String {
    let mut parts = Vec::new();
    if let Some(answer) = &report.answer {
        parts.push(answer.to_string());
    } else {
        parts.extend(report.error.iter().map(of_error));
        let finished = report.answers.iter().filter_map(|seat| Some((seat, seat.text.as_ref()?)));
        let heading = |seat: &SeatReport| format!("[seat {}, {}, {}]", seat.seat, seat.who(), seat.status);
        parts.extend(finished.map(|(seat, text)| format!("{}\n{text}", heading(seat))));
    }
    let lines = [Some(summary(report)), how(report), agreement.map(AgreementReply::line)];
    let warning = |warning: &ErrorReport| {
        format!("warning[{}]: {}", warning.code, excerpt(&warning.message, REASON_CHARS))
    };
    let lines = lines.into_iter().flatten().chain(reply::warnings(report).map(warning));
    parts.push(lines.collect::<Vec<_>>().join("\n"));
    parts.extend(footer);
    parts.join("\n\n")
}

/// An error on one line, with its next step.
pub(super) fn of_error(error: &ErrorReport) -> String {
    format!("{}: {} (next: {})", error.code, error.message, error.next)
}

/// One line such as `run_id 01…, complete, 4 of 5 answered, missing: a/b (rate_limited: …), 42.0 s, $0.0310`.
fn summary(report: &Report) -> String {
    let missing: Vec<&SeatReport> = report.seats(&report.seats_missing).collect();
    let mut parts = vec![
        format!("run_id {}", report.run_id),
        report.status.clone(),
        format!("{} answered", reply::answered(report)),
    ];
    if !report.seats_used_although_cut.is_empty() {
        let cut: Vec<String> =
            report.seats_used_although_cut.iter().map(|seat| name(report, *seat)).collect();
        parts.push(format!("used although cut: {}", cut.join("; ")));
    }
    if !missing.is_empty() {
        // The error of a run without an answer gives the reasons already.
        let with_message = report.error.is_none();
        let mut reasons: Vec<String> =
            missing.iter().take(MISSING_MAX).map(|seat| reason(report, seat, with_message)).collect();
        if missing.len() > MISSING_MAX {
            reasons.push(format!("{} more", missing.len() - MISSING_MAX));
        }
        parts.push(format!("missing: {}", reasons.join("; ")));
    }
    parts.push(seconds(report.elapsed_ms));
    parts.push(report.cost_described());
    parts.join(", ")
}

/// How the answer was made: `fused by a/b`, or `selected, the text of a/b: it came first of 3`.
fn how(report: &Report) -> Option<String> {
    let synthesis = report.synthesis.as_ref().filter(|_| report.answer.is_some())?;
    let (kind, reason) = (&synthesis.kind, excerpt(&synthesis.reason, REASON_CHARS));
    Some(match &synthesis.by {
        Some(by) if kind == "fused" => format!("fused by {by}"),
        Some(by) => format!("{kind}, the text of {by}: {reason}"),
        None => format!("{kind}: {reason}"),
    })
}

fn reason(report: &Report, seat: &SeatReport, with_message: bool) -> String {
    let (model, status) = (name(report, seat.seat), &seat.status);
    match &seat.error {
        Some(error) if with_message => {
            format!("{model} ({status} {}: {})", error.code, excerpt(&error.message, REASON_CHARS))
        }
        Some(error) => format!("{model} ({status} {})", error.code),
        None => format!("{model} ({status})"),
    }
}
