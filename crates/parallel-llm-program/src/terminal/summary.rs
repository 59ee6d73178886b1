//! The lines below an answer. Three in the ordinary case: who agrees and whose answer it is, what it cost, and where it
//! is kept. Between the first and the others stand missing seats, warnings and the results of checks, if there are any.

use crate::called;
use crate::terminal::vocabulary;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::outcome::Checked;
use parallel_llm_engine::run::{Run, SkippedCalls};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, RunId, RunStatus};

use super::console::{Console, Tone};
use super::missing;
use super::seat::SeatLine;
use super::verdict::{sentence, verdict};
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::report::{FilesState, Report};

/// The longest excerpt of each seat's answer, in characters.
const EXCERPT_CHARS: usize = 96;
/// The longest reason of each seat, in characters.
const REASON_CHARS: usize = 100;
/// The indentation of an excerpt or a reason.
const EXCERPT_INDENT: &str = "      ";

/// Prints the summary of a run. `shown_by` is the short command that shows it again, if there is one.
pub fn render(console: &Console, run: &Run, report: &Report, shown_by: Option<&str>) {
    for line in lines(console, run, report, shown_by) {
        console.say(&line);
    }
}

/// Names the run whose conversation goes on, if there is one.
pub fn render_earlier(console: &Console, earlier: Option<RunId>) {
    if let Some(run) = earlier {
        console.say(&format!("going on with the conversation of run {run}"));
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
        let excerpt = || Some(console.excerpt(seat.text()?, EXCERPT_CHARS, EXCERPT_INDENT.len()));
        let reason = described.reason.map(|reason| safe::excerpt(&reason, REASON_CHARS));
        let reason = reason
            .map(|reason| reason + &described.retry.map(|when| format!(", {when}")).unwrap_or_default());
        if let Some(detail) = reason.or_else(excerpt) {
            console.say(&format!("{EXCERPT_INDENT}{}", console.tone(Tone::Dim, &detail)));
        }
    }
}

fn lines(console: &Console, run: &Run, report: &Report, shown_by: Option<&str>) -> Vec<String> {
    let mut lines = vec![console.tone(Tone::Strong, &verdict(run, report))];
    if console.is_live() {
        // What the models say stands apart from what was done.
        lines.push(String::new());
    }
    let missing = missing::lines(run).into_iter();
    lines.extend(missing.map(|line| console.tone(Tone::Warning, &line)));
    let warnings = warnings(run).into_iter();
    lines.extend(warnings.map(|line| console.tone(Tone::Warning, &line)));
    lines.extend(unwritten(console, report).map(|line| console.tone(Tone::Warning, &line)));
    lines.extend(checked(run));
    let confidence = report.confidence.iter().filter(|confidence| confidence.is_calibrated());
    lines.extend(confidence.map(|confidence| sentence(&confidence.described())));
    lines.extend(
        run.plan
            .chosen_because
            .iter()
            .map(|why| sentence(&format!("`auto` took `{}`: {why}", run.plan.strategy.name()))),
    );
    lines.push(cost(run, report));
    lines.push(kept(console, run, report, shown_by));
    lines
}

/// The warnings. A cause that a line above gives is not repeated.
fn warnings(run: &Run) -> Vec<String> {
    let missing = run.missing().chain(run.used_although_cut()).filter_map(|seat| seat.failure.as_ref());
    let unfused = run.outcome.as_ref().and_then(|outcome| outcome.unfused.as_ref());
    let mut reported: Vec<&str> = missing.chain(unfused).map(|failure| &*failure.message).collect();
    let mut lines = Vec::new();
    for warning in run.warnings() {
        let Warning { code, message, .. } = &warning;
        let failures = run.views().filter_map(|view| view.failure.as_ref()).chain(unfused);
        let cause = failures.map(|failure| &*failure.message).find(|cause| message.ends_with(cause));
        let known = cause.filter(|cause| reported.contains(cause));
        reported.extend(cause);
        lines.push(match known.and_then(|cause| message.strip_suffix(cause)) {
            Some(what) => format!("warning[{code}]: {}, for the same reason", what.trim_end_matches(": ")),
            None => self::warning(&warning),
        });
    }
    lines.iter().map(|line| safe::for_terminal(line)).collect()
}

/// A warning with its next step.
fn warning(warning: &Warning) -> String {
    let next = vocabulary::describe(warning.next_steps());
    format!("warning[{}]: {} (next: {next})", warning.code, warning.message)
}

/// Says what a plan warns of.
pub fn render_warnings<'a>(console: &Console, warnings: impl IntoIterator<Item = &'a Warning>) {
    for warning in warnings {
        console.say(&console.tone(Tone::Warning, &safe::for_terminal(&self::warning(warning))));
    }
}

