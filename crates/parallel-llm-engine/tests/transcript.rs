//! Renders a run as short text, so that whole runs can be compared and read.

use std::fmt::Write;

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::request::strategy::Strategy;
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::run::event::{Event, Recorded};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Failure, Outcome, OutcomeKind, PicoUsd, Reopening, Run, SeatNumber, SeatStatus};

/// Longer texts, in characters, are rendered as their beginning and length.
const TEXT_CHARS_MAX: usize = 48;

/// A line for each commit, with its events and their times in milliseconds.
pub(crate) fn commits(commits: &[Vec<Recorded>]) -> String {
    let line = |commit: &Vec<Recorded>| {
        commit
            .iter()
            .map(|recorded| format!("{} {}", recorded.elapsed_ms, result(&recorded.event)))
            .collect::<Vec<_>>()
    };
    commits.iter().map(|commit| line(commit).join(" | ")).collect::<Vec<_>>().join("\n")
}

/// The name of an event and the slot of its call.
pub(crate) fn short(event: &Event) -> String {
    let name = match event {
        Event::Started { .. } => "started",
        Event::Sent { .. } => "sent",
        Event::Accepted { .. } => "accepted",
        Event::Answered { .. } => "answered",
        Event::Cut { .. } => "cut",
        Event::Failed { .. } => "failed",
        Event::Cancelled { .. } => "cancelled",
        Event::Reopened { .. } => "reopened",
        Event::Reconciled { .. } => "reconciled",
        Event::Skipped { .. } => "skipped",
        Event::StageDecided { .. } => "stage",
        Event::Decided { .. } => "decided",
        Event::Closed { .. } => "closed",
        Event::Merged { .. } => "merged",
    };
    match event.attempt() {
        Some(attempt) if attempt.number == 1 => format!("{name} {}", slot(attempt.slot)),
        Some(attempt) => format!("{name} {}#{}", slot(attempt.slot), attempt.number),
        None => name.to_owned(),
    }
}

