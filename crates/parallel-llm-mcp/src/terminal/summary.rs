//! The summary below an answer: its author, missing seats, cost and files.

use crate::terminal::vocabulary;
use parallel_llm_engine::run::outcome::Checked;
use parallel_llm_engine::run::{Run, SkippedCalls};
use parallel_llm_engine::{Code, Failure, OutcomeKind, RunStatus};

use super::console::{Console, Tone};
use super::seat::SeatLine;
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::report::{FilesState, Report};

/// The longest excerpt of each seat's answer, in characters.
const EXCERPT_CHARS: usize = 96;

/// Prints the summary of a run.
pub fn render(console: &Console, run: &Run, report: &Report) {
    for line in lines(console, run, report) {
        console.say(&line);
    }
}

/// Prints the first words of each seat's answer.
pub fn render_seats(console: &Console, run: &Run) {
    for (seat, number) in run.seats.iter().zip(1..) {
        let described = SeatLine::of(seat, run.elapsed_ms);
        let word = console.tone(described.tone, described.word);
        let line = format!(
            "  {} {number} {}  {word}  {}",
            described.glyph,
            described.model,
            described.figures.trim_start()
        );
        console.say(line.trim_end());
        let detail = described.reason.or_else(|| seat.text().map(|text| safe::excerpt(text, EXCERPT_CHARS)));
        if let Some(detail) = detail {
            console.say(&console.tone(Tone::Dim, &format!("      {detail}")));
        }
    }
}

fn lines(console: &Console, run: &Run, report: &Report) -> Vec<String> {
    let mut lines = vec![console.tone(Tone::Strong, &origin(run))];
    for seat in run.missing() {
        let described = SeatLine::of(seat, run.elapsed_ms);
        let next = seat
            .failure
            .as_ref()
            .map(|failure| format!(" (next: {})", vocabulary::describe(failure.next_steps())))
            .unwrap_or_default();
        let state = if run.is_decided() { "no longer waited for" } else { "still at it" };
        let reason = described.reason.unwrap_or_else(|| state.to_owned());
        lines.push(console.tone(
            Tone::Warning,
            &format!("missing: {} {}: {reason}{next}", described.model, described.word),
        ));
    }
    for warning in run.warnings() {
        let text = format!(
            "warning[{}]: {} (next: {})",
            warning.code,
            warning.message,
            vocabulary::describe(warning.next_steps())
        );
        lines.push(console.tone(Tone::Warning, &safe::for_terminal(&text)));
    }
    lines.extend(run.plan.chosen_because.clone());
    lines.extend(agreement(run));
    lines.extend(checked(run));
    let confidence = report.confidence.iter().filter(|confidence| confidence.is_calibrated());
    lines.extend(confidence.map(|confidence| safe::for_terminal(&confidence.described())));
    lines.extend(skipped(run));
    lines.extend(offer(run));
    lines.push(format!(
        "{} of {} answered · {}{} · {} · run {}",
        run.answered(),
        run.seats.len(),
        match report.spent_now_usd {
            Some(_) => report.cost_described(),
            None => Cost::of(run).described(),
        },
        worth(run),
        seconds(run.decided_ms.unwrap_or(run.elapsed_ms)),
        run.plan.run_id
    ));
    let files = &report.files;
    match (files.state, &files.dir) {
        (FilesState::Off, _) | (_, None) => {}
        (FilesState::Failed, Some(dir)) => {
            let error = files.error.as_deref().unwrap_or("unknown");
            lines.push(
                console.tone(Tone::Warning, &format!("files in {} are not complete: {error}", dir.display())),
            );
        }
        (_, Some(dir)) => lines.push(format!("files: {}", dir.display())),
    }
    lines
}

/// The groups of equal answers, unless the reason of the choice says it already.
fn agreement(run: &Run) -> Option<String> {
    let outcome = run.outcome.as_ref().filter(|outcome| outcome.kind != OutcomeKind::Selected)?;
    let agreement = outcome.agreement.as_ref().filter(|agreement| agreement.equal > 1)?;
    let (equal, of) = (agreement.equal, agreement.of);
    let said = agreement.value().map_or("the same".to_owned(), |value| format!("`{value}`"));
    Some(if agreement.is_unanimous() {
        format!("all {of} answers say {said}")
    } else {
        format!("{equal} of {of} answers say {said}")
    })
}