/// What the run cost and how long it took: `Cost $0.033 (fusing $0.012), 12.4 s.`
fn cost(run: &Run, report: &Report) -> String {
    let cost = Cost::of(run);
    let described = match report.spent_now_usd {
        Some(_) => format!("cost {}", report.cost_described()),
        None if cost.known.is_some() => format!("cost {}", cost.described()),
        None => cost.described(),
    };
    let worth = run.outcome.as_ref().and_then(|outcome| outcome.worth.as_ref());
    let fusing = worth.and_then(|worth| worth.extra_cost).map(|cost| format!(" (fusing {cost})"));
    let time = seconds(run.decided_ms.unwrap_or(run.elapsed_ms));
    let skipped = run.skipped().map(|SkippedCalls { calls, cost_max }| {
        let were = if calls == 1 { "call was" } else { "calls were" };
        format!("; {calls} {were} not needed, which might have cost {cost_max}")
    });
    sentence(&format!("{described}{}, {time}{}", fusing.unwrap_or_default(), skipped.unwrap_or_default()))
}

/// Where the run is kept and what can be done with it: `Kept as run 01JD...: `runs show @`; files in ~/...`
fn kept(console: &Console, run: &Run, report: &Report, shown_by: Option<&str>) -> String {
    let id = run.plan.run_id;
    let kept = match run.plan.store {
        StoreMode::Full => format!("kept as run {id}"),
        StoreMode::Metadata => format!("kept without its texts as run {id}"),
        StoreMode::None => format!("not kept: run {id} leaves nothing behind, as asked"),
    };
    let shown = offer(run).map(|offer| format!("; {offer}"));
    let is_newest = shown_by.is_some() && console.is_live();
    let shown = shown.map(|offer| if is_newest { offer.replace(&id.to_string(), "@") } else { offer });
    let shown = shown.or_else(|| {
        shown_by.filter(|_| run.plan.store != StoreMode::None).map(|command| format!(": `{command}`"))
    });
    let files = match (report.files.state, &report.files.dir) {
        (FilesState::Writing | FilesState::Written, Some(dir)) => {
            // The last part of its name is the id, which a person has just read.
            let shown = dir.parent().filter(|_| console.is_live());
            let place = if shown.is_some() { "below" } else { "in" };
            format!("; files {place} {}", console.path(shown.unwrap_or(dir)))
        }
        _ => String::new(),
    };
    sentence(&format!("{kept}{}{files}", shown.unwrap_or_default()))
}

/// The warning about files that could not be written.
fn unwritten(console: &Console, report: &Report) -> Option<String> {
    let dir = report.files.dir.as_ref().filter(|_| report.files.state == FilesState::Failed)?;
    let error = report.files.error.as_deref().unwrap_or("unknown");
    Some(sentence(&format!("the files in {} are not complete: {error}", console.path(dir))))
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
        let stderr = check.stderr.as_deref().map(|text| format!(" ({})", safe::excerpt(text, EXCERPT_CHARS)));
        format!("seat {} {word}{score}{}", check.seat, stderr.unwrap_or_default())
    };
    let checks = run.outcome.as_ref().map(|outcome| outcome.checks.as_slice()).unwrap_or_default();
    let described: Vec<String> = checks.iter().map(described).collect();
    (!described.is_empty()).then(|| sentence(&format!("checked: {}", described.join(", "))))
}

/// Suggests steps that cost little or nothing: answers that are in no text yet.
pub fn offer(run: &Run) -> Option<String> {
    let late = run.seats.iter().filter(|seat| seat.late).count();
    let (program, id, demo) = (called::name(), run.plan.run_id, called::demo_flag());
    if matches!(run.status, RunStatus::Interrupted | RunStatus::Cancelled) {
        let (own, shown) = (id.to_string(), format!("{id}{demo}"));
        return run
            .resuming()
            .map(|command| format!("{} goes on with it", command.replacen(&own, &shown, 1)));
    }
    if late > 0 {
        let what = if late == 1 { "the answer".to_owned() } else { format!("the {late} answers") };
        return Some(format!("`{program} runs synthesize {id}{demo}` takes in {what} that came too late"));
    }
    let why = run.outcome.as_ref()?.unfused.as_ref()?;
    Some(match why.code {
        // A second vote on the same answers would have the same result.
        Code::NoMajority => {
            format!("`{program} runs replay {id} --strategy synthesize{demo}` makes one text of the answers")
        }
        _ if run.plan.strategy_options.is_checked() => {
            format!("`{program} runs synthesize {id} --check COMMAND{demo}` checks the answers again")
        }
        _ => format!("`{program} runs synthesize {id}{demo}` tries again to fuse the answers"),
    })
}