fn result(event: &Event) -> String {
    let short = short(event);
    match event {
        Event::Started { .. } | Event::Sent { .. } => short,
        Event::Accepted { generation_id, .. } => format!("{short} as {generation_id}"),
        Event::Answered { answer, .. } => format!("{short} {}", text(&answer.text)),
        Event::Cut { answer, failure, .. } => format!("{short} {} by {}", text(&answer.text), failure.code),
        Event::Failed { failure, retry, .. } => format!("{short} {}, {}", failure.code, again(retry)),
        Event::Cancelled { answer, .. } => {
            format!(
                "{short}{}",
                answer.as_ref().map_or(String::new(), |answer| format!(" {}", text(&answer.text)))
            )
        }
        Event::Skipped { seats } => {
            format!("{short} {}", seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        }
        Event::Reopened { reopening, .. } => format!("{short}{}", reopening_changes(reopening)),
        Event::StageDecided { stage, outcome } => format!("{short} {stage} {}", kind(outcome)),
        Event::Decided { outcome } => format!("{short} {}", kind(outcome)),
        Event::Reconciled { cost, .. } | Event::Closed { cost } => format!("{short} {cost}"),
        Event::Merged { held, .. } => format!("merged {}", result(held)),
    }
}

/// The seats that are asked now, and the new ones.
fn reopening_changes(reopening: &Reopening) -> String {
    let again = reopening.ask.iter().map(|seat| format!(" {seat}"));
    let new = reopening.seats.iter().map(|seat| format!(" +{} {}", seat.number, seat.model.model));
    let fusers = reopening.synthesizers.iter().map(|seat| format!(" +s{} {}", seat.number, seat.model.model));
    again.chain(new).chain(fusers).collect()
}

fn again(retry: &Retry) -> String {
    match retry {
        Retry::Never => "never again".to_owned(),
        Retry::After { ms } => format!("again in {ms}"),
        Retry::Without { field } => format!("again without {field}"),
    }
}

fn slot(slot: CallerSlot) -> String {
    match slot {
        CallerSlot::Seat(number) => number.to_string(),
        CallerSlot::Synthesizer(number) => format!("s{number}"),
        CallerSlot::Step(number) => format!("step {number}"),
    }
}

fn text(text: &str) -> String {
    let count = text.chars().count();
    if count <= TEXT_CHARS_MAX {
        return format!("`{text}`");
    }
    format!("`{}…` ({count})", text.chars().take(12).collect::<String>())
}

fn kind(outcome: &Outcome) -> String {
    match outcome.kind {
        OutcomeKind::Fused => "fused".to_owned(),
        OutcomeKind::Selected => "selected".to_owned(),
        OutcomeKind::Verbatim => "verbatim".to_owned(),
        OutcomeKind::Listed => "listed".to_owned(),
        OutcomeKind::None => "none".to_owned(),
    }
}

/// The rankings of all judges, best seat first, one line for each judging call.
pub(crate) fn judging(run: &Run) -> String {
    let judging = run.outcome.as_ref().and_then(|outcome| outcome.judging.as_ref());
    let Some(judging) = judging else { return "nothing was judged".to_owned() };
    let seats = |seats: &[SeatNumber]| match seats {
        [] => "tie".to_owned(),
        _ => seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    };
    let together = |tied: &[SeatNumber]| match tied {
        [] => String::new(),
        _ => format!(", first together {}", seats(tied)),
    };
    let verdicts = judging.verdicts.iter();
    let lines = verdicts
        .map(|one| format!("step {} {}: {}{}\n", one.step, one.by, seats(&one.ranking), together(&one.tied)));
    format!("{}flips {}", lines.collect::<String>(), judging.flips)
}

/// The state of a run, its outcome, and each slot that was used.
pub(crate) fn view(run: &Run) -> String {
    let mut view = String::new();
    let at = run.decided_ms.map_or("undecided".to_owned(), |ms| format!("decided at {ms}"));
    let closed = if run.closed { format!(", closed at {}", run.elapsed_ms) } else { String::new() };
    let _ = writeln!(view, "{} {at}{closed}", run.status.as_str());
    if let Some(outcome) = &run.outcome {
        outcome_lines(&mut view, outcome);
    }
    for seat in &run.seats {
        let _ = writeln!(view, "  {}", seat_line(seat));
    }
    for call in run.called() {
        let task = run.task(call.slot).filter(|_| matches!(call.slot, CallerSlot::Step(_)));
        let task = task.map(|task| format!(" {task}")).unwrap_or_default();
        let _ = writeln!(view, "  {}{task}", seat_line(call));
    }
    view
}

fn outcome_lines(view: &mut String, outcome: &Outcome) {
    let by = outcome.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let base = outcome.base_seat.map(|seat| format!(" from {seat}")).unwrap_or_default();
    let words = outcome.text.as_ref().map(|words| format!(": {}", text(words))).unwrap_or_default();
    let _ = writeln!(view, "  {}{by}{base}{words}", kind(outcome));
    match &outcome.failure {
        Some(failure) => drop(writeln!(view, "  because {}", reason(failure))),
        None => drop(writeln!(view, "  because {}", outcome.reason)),
    }
    if let Some(worth) = &outcome.worth {
        let ratio = worth.edit_ratio.map_or("?".to_owned(), |ratio| ratio.to_string());
        let _ = writeln!(view, "  edited {ratio} for {} in {} ms", money(worth.extra_cost), worth.extra_ms);
    }
    for check in &outcome.checks {
        let passed = match (check.passed, check.failure) {
            (Some(true), _) => "passes".to_owned(),
            (Some(false), _) => "does not pass".to_owned(),
            (None, code) => code.map_or("unknown".to_owned(), |code| code.to_string()),
        };
        let score = check.score.map(|score| format!(" with {score}")).unwrap_or_default();
        let _ = writeln!(view, "  seat {} {passed}{score}, {} ms", check.seat, check.elapsed_ms);
    }
    for cut in &outcome.shortened {
        let _ = writeln!(view, "  shortened {} from {} to {}", cut.seat, cut.from_chars, cut.to_chars);
    }
    for warning in &outcome.warnings {
        let _ = writeln!(view, "  ! {}: {} ({})", warning.code, warning.message, warning.next_step());
    }
}

fn seat_line(seat: &SeatView) -> String {
    let late = if seat.late { " late" } else { "" };
    let requests = if seat.attempts == 1 { "request" } else { "requests" };
    let estimate = if seat.cost_is_estimate { "~" } else { "" };
    let took = seat.elapsed_ms.map(|ms| format!(" {ms} ms")).unwrap_or_default();
    let why = seat.failure.as_ref().map(|failure| format!(": {}", reason(failure))).unwrap_or_default();
    format!(
        "{} {} {}{late}, {} {requests}{took}, {estimate}{}{why}",
        slot(seat.slot),
        seat.model,
        seat.status.as_str(),
        seat.attempts,
        money(seat.cost)
    )
}

fn money(cost: Option<PicoUsd>) -> String {
    cost.map_or("?".to_owned(), |cost| cost.to_string())
}

/// Replaces the list of all strategies by one word, so that a new strategy changes no unrelated test.
pub(crate) fn without_names(text: &str) -> String {
    text.replace(&Strategy::names().collect::<Vec<_>>().join(", "), "<strategies>")
}

/// A failure as text: its code, its message, and its own advice if it has any.
pub(crate) fn reason(failure: &Failure) -> String {
    let next = if failure.next.is_empty() { String::new() } else { format!(" ({})", failure.next_step()) };
    format!("{}: {}{next}", failure.code, failure.message)
}

/// Asserts that two runs are equal in everything recorded by events, and shows the first lines that differ.
pub(crate) fn assert_same(one: &Run, other: &Run, what: &str) {
    // Values are compared first, because rendering a run takes a hundred times as long as executing it.
    let (one, other) = (recorded_by_events(one), recorded_by_events(other));
    if one == other {
        return;
    }
    let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
    let differing = one.lines().zip(other.lines()).filter(|(one, other)| one != other);
    let lines: Vec<String> = differing.take(5).map(|(one, other)| format!("{one} | {other}")).collect();
    panic!("violated: {what}\n{}", lines.join("\n"));
}

/// Everything in a run that its events record: no streaming text, and no warnings about storing the events.
pub(crate) fn recorded_state(run: &Run) -> String {
    format!("{:#?}", recorded_by_events(run))
}

fn recorded_by_events(run: &Run) -> Run {
    let mut run = run.clone();
    for seat in run.seats.iter_mut().chain(&mut run.synthesizers).chain(&mut run.steps) {
        seat.partial = String::new();
        if seat.status == SeatStatus::Streaming {
            seat.status = SeatStatus::Waiting;
        }
    }
    if let Some(outcome) = &mut run.outcome {
        outcome.warnings = Vec::new();
    }
    run
}
