//! `runs`: its subcommands, a file each.

use parallel_llm_engine::Failure;

use super::list::{self, LIST_DEFAULT, how_many};
use super::{continuing, cost, export, insights, purge, search, show};
use crate::command::context::CommandContext;

/// Show and continue earlier runs
#[derive(Debug, clap::Subcommand)]
pub enum RunsCommand {
    /// List runs, newest first
    List {
        /// The number of runs
        #[arg(short = 'n', long, default_value_t = LIST_DEFAULT, value_parser = how_many)]
        limit: usize,
        /// Only runs older than this one: its id or a prefix of it, `@` for the newest, `@~1` for the one before
        #[arg(long, value_name = "RUN")]
        before: Option<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// List the runs of the demo
        #[arg(long)]
        demo: bool,
    },
    Show(show::Show),
    /// Watch a run of any process until it has an answer
    Wait(continuing::Wait),
    /// Finish an interrupted run, or ask its seats without an answer again, without paying twice
    Resume(continuing::Resume),
    /// Ask further models the question of a run, and fuse again
    Add(continuing::Add),
    /// Make another text of a run's answers without asking its panel again
    Synthesize(continuing::Synthesize),
    /// Try another strategy on a run's answers without asking its panel again
    Replay(continuing::Replay),
    Search(search::Search),
    Cost(cost::Cost),
    Insights(insights::Insights),
    Export(export::Export),
    Purge(purge::Purge),
}

impl RunsCommand {
    /// The settings that the flags override, by name.
    pub fn overrides(&self) -> Vec<(&'static str, String)> {
        let checking = match self {
            Self::Resume(resume) => &resume.checking,
            Self::Add(add) => &add.checking,
            Self::Synthesize(synthesize) => &synthesize.checking,
            Self::Replay(replay) => &replay.checking,
            _ => return Vec::new(),
        };
        checking.check.iter().map(|command| ("check_command", command.clone())).collect()
    }

    /// Whether the command is about the runs of the demo.
    pub const fn is_of_demo(&self) -> bool {
        match self {
            Self::List { demo, .. } => *demo,
            Self::Show(show) => show.demo,
            Self::Search(search) => search.demo,
            Self::Cost(cost) => cost.demo,
            Self::Insights(insights) => insights.demo,
            Self::Export(export) => export.demo,
            Self::Wait(wait) => wait.whose.demo,
            Self::Resume(resume) => resume.whose.demo,
            Self::Add(add) => add.whose.demo,
            Self::Synthesize(synthesize) => synthesize.whose.demo,
            Self::Replay(replay) => replay.whose.demo,
            // A new demo removes the runs of the one before.
            Self::Purge(_) => false,
        }
    }

    /// Whether the command may call models.
    pub const fn calls_models(&self) -> bool {
        matches!(self, Self::Resume(_) | Self::Add(_) | Self::Synthesize(_) | Self::Replay(_))
    }

    /// Whether errors are printed as JSON.
    pub const fn wants_json(&self) -> bool {
        match self {
            Self::List { json, .. } => *json,
            Self::Show(show) => show.json,
            Self::Wait(wait) => wait.json,
            Self::Resume(resume) => resume.shown.json,
            Self::Add(add) => add.shown.json,
            Self::Synthesize(synthesize) => synthesize.shown.json,
            Self::Replay(replay) => replay.shown.json,
            Self::Search(search) => search.json,
            Self::Cost(cost) => cost.json,
            Self::Insights(insights) => insights.json,
            Self::Export(export) => export.jsonl,
            Self::Purge(purge) => purge.json,
        }
    }
}

/// Runs the command.
pub(in crate::command) async fn run(
    context: &CommandContext<'_>,
    command: RunsCommand,
) -> Result<u8, Failure> {
    match command {
        RunsCommand::List { limit, before, json, demo: _ } => {
            list::run(context, limit, before.as_deref(), json).await
        }
        RunsCommand::Show(show) => show::run(context, &show).await,
        RunsCommand::Wait(wait) => continuing::wait(context, &wait).await,
        RunsCommand::Resume(resume) => continuing::resume(context, &resume).await,
        RunsCommand::Add(add) => continuing::add(context, add).await,
        RunsCommand::Synthesize(synthesize) => continuing::synthesize(context, synthesize).await,
        RunsCommand::Replay(replay) => continuing::replay(context, replay).await,
        RunsCommand::Search(search) => search::run(context, &search).await,
        RunsCommand::Cost(cost) => cost::run(context, &cost).await,
        RunsCommand::Insights(insights) => insights::run(context, &insights).await,
        RunsCommand::Export(export) => export::run(context, &export).await,
        RunsCommand::Purge(purge) => purge::run(context, purge).await,
    }
}
