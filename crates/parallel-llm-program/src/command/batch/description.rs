//! Batches and their jobs in words, for people and as JSON.

use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, PicoUsd};
use parallel_llm_service::report::ErrorReport;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::{Batch, BatchJob, BatchState, JobCost};
use parallel_llm_settings::clock;
use serde_json::{Value, json};

use crate::command::context::CommandContext;
use crate::terminal::console::Tone;
use crate::terminal::vocabulary;

/// The version of the JSON format.
pub(super) const SCHEMA: u32 = 1;
/// The most jobs without an answer that are named; `batch results` has all.
pub(super) const NAMED_MAX: usize = 10;
/// The help for a batch's name.
pub(super) const BATCH_HELP: &str = "The batch's id or a beginning of it; the newest without one";

/// A batch in lines for people.
pub(super) fn lines_of(batch: &Batch) -> Vec<String> {
    let mut lines = vec![format!("batch {} ({}): {}", batch.id, batch.name, state_now(batch))];
    let mut counts = vec![format!("{} of {} answered", batch.answered, questions(batch))];
    for (count, what) in [
        (batch.partial, "with a seat missing"),
        (batch.failed, "failed"),
        (batch.bad, "unusable"),
        (batch.running, "in progress"),
        (batch.waiting(), "waiting"),
    ] {
        if count > 0 {
            counts.push(format!("{count} {what}"));
        }
    }
    lines.push(counts.join(", "));
    let mut spent = format!("{} of a budget of {}", cost(batch.spent).described(), batch.budget);
    if batch.reserved > PicoUsd::ZERO {
        spent.push_str(&format!(", {} reserved", batch.reserved));
    }
    lines.push(spent);
    if let Some(why) = &batch.pause {
        lines.push(format!("paused: {}", why.message));
        let steps = why.next_steps();
        let is_command = steps.iter().any(|step| matches!(step, Next::Type(_)));
        let then = if is_command { String::new() } else { format!("; then `batch resume {}`", batch.id) };
        lines.push(format!("  next: {}{then}", vocabulary::describe(steps)));
    }
    lines.extend(idle_line(batch));
    lines
}

/// What a run or a batch has cost, with what calls of unknown cost may add.
pub(super) fn cost(of: JobCost) -> Cost {
    let is_bounded = of.unbounded == 0;
    let lacks_calls = of.unknown_max > PicoUsd::ZERO || !is_bounded;
    Cost {
        bound: (lacks_calls && is_bounded).then(|| of.most()),
        ..Cost::of_sum(of.known, lacks_calls, false)
    }
}

/// Says so if a batch waits and nobody works on it.
pub(super) fn idle_line(batch: &Batch) -> Option<String> {
    is_idle(batch).then(|| format!("nobody works on it: `worker` or `batch resume {}` does", batch.id))
}

/// Whether a batch waits and nobody works on it.
fn is_idle(batch: &Batch) -> bool {
    batch.state == BatchState::Running && batch.running == 0 && batch.waiting() > 0
}

/// The lines that can be asked. Everything that is counted is counted of these.
pub(super) const fn questions(batch: &Batch) -> u64 {
    batch.jobs.saturating_sub(batch.bad)
}

/// Names jobs without an answer, as warnings, and how many there are in all.
pub(super) fn name_unanswered(context: &CommandContext<'_>, batch: &Batch, jobs: &[BatchJob], count: u64) {
    for job in jobs {
        let why = job.failure.as_ref().map_or("it has no answer", |failure| &failure.message);
        let own = job.custom_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        let line = safe::for_terminal(&format!("line {}{own}: {why}", job.line));
        context.console.say(&context.console.tone(Tone::Warning, &line));
    }
    let more = count.saturating_sub(jobs.len() as u64);
    if more > 0 {
        context.console.say(&format!("and {more} more: `batch results {}` names all", batch.id));
    }
    if batch.failed > 0 && batch.is_finished() {
        let is_lost = |job: &BatchJob| job.failure.as_ref().is_some_and(|why| why.code == Code::Interrupted);
        let command = format!("batch retry-failed {}", batch.id);
        let line = if jobs.iter().any(is_lost) {
            format!("next: `{command} --resend` asks the failed lines again, also what may have been paid")
        } else {
            format!("next: `{command}` asks the failed lines again")
        };
        context.console.say(&line);
    }
}

/// A batch as JSON.
pub(super) fn described(batch: &Batch) -> Value {
    let cost = cost(batch.spent);
    json!({
        "batch_id": batch.id,
        "name": batch.name,
        "state": state(batch),
        "pause": batch.pause.as_ref().map(error),
        "jobs": batch.jobs,
        "answered": batch.answered,
        "partial": batch.partial,
        "failed": batch.failed,
        "bad": batch.bad,
        "running": batch.running,
        "waiting": batch.waiting(),
        "workers": batch.workers,
        "cost_usd": cost.known.map(PicoUsd::as_usd),
        "cost_max_usd": cost.bound.map(PicoUsd::as_usd),
        "reserved_usd": batch.reserved.as_usd(),
        "budget_usd": batch.budget.limit_as_usd(),
        "created_at": clock::stamp(u64::try_from(batch.created_at_ms).unwrap_or_default()),
        "last_ended_at": batch.settled_at_ms.map(|ms| clock::stamp(u64::try_from(ms).unwrap_or_default())),
    })
}

/// A job as JSON, without its answer.
pub(super) fn described_job(job: &BatchJob) -> Value {
    let cost = cost(job.cost);
    json!({
        "line": job.line,
        "id": job.custom_id,
        "status": job.state.word(),
        "run_id": job.run_id,
        "cost_usd": cost.known.map(PicoUsd::as_usd),
        "cost_max_usd": cost.bound.map(PicoUsd::as_usd),
        "error": job.failure.as_ref().map(error),
    })
}

fn error(failure: &Failure) -> ErrorReport {
    ErrorReport::of(failure).in_vocabulary(&vocabulary::COMMAND_LINE)
}

/// The state of a batch for people: a batch all of whose jobs have ended is finished, whatever it was before.
pub(super) fn state(batch: &Batch) -> &'static str {
    if batch.is_finished() { "finished" } else { batch.state.word() }
}

/// The same, but one that nobody works on waits.
pub(super) fn state_now(batch: &Batch) -> &'static str {
    if is_idle(batch) { "waiting" } else { state(batch) }
}
