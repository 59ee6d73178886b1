//! `runs export`: rebuilds the files of runs, or prints their reports, one on each line.

use std::path::PathBuf;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, RunId};

use super::moment::Moment;
use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::vocabulary::COMMAND_LINE;

/// Rebuild the files of runs, or print their reports one a line
///
/// Without --jsonl, writes the prompt, the answers, the final text and the report of each run to a folder named by the
/// run. An existing folder is changed only if its run.json is of the same run.
///
/// A run that cannot be exported is reported, and the others are exported; the exit code is then 3.
///
/// Example: parallel-llm-mcp runs export --jsonl --since 30d > runs.jsonl
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["runs", "all", "since"]))]
pub struct Export {
    /// The ids of runs or prefixes of them; `@` is the newest, `@~1` the one before
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// The folder in which the runs' folders are made; the output folder unless given
    #[arg(long, value_name = "DIR", conflicts_with = "jsonl")]
    dir: Option<PathBuf>,
    /// Print the report of each run as one JSON object a line, the oldest run first
    #[arg(long)]
    pub(super) jsonl: bool,
    /// All runs
    #[arg(long)]
    all: bool,
    /// All runs that began since then: a time ago such as 7d or 12h, or a day such as 2026-11-01 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = Moment::read)]
    since: Option<Moment>,
    /// Export runs of the demo
    #[arg(long)]
    pub(super) demo: bool,
}

/// Runs the command. A run that cannot be exported does not stop the others.
pub(super) async fn run(context: &CommandContext<'_>, export: &Export) -> Result<u8, Failure> {
    let (runs, unknown) = wanted(context, export).await?;
    if runs.is_empty() && unknown.is_empty() {
        context.console.say("no run to export");
    }
    let mut failed: Vec<Code> = unknown.iter().map(|failure| failure.code).collect();
    for failure in &unknown {
        context.console.fail(failure, export.jsonl);
    }
    for run_id in &runs {
        match one(context, export, *run_id).await {
            Ok(line) => {
                context.console.data(&line);
                context.console.room().await;
            }
            // The run was purged in the meantime.
            Err(failure) if failure.code == Code::RunNotFound => {}
            Err(failure) => {
                context.console.fail(&failure, export.jsonl);
                failed.push(failure.code);
            }
        }
    }
    Ok(match failed.first() {
        None => exit::ANSWER,
        Some(code) if failed.len() == runs.len() + unknown.len() => exit::of(*code),
        Some(_) => exit::PARTIAL,
    })
}

/// The runs, each once, the oldest first, and what is wrong with the names of the others. All names are resolved before
/// anything is written.
async fn wanted(
    context: &CommandContext<'_>,
    export: &Export,
) -> Result<(Vec<RunId>, Vec<Failure>), Failure> {
    if export.runs.is_empty() {
        let runs = context.service.runs.run_ids(export.since.map(Moment::unix_ms), None).await?;
        return Ok((runs, Vec::new()));
    }
    let (mut runs, mut unknown) = (Vec::new(), Vec::new());
    for name in &export.runs {
        match context.service.runs.run_id(name).await {
            Ok(run_id) => runs.push(run_id),
            Err(failure) => unknown.push(failure),
        }
    }
    runs.sort_unstable();
    runs.dedup();
    Ok((runs, unknown))
}

/// Exports one run; returns its report or its folder.
async fn one(context: &CommandContext<'_>, export: &Export, run_id: RunId) -> Result<String, Failure> {
    if export.jsonl {
        return Ok(context.service.runs.load(run_id).await?.report().in_vocabulary(&COMMAND_LINE).line());
    }
    let folder = context.service.runs.export(run_id, export.dir.as_deref()).await;
    let folder = folder.map_err(|failure| match (failure.code, &export.dir) {
        // The folder of `ask` has another flag.
        (Code::OutputUnwritable, Some(_)) => failure.with_next(Next::NameWith("--dir".into())),
        _ => failure,
    })?;
    Ok(folder.display().to_string())
}
