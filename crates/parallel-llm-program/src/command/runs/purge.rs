//! `runs purge`: deletes runs from the database and the output folder; their cost stays in the ledger.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::terminal::vocabulary;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::report::counted::counted;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::moment::Moment;
use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::command::line::typed_line;
use crate::exit;
use crate::terminal::console::Tone;
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::ErrorReport;
use parallel_llm_service::{PurgeSelection, PurgeStage, Purging};
use parallel_llm_settings::clock;
use parallel_llm_settings::signals::{Signal, Signals};

/// The interval of progress messages.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);
/// The most kept runs and files named; the others are counted, and the JSON has all.
const NAMED_MAX: usize = 10;

/// Delete runs: their texts, their events and their files
///
/// Without --yes it shows what would be deleted, does nothing and exits with 2. The runs' cost stays in `runs cost`, and the results of
/// their seats in `runs insights`. Runs in progress stay, and so do runs whose files cannot be removed: each is
/// reported, the others are deleted, and the exit code is 3, or 7 if none was deleted. Other processes can write in the
/// meantime, so many runs take a while; after an interruption, call it again to continue.
///
/// Example: parallel-llm-mcp runs purge --older-than 90d --yes
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["runs", "older_than"]))]
pub struct Purge {
    /// The ids of runs or prefixes of them; `@` is the newest, `@~1` the one before
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// All runs that began before then: a time ago such as 90d or 12h, or a day such as 2026-11-01 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = Moment::read)]
    older_than: Option<Moment>,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, purge: Purge) -> Result<u8, Failure> {
    let doomed = match purge.older_than {
        Some(moment) => PurgeSelection::Before(moment.unix_ms()),
        None => PurgeSelection::Named(purge.runs),
    };
    let (purging, stopped_by) = if purge.yes {
        purge_until_signal(context, &doomed).await?
    } else {
        (context.service.retention.purgeable(&doomed).await?, None)
    };
    if purge.json {
        context.console.data(&pretty(&purging));
    } else {
        render(context, &purging);
    }
    if let Some(signal) = stopped_by {
        return Ok(exit::of_signal(signal));
    }
    if purging.runs > 0 && !purging.done {
        return Err(typed_line::unconfirmed("nothing is removed yet"));
    }
    Ok(match (purging.failed.is_empty(), purging.runs) {
        (true, _) => exit::ANSWER,
        (false, 0) => exit::STORAGE,
        (false, _) => exit::PARTIAL,
    })
}

/// Purges until a signal comes, and then gives back the space of what is removed; a second signal ends that, too.
async fn purge_until_signal(
    context: &CommandContext<'_>,
    doomed: &PurgeSelection,
) -> Result<(Purging, Option<Signal>), Failure> {
    let (mut signals, stop) = (Signals::new(), CancellationToken::new());
    let mut progress = Progress { context, described: Instant::now() };
    let mut report = |stage| {
        progress.render(stage);
        if stop.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut purge = context.service.retention.purge(doomed, &mut report);
    let signal = tokio::select! {
        purging = &mut purge => return Ok((purging?, None)),
        signal = signals.next() => signal,
    };
    stop.cancel();
    context.console.say("stopping: the space of what is removed is given back; call it again for the rest");
    tokio::select! {
        purging = purge => Ok((purging?, Some(signal))),
        _ = signals.next() => {
            let failure = Failure::new(Code::Cancelled, "the purge was stopped before it had given back its space");
            Err(failure.with_next(Advice::RunAgain))
        }
    }
}

/// Prints progress on stderr at intervals; a short purge prints none.
struct Progress<'d> {
    context: &'d CommandContext<'d>,
    described: Instant,
}

impl Progress<'_> {
    fn render(&mut self, stage: PurgeStage) {
        if self.described.elapsed() < PROGRESS_EVERY {
            return;
        }
        self.described = Instant::now();
        let line = match stage {
            PurgeStage::Removing { done, total } => format!("{done} of {total} runs"),
            PurgeStage::Overwriting => "overwriting what is left of them".to_owned(),
        };
        self.context.console.say(&self.context.console.tone(Tone::Dim, &line));
    }
}

fn render(context: &CommandContext<'_>, purging: &Purging) {
    context.console.say(&extent(purging));
    let stays = purging.under_way.iter().map(|run_id| format!("run {run_id} is under way and stays"));
    name(context, &stays.collect::<Vec<_>>());
    name(context, &purging.failed.iter().map(why_it_stays).collect::<Vec<_>>());
    let left = purging
        .left
        .iter()
        .map(|path| format!("left, because this program did not make it: {}", path.display()));
    name(context, &left.collect::<Vec<_>>());
    if purging.log_cleared == Some(false) {
        let line = "another process is reading the database: until it is done, texts may stand in its log";
        context.console.say(&context.console.tone(Tone::Warning, line));
    }
    if purging.runs > 0 {
        context.console.say("what they cost stays in `runs cost`");
    }
}

fn why_it_stays(error: &ErrorReport) -> String {
    let run_id = error.run_id.as_deref().unwrap_or_default();
    format!("run {run_id} stays: {} (next: {})", error.message, vocabulary::describe(&error.steps))
}

/// The extent of a purge on one line.
fn extent(purging: &Purging) -> String {
    let (Some(oldest_ms), Some(newest_ms)) = (purging.oldest_ms, purging.newest_ms) else {
        let nothing = if purging.failed.is_empty() { "no run to remove" } else { "no run was removed" };
        return nothing.to_owned();
    };
    let runs = counted(purging.runs, "run");
    let (oldest, newest) = (clock::day(oldest_ms), clock::day(newest_ms));
    let when = if oldest == newest { format!("of {oldest}") } else { format!("from {oldest} to {newest}") };
    if purging.done {
        return format!("removed {runs} {when}, and {} of their files", purging.files);
    }
    format!("{runs} {when} would go, with texts, events and files")
}

/// Prints the first of these lines, and the number of the others.
fn name(context: &CommandContext<'_>, lines: &[String]) {
    for line in lines.iter().take(NAMED_MAX) {
        context.console.say(&context.console.tone(Tone::Warning, &safe::for_terminal(line)));
    }
    if lines.len() > NAMED_MAX {
        context.console.say(&format!("and {} more; `--json` names all", lines.len() - NAMED_MAX));
    }
}