/// The results of the check command.
fn checked(run: &Run) -> Option<String> {
    let described = |check: &Checked| {
        let word = match (check.passed, check.failure) {
            (Some(true), _) => "passes".to_owned(),
            (Some(false), _) => "does not pass".to_owned(),
            (None, code) => code.map_or("unknown".to_owned(), |code| code.to_string()),
        };
        let score = check.score.map(|score| format!(" with {score}")).unwrap_or_default();
        let said = check.said.as_deref().map(|text| format!(" ({})", safe::excerpt(text, EXCERPT_CHARS)));
        format!("seat {} {word}{score}{}", check.seat, said.unwrap_or_default())
    };
    let checks = run.outcome.as_ref().map(|outcome| outcome.checks.as_slice()).unwrap_or_default();
    let described: Vec<String> = checks.iter().map(described).collect();
    (!described.is_empty()).then(|| format!("checked: {}", described.join(", ")))
}

/// The skipped calls.
fn skipped(run: &Run) -> Option<String> {
    let SkippedCalls { calls, cost_max } = run.skipped()?;
    let were = if calls == 1 { "call was" } else { "calls were" };
    Some(format!("{calls} {were} not needed, which might have cost {cost_max}"))
}

/// Suggests steps that cost little or nothing: answers that are in no text yet.
fn offer(run: &Run) -> Option<String> {
    let late = run.seats.iter().filter(|seat| seat.late).count();
    let what = if late == 1 { "an answer".to_owned() } else { format!("{late} answers") };
    let id = run.plan.run_id;
    if run.status == RunStatus::Interrupted {
        return run.resuming().map(|command| format!("go on with it: {command}"));
    }
    if late > 0 {
        return Some(format!(
            "{what} came too late to be fused: `parallel-llm-mcp runs synthesize {id}` takes all in"
        ));
    }
    let why = run.outcome.as_ref()?.unfused.as_ref()?;
    Some(match why.code {
        // A second vote on the same answers would have the same result.
        Code::NoMajority => {
            format!(
                "the answers are kept: `parallel-llm-mcp runs replay {id} --strategy synthesize` makes one text of them"
            )
        }
        _ if run.plan.strategy_options.is_checked() => {
            format!(
                "the answers are kept: `parallel-llm-mcp runs synthesize {id} --check COMMAND` checks them again"
            )
        }
        _ => {
            format!("the answers are kept: `parallel-llm-mcp runs synthesize {id}` tries again to fuse them")
        }
    })
}

fn origin(run: &Run) -> String {
    let Some(outcome) = &run.outcome else {
        let described = |failure: Failure| format!("no answer: {}", failure.message);
        return run.failure().map_or_else(|| "no answer yet".to_owned(), described);
    };
    let by = outcome.by.as_ref().map(|model| format!(" by {model}")).unwrap_or_default();
    match outcome.kind {
        OutcomeKind::Fused => {
            let without = outcome.leave_one_out.as_ref().and_then(|described| described.stands_without);
            let shown = outcome.considered.len().saturating_sub(outcome.unshown.len());
            let from = shown.saturating_sub(usize::from(without.is_some()));
            let of = if outcome.unshown.is_empty() {
                String::new()
            } else {
                format!(" of {}", outcome.considered.len())
            };
            let without = without.map(|seat| format!(", without seat {seat}")).unwrap_or_default();
            let newest = if outcome.base_step.is_some() { "the newest answer of " } else { "" };
            let base = outcome.base_seat.map(|seat| format!(", starting from {newest}seat {seat}"));
            let base = base.unwrap_or_default();
            let ratio = outcome.worth.as_ref().and_then(|worth| worth.edit_ratio);
            let changed = ratio.map(|ratio| format!(" ({:.0} % changed)", ratio * 100.0)).unwrap_or_default();
            format!("fused{by} from {from}{of} answers{without}{base}{changed}")
        }
        OutcomeKind::Selected => format!("selected{by}: {}", outcome.reason),
        OutcomeKind::Verbatim => format!("word for word{by}: {}", outcome.reason),
        OutcomeKind::Listed => outcome.reason.clone(),
        // Each seat gives its own reason below.
        OutcomeKind::None if run.missing().next().is_some() => "no answer".to_owned(),
        OutcomeKind::None => format!("no answer: {}", safe::for_terminal(&outcome.reason)),
    }
}

fn worth(run: &Run) -> String {
    let extra =
        run.outcome.as_ref().and_then(|outcome| outcome.worth.as_ref()).and_then(|worth| worth.extra_cost);
    extra.map(|cost| format!(" (fusing {cost})")).unwrap_or_default()
}
