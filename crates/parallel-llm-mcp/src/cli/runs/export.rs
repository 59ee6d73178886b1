//! `runs export`: the files of runs made anew, or the reports of runs, one a line.

use std::path::PathBuf;

use parallel_llm_engine::{Code, Failure, RunId};

use super::Moment;
use crate::cli::Desk;
use crate::exit;

/// Make the files of runs anew, or print their reports one a line
///
/// Without --jsonl, the prompt, the answers, the final text and the report of each run are written to a folder named by
/// the run. One that is there is touched only where its run.json is of the same run.
///
/// Example: parallel-llm-mcp runs export --jsonl --since 30d > runs.jsonl
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["runs", "all", "since"]))]
pub struct Export {
    /// The ids of runs or beginnings of them; `@` is the newest
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Where the runs' folders are made; the output folder unless given
    #[arg(long, value_name = "DIR", conflicts_with = "jsonl")]
    dir: Option<PathBuf>,
    /// Print the report of each run as one JSON object a line, the oldest run first
    #[arg(long)]
    pub(super) jsonl: bool,
    /// All runs
    #[arg(long, requires = "jsonl")]
    all: bool,
    /// All runs that began since then: a time ago such as 7d or 12h, or a day such as 2026-11-01 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = Moment::read, requires = "jsonl")]
    since: Option<Moment>,
}

/// Does the command.
pub(super) async fn run(desk: &Desk<'_>, export: &Export) -> Result<u8, Failure> {
    let mut runs = Vec::new();
    // All names are looked up before anything is written.
    for name in &export.runs {
        runs.push(desk.service.run_id(name).await?);
    }
    if export.jsonl {
        if runs.is_empty() {
            runs = desk.service.run_ids(export.since.map(Moment::unix_ms), None).await?;
        }
        return print_reports(desk, runs).await;
    }
    for run_id in runs {
        let folder = desk.service.export(run_id, export.dir.as_deref()).await?;
        desk.console.data(&folder.display().to_string());
    }
    Ok(exit::ANSWER)
}

/// Each report is read, printed and forgotten before the next.
async fn print_reports(desk: &Desk<'_>, mut runs: Vec<RunId>) -> Result<u8, Failure> {
    runs.sort_unstable();
    runs.dedup();
    for run_id in runs {
        match desk.service.load(run_id).await {
            Ok(past) => desk.console.data(&past.report().line()),
            // It was purged meanwhile.
            Err(failure) if failure.code == Code::RunNotFound => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(exit::ANSWER)
}
