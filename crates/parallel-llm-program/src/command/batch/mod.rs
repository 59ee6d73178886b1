//! `batch` and `worker`: files of questions, each worked through as a run.

mod line;
mod lines;
mod progress;
mod results;
mod submit;
mod work;

use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, PicoUsd};
use parallel_llm_service::report::ErrorReport;
use parallel_llm_service::report::age::age;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::{Batch, BatchChange, BatchJob, BatchState, JobCost};
use parallel_llm_settings::clock;
use serde_json::{Value, json};

use super::ask::usd;
use super::{CommandContext, typed_line};
use crate::exit;
use crate::terminal::console::Tone;
use crate::terminal::table::Column;
use crate::terminal::vocabulary::{self, counted};

pub(super) use work::{WorkerCommand, worker};

/// The version of the JSON format.
const SCHEMA: u32 = 1;
/// The most jobs without an answer that are named; `batch results` has all.
const NAMED_MAX: usize = 10;
/// The help for a batch's name.
const BATCH_HELP: &str = "The batch's id or a beginning of it; the newest without one";

/// Ask a file of questions, each as a run of its own
#[derive(Debug, clap::Subcommand)]
pub enum BatchCommand {
    Submit(Box<submit::Submit>),
    /// List batches, newest first
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show how far a batch is, and which lines have no answer
    Status(Named),
    /// Watch a batch until it is finished, paused or cancelled; other processes work on it
    Watch(Watch),
    /// Ask no further question of a batch until it is resumed; those in progress go on
    Pause(Named),
    /// Go on with a paused or interrupted batch
    ///
    /// Works on it itself, unless --detach leaves that to workers. Answers that are there are not asked for again.
    ///
    /// Example: parallel-llm-mcp batch resume --budget 20
    Resume(ResumeBatch),
    /// End a batch for good: its runs in progress are cancelled, and its answers stay
    Cancel(Certain),
    /// Ask the lines of a batch again that failed
    ///
    /// A run that has answers keeps them, and only the rest is asked.
    RetryFailed(Retry),
    Results(results::Results),
    /// Remove a batch from the list; its runs stay, until `runs purge`
    Remove(Remove),
}

