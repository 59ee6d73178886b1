//! A report as text for readers.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::{ErrorReport, Report, SeatReport};

/// Missing seats that the text names; of the others it gives the number.
const MISSING_MAX: usize = 8;
/// The longest excerpt of a reason, in characters.
const REASON_CHARS: usize = 160;

/// The answer, a summary line, the line on agreement and the next steps. Without an answer: the error and the seats' texts.
pub(super) fn of(report: &Report, agreement: Option<String>, next: Option<&str>) -> String {
    let mut parts = Vec::new();
    if let Some(answer) = &report.answer {
        parts.push(answer.to_string());
    } else {
        parts.extend(report.error.iter().map(of_error));
        let finished = report.answers.iter().filter_map(|seat| Some((seat, seat.text.as_ref()?)));
        let heading = |seat: &SeatReport| format!("[seat {}, {}, {}]", seat.seat, seat.who(), seat.status);
        parts.extend(finished.map(|(seat, text)| format!("{}\n{text}", heading(seat))));
    }
    parts.push([Some(summary(report)), agreement].into_iter().flatten().collect::<Vec<_>>().join("\n"));
    parts.extend(next.map(|next| format!("next: {next}")));
    parts.join("\n\n")
}

/// An error on one line, with its next step.
pub(super) fn of_error(error: &ErrorReport) -> String {
    format!("{}: {} (next: {})", error.code, error.message, error.next)
}

/// One line such as `run_id 01…, complete, 4 of 5 answered, missing: a/b (rate_limited: …), 42.0 s, $0.0310`.
fn summary(report: &Report) -> String {
    let missing: Vec<&SeatReport> = report.answers.iter().filter(|seat| seat.status != "answered").collect();
    let panel = report.answers.len();
    let mut parts = vec![
        format!("run_id {}", report.run_id),
        report.status.clone(),
        format!("{} of {panel} answered", panel - missing.len()),
    ];
    if !missing.is_empty() {
        // The error of a run without an answer gives the reasons already.
        let with_message = report.error.is_none();
        let mut reasons: Vec<String> =
            missing.iter().take(MISSING_MAX).map(|seat| reason(seat, with_message)).collect();
        if missing.len() > MISSING_MAX {
            reasons.push(format!("{} more", missing.len() - MISSING_MAX));
        }
        parts.push(format!("missing: {}", reasons.join("; ")));
    }
    parts.push(seconds(report.elapsed_ms));
    parts.push(report.cost_described());
    parts.join(", ")
}

fn reason(seat: &SeatReport, with_message: bool) -> String {
    let (model, status) = (&seat.model, &seat.status);
    match &seat.error {
        Some(error) if with_message => {
            format!("{model} ({status} {}: {})", error.code, excerpt(&error.message, REASON_CHARS))
        }
        Some(error) => format!("{model} ({status} {})", error.code),
        None => format!("{model} ({status})"),
    }
}
