//! Working on batches, and watching them.

use std::time::Duration;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{BatchId, Failure};
use parallel_llm_service::{Batch, BatchState, WorkScope};
use parallel_llm_settings::signals::{Signal, Signals};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::description::{NAMED_MAX, lines_of, name_unanswered};
use super::progress::BatchProgress;
use crate::command::context::CommandContext;
use crate::exit;

/// How many questions are asked at once by default: with five seats each they are forty calls, within the sixty-four that a
/// provider's key allows.
const CONCURRENCY: u64 = 8;
/// The most questions at once: as many runs as a process does.
const CONCURRENCY_MAX: u64 = 1_000;
/// How often a batch is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How a batch is worked on.
#[derive(Debug, clap::Args)]
pub(super) struct Working {
    /// How many questions are asked at once
    #[arg(long, value_name = "N", default_value_t = CONCURRENCY, conflicts_with = "detach")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=CONCURRENCY_MAX))]
    concurrency: u64,
    /// Leave the work to `worker`, on this machine or others
    #[arg(long)]
    detach: bool,
}

/// Work on all batches, until it is stopped
///
/// Any number of workers may share a database on a server; on one machine, one is enough. A worker that is stopped ends
/// its questions in progress first; those of one that is killed are taken over by others.
///
/// Example: parallel-llm-mcp worker --concurrency 50
#[derive(Debug, clap::Args)]
pub struct WorkerCommand {
    /// How many questions are asked at once
    #[arg(long, value_name = "N", default_value_t = CONCURRENCY)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=CONCURRENCY_MAX))]
    concurrency: u64,
}

/// Runs `worker`.
pub(in crate::command) async fn worker(
    context: &CommandContext<'_>,
    command: &WorkerCommand,
) -> Result<u8, Failure> {
    context.console.say("working on batches; Ctrl-C ends it");
    let stopped = work(context, WorkScope::All, command.concurrency, std::future::pending()).await?;
    Ok(stopped.map_or(exit::ANSWER, exit::of_signal))
}

/// Works on a batch until it is finished, paused or cancelled, unless that is left to workers.
pub(super) async fn on(
    context: &CommandContext<'_>,
    batch: &Batch,
    working: &Working,
) -> Result<u8, Failure> {
    if working.detach {
        context.console.say("it is left to workers: `worker` is one, `batch watch` shows how far they are");
        return Ok(exit::ANSWER);
    }
    let showing = show_progress(context, batch.id);
    let stopped = work(context, WorkScope::One(batch.id), working.concurrency, showing).await?;
    let code = summarize(context, batch.id).await?;
    Ok(match stopped {
        Some(signal) => {
            context.console.say(&format!("stopped; `batch resume {}` goes on", batch.id));
            exit::of_signal(signal)
        }
        None => code,
    })
}

/// Watches a batch that others work on.
pub(super) async fn watch(context: &CommandContext<'_>, batch_id: BatchId) -> Result<u8, Failure> {
    let mut signals = Signals::new();
    tokio::select! {
        biased;
        signal = signals.next() => return Ok(exit::of_signal(signal)),
        shown = show_progress(context, batch_id) => shown?,
    }
    summarize(context, batch_id).await
}

/// Works in this scope, and shows something meanwhile. A signal ends the claiming of questions; a second one, or the end of
/// the time for that, leaves those in progress. Returns the signal, if one came.
async fn work(
    context: &CommandContext<'_>,
    scope: WorkScope,
    concurrency: u64,
    showing: impl Future<Output = Result<(), Failure>>,
) -> Result<Option<Signal>, Failure> {
    let stop = CancellationToken::new();
    let concurrency = usize::try_from(concurrency).unwrap_or(usize::MAX);
    let worker = context.service.batches.worker(scope, concurrency, stop.clone()).await?;
    let mut signals = Signals::new();
    let mut working = std::pin::pin!(worker.run());
    let mut showing = std::pin::pin!(showing);
    let mut is_shown = false;
    let signal = loop {
        tokio::select! {
            biased;
            signal = signals.next() => break signal,
            worked = &mut working => return worked.map(|()| None),
            shown = &mut showing, if !is_shown => {
                shown?;
                is_shown = true;
            }
        }
    };
    stop.cancel();
    BatchProgress::clear(&context.console);
    context.console.say("ending the questions in progress; Ctrl-C again leaves them for the next worker");
    let mut drained = std::pin::pin!(sleep(Duration::from_millis(context.service.settings.drain_ms)));
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => break,
            worked = &mut working => {
                worked?;
                break;
            }
            () = &mut drained => break,
            shown = &mut showing, if !is_shown => {
                shown?;
                is_shown = true;
            }
        }
    }
    // What is said next has a line of its own, too.
    BatchProgress::clear(&context.console);
    Ok(Some(signal))
}

/// Shows the progress of a batch until it is finished, paused or cancelled.
async fn show_progress(context: &CommandContext<'_>, batch_id: BatchId) -> Result<(), Failure> {
    let mut progress = BatchProgress::new(&context.console);
    loop {
        match context.service.batches.get(batch_id).await {
            Ok(batch) => {
                progress.show(&batch);
                let is_over = batch.is_finished() || batch.state != BatchState::Running;
                if is_over && batch.running == 0 {
                    return Ok(());
                }
            }
            // The database may be back at the next look.
            Err(failure) if failure.retryable => {}
            Err(failure) => return Err(failure),
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Says how a batch stands, and returns the exit code for that.
async fn summarize(context: &CommandContext<'_>, batch_id: BatchId) -> Result<u8, Failure> {
    let batches = &context.service.batches;
    let batch = batches.get(batch_id).await?;
    for line in lines_of(&batch) {
        context.console.say(&parallel_llm_engine::text::safe::for_terminal(&line));
    }
    // FileLines that cannot be used were named when the file was read.
    let failed = batches.unanswered(batch_id, false, NAMED_MAX).await?;
    name_unanswered(context, &batch, &failed, batch.failed);
    if batch.answered > 0 {
        let step = Next::See(format!("batch results {batch_id}").into());
        context.console.say(&format!("answers: {}", crate::terminal::vocabulary::describe(&[step])));
    }
    Ok(match &batch.pause {
        Some(why) if !batch.is_finished() => exit::of(why.code),
        _ if batch.is_finished() && batch.answered == 0 => exit::FAILED,
        _ if batch.failed + batch.bad > 0 || !batch.is_finished() => exit::PARTIAL,
        _ => exit::ANSWER,
    })
}