/// The batch that is meant.
#[derive(Debug, clap::Args)]
pub struct Named {
    #[arg(help = BATCH_HELP)]
    batch: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A batch that must be named.
#[derive(Debug, clap::Args)]
pub struct Certain {
    /// The batch's id or a beginning of it
    batch: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// `batch watch`.
#[derive(Debug, clap::Args)]
pub struct Watch {
    #[arg(help = BATCH_HELP)]
    batch: Option<String>,
}

/// `batch resume`.
#[derive(Debug, clap::Args)]
pub struct ResumeBatch {
    #[arg(help = BATCH_HELP)]
    batch: Option<String>,
    /// What the whole batch may cost from now on, in USD, what it has cost included
    #[arg(long, value_name = "USD", value_parser = usd, allow_negative_numbers = true)]
    budget: Option<PicoUsd>,
    #[command(flatten)]
    working: work::Working,
}

/// `batch retry-failed`.
#[derive(Debug, clap::Args)]
pub struct Retry {
    #[arg(help = BATCH_HELP)]
    batch: Option<String>,
    /// Also make calls again that were sent without a known end, and may have been paid
    #[arg(long)]
    resend: bool,
    /// What the whole batch may cost from now on, in USD, what it has cost included
    #[arg(long, value_name = "USD", value_parser = usd, allow_negative_numbers = true)]
    budget: Option<PicoUsd>,
    #[command(flatten)]
    working: work::Working,
}

/// `batch remove`.
#[derive(Debug, clap::Args)]
pub struct Remove {
    /// The batch's id or a beginning of it
    batch: String,
    /// Do it
    #[arg(long)]
    yes: bool,
}

impl BatchCommand {
    /// Whether errors are printed as JSON.
    pub const fn wants_json(&self) -> bool {
        match self {
            Self::Submit(submit) => submit.json,
            Self::List { json } => *json,
            Self::Status(named) | Self::Pause(named) => named.json,
            Self::Cancel(certain) => certain.json,
            Self::Resume(_) | Self::RetryFailed(_) | Self::Watch(_) | Self::Results(_) | Self::Remove(_) => {
                false
            }
        }
    }
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, command: BatchCommand) -> Result<u8, Failure> {
    let batches = &context.service.batches;
    match command {
        BatchCommand::Submit(submit) => submit::run(context, *submit).await,
        BatchCommand::List { json } => list(context, json).await,
        BatchCommand::Status(named) => {
            let batch = batches.find(named.batch.as_deref()).await?;
            status(context, &batch, named.json).await
        }
        BatchCommand::Watch(watch) => {
            let batch = batches.find(watch.batch.as_deref()).await?;
            if let Some(line) = idle_line(&batch) {
                context.console.say(&line);
            }
            work::watch(context, batch.id).await
        }
        BatchCommand::Pause(named) => {
            let batch = batches.find(named.batch.as_deref()).await?;
            let batch = batches.change(batch.id, BatchChange::Pause).await?;
            status(context, &batch, named.json).await
        }
        BatchCommand::Cancel(certain) => {
            let batch = batches.find(Some(&certain.batch)).await?;
            let batch = batches.change(batch.id, BatchChange::Cancel).await?;
            status(context, &batch, certain.json).await
        }
        BatchCommand::Resume(resume) => {
            let batch = batches.find(resume.batch.as_deref()).await?;
            let change = BatchChange::Resume { budget: resume.budget };
            let batch = batches.change(batch.id, change).await?;
            work::on(context, &batch, &resume.working).await
        }
        BatchCommand::RetryFailed(retry) => {
            let batch = batches.find(retry.batch.as_deref()).await?;
            let change = BatchChange::RetryFailed { resend: retry.resend, budget: retry.budget };
            let batch = batches.change(batch.id, change).await?;
            work::on(context, &batch, &retry.working).await
        }
        BatchCommand::Results(results) => results::run(context, results).await,
        BatchCommand::Remove(remove) => {
            let batch = batches.find(Some(&remove.batch)).await?;
            if !remove.yes {
                let lines = counted(batch.jobs, "line");
                return Err(typed_line::unconfirmed(format!(
                    "nothing is removed yet: the batch {} of {lines} would go, and its runs stay",
                    batch.id
                )));
            }
            batches.remove(batch.id).await?;
            context.console.say(&format!("the batch {} is removed; its runs stay", batch.id));
            Ok(exit::ANSWER)
        }
    }
}

async fn list(context: &CommandContext<'_>, json: bool) -> Result<u8, Failure> {
    let batches = context.service.batches.list().await?;
    if json {
        let batches: Vec<Value> = batches.iter().map(described).collect();
        context.console.data(&format!("{:#}", json!({ "schema": SCHEMA, "batches": batches })));
        return Ok(exit::ANSWER);
    }
    if batches.is_empty() {
        context.console.say("there is no batch yet: `batch submit FILE.jsonl` makes one");
        return Ok(exit::ANSWER);
    }
    let columns = [
        Column::words("BATCH", 26),
        Column::words("STATE", 12),
        Column::numbers("DONE"),
        Column::numbers("OF"),
        Column::numbers("FAILED"),
        Column::numbers("COST"),
        Column::numbers("AGE").dropped(0),
        Column::words("FILE", 60).cut_to(8).dropped(1),
    ];
    let now_ms = clock::unix_ms();
    let rows = batches.iter().map(|batch| {
        let age_ms = now_ms.saturating_sub(u64::try_from(batch.created_at_ms).unwrap_or_default());
        vec![
            batch.id.to_string(),
            state_now(batch).to_owned(),
            batch.answered.to_string(),
            questions(batch).to_string(),
            batch.failed.to_string(),
            cost(batch.spent).short(),
            age(age_ms),
            batch.name.clone(),
        ]
    });
    context.console.table(&columns, &rows.collect::<Vec<_>>());
    Ok(exit::ANSWER)
}

/// Shows a batch and its jobs without an answer.
async fn status(context: &CommandContext<'_>, batch: &Batch, json: bool) -> Result<u8, Failure> {
    let unanswered = context.service.batches.unanswered(batch.id, true, NAMED_MAX).await?;
    if json {
        let mut object = described(batch);
        object["schema"] = SCHEMA.into();
        object["failures"] = unanswered.iter().map(described_job).collect();
        context.console.data(&format!("{object:#}"));
        return Ok(exit::ANSWER);
    }
    for line in lines_of(batch) {
        context.console.page(&safe::for_terminal(&line));
    }
    name_unanswered(context, batch, &unanswered, batch.failed + batch.bad);
    Ok(exit::ANSWER)
}

/// A batch in lines for people.
fn lines_of(batch: &Batch) -> Vec<String> {
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
fn cost(of: JobCost) -> Cost {
    let is_bounded = of.unbounded == 0;
    let lacks_calls = of.unknown_max > PicoUsd::ZERO || !is_bounded;
    Cost {
        bound: (lacks_calls && is_bounded).then(|| of.most()),
        ..Cost::of_sum(of.known, lacks_calls, false)
    }
}

/// Says so if a batch waits and nobody works on it.
fn idle_line(batch: &Batch) -> Option<String> {
    is_idle(batch).then(|| format!("nobody works on it: `worker` or `batch resume {}` does", batch.id))
}

/// Whether a batch waits and nobody works on it.
fn is_idle(batch: &Batch) -> bool {
    batch.state == BatchState::Running && batch.running == 0 && batch.waiting() > 0
}

/// The lines that can be asked. Everything that is counted is counted of these.
const fn questions(batch: &Batch) -> u64 {
    batch.jobs.saturating_sub(batch.bad)
}

/// Names jobs without an answer, as warnings, and how many there are in all.
fn name_unanswered(context: &CommandContext<'_>, batch: &Batch, jobs: &[BatchJob], count: u64) {
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
fn described(batch: &Batch) -> Value {
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
fn described_job(job: &BatchJob) -> Value {
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
fn state(batch: &Batch) -> &'static str {
    if batch.is_finished() { "finished" } else { batch.state.word() }
}

/// The same, but one that nobody works on waits.
fn state_now(batch: &Batch) -> &'static str {
    if is_idle(batch) { "waiting" } else { state(batch) }
}
