//! `batch`: its subcommands; those that need a file of their own are beside this one.

use parallel_llm_engine::text::safe;
use parallel_llm_engine::{Failure, PicoUsd};
use parallel_llm_service::form::Given;
use parallel_llm_service::report::age::age;
use parallel_llm_service::{Batch, BatchChange};
use parallel_llm_settings::clock;
use serde_json::{Value, json};

use super::description::{
    BATCH_HELP, NAMED_MAX, SCHEMA, cost, described, described_job, idle_line, lines_of, name_unanswered,
    questions, state_now,
};
use super::{results, submit, work};
use crate::command::ask::question::option;
use crate::command::context::CommandContext;
use crate::command::line::typed_line;
use crate::exit;
use crate::terminal::table::Column;
use parallel_llm_service::report::counted::counted;

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
    #[arg(long, value_name = "USD", value_parser = option("budget_usd", Given::usd), allow_negative_numbers = true)]
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
    #[arg(long, value_name = "USD", value_parser = option("budget_usd", Given::usd), allow_negative_numbers = true)]
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
pub(in crate::command) async fn run(
    context: &CommandContext<'_>,
    command: BatchCommand,
) -> Result<u8, Failure> {
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
