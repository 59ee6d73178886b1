//! The command line: a folder for each group of commands, and in it a file per command. A command reads its arguments, calls the service and renders.

mod about;
mod arguments;
mod ask;
mod batch;
mod choices;
mod context;
mod json;
mod line;
mod runs;
mod serve;
mod setup;
mod simulated;
mod watch;

use clap::{Parser, Subcommand};
use parallel_llm_engine::Failure;

pub use arguments::parse::parse;
pub use ask::question::Ask;
pub use context::CommandContext;
pub use serve::Serve;
pub use simulated::demo::{Demo, run as run_demo};

use crate::terminal::console::Console;

/// Ask many language models at once and get one answer you can trust
///
/// Example: parallel-llm-mcp demo
///
/// Example: parallel-llm-mcp "Which of two designs is safer, and why?"
///
/// Example: git diff | parallel-llm-mcp ask "Review this change" --preset quick
///
/// `demo` needs no key and costs nothing. Questions need a key, such as OPENROUTER_API_KEY; in quotes they may stand
/// without `ask`. Without a command and a question this is an MCP server if stdin is a pipe, which is how MCP clients start
/// it; on a terminal it prints this help.
#[derive(Debug, Parser)]
#[command(name = "parallel-llm-mcp", version)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What the program can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Something to do with the service as it is.
    #[command(flatten)]
    Work(Work),
    /// What the program says about itself.
    #[command(flatten)]
    Reference(Reference),
    Demo(Demo),
    Serve(Serve),
}

/// The commands that need no settings, so that they also work if the settings cannot be read.
#[derive(Debug, Subcommand)]
pub enum Reference {
    /// Explain an error code
    Explain {
        /// The code, for example `rate_limited`; all codes without one
        code: Option<String>,
    },
    Completions(about::completions::Completions),
    #[command(hide = true)]
    Man(about::completions::Man),
    /// Write a generated page of the documentation to stdout
    #[command(hide = true)]
    Generate {
        /// Which page
        page: about::generate::Page,
    },
}

/// The commands that work on the service as it is.
#[derive(Debug, Subcommand)]
pub enum Work {
    Ask(Box<Ask>),
    /// Show and continue earlier runs
    Runs {
        /// What to do.
        #[command(subcommand)]
        command: runs::subcommands::RunsCommand,
    },
    /// Ask files of questions, each line as a run
    Batch {
        /// What to do.
        #[command(subcommand)]
        command: batch::subcommands::BatchCommand,
    },
    Worker(batch::work::WorkerCommand),
    Models(Box<choices::models::Models>),
    Strategies(choices::strategies::Strategies),
    Presets(choices::presets::Presets),
    /// List, draw and check flows, which compose stages of panels
    Flow {
        /// What to do.
        #[command(subcommand)]
        command: choices::flow::FlowCommand,
    },
    Doctor(setup::doctor::Doctor),
    /// Show the effective settings
    Config {
        /// What to show.
        #[command(subcommand)]
        command: setup::config::ConfigCommand,
    },
    /// Store the keys of providers, and make tokens for other callers
    Keys {
        /// What to do.
        #[command(subcommand)]
        command: setup::keys::KeysCommand,
    },
    /// Check, back up, restore and copy the run database
    Store {
        /// What to do.
        #[command(subcommand)]
        command: setup::store::StoreCommand,
    },
    Install(setup::install::Install),
    Simulate(simulated::simulate::Simulate),
    #[command(hide = true)]
    Complete(about::completions::Complete),
}

/// The main help page, for a terminal without a command.
pub fn help() -> String {
    line::help::page()
}

impl Work {
    /// Whether the command continues a run of the demo, so that it needs the demo's models.
    pub const fn continues_demo(&self) -> bool {
        matches!(self, Self::Runs { command } if command.is_of_demo() && command.calls_models())
    }
}

impl Command {
    /// What the flags set of the settings, by their names.
    pub fn overrides(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Serve(serve) => serve.overrides(),
            Self::Work(Work::Runs { command }) => command.overrides(),
            _ => self.ask().map(Ask::overrides).unwrap_or_default(),
        }
    }

    /// Whether the command is about the runs of the demo.
    pub const fn is_of_demo(&self) -> bool {
        match self {
            Self::Demo(_) => true,
            Self::Work(Work::Runs { command }) => command.is_of_demo(),
            _ => false,
        }
    }

    /// Whether nothing but data is wanted on the terminal.
    pub fn is_quiet(&self) -> bool {
        self.ask().is_some_and(|ask| ask.quiet)
    }

    /// Whether errors are wanted as JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::Work(Work::Ask(ask)) => ask.json || ask.jsonl,
            Self::Work(Work::Runs { command }) => command.wants_json(),
            Self::Work(Work::Batch { command }) => command.wants_json(),
            Self::Work(Work::Keys { command }) => command.wants_json(),
            Self::Work(Work::Store { command }) => command.wants_json(),
            Self::Work(Work::Models(models)) => models.json,
            Self::Work(Work::Strategies(strategies)) => strategies.json,
            Self::Work(Work::Presets(presets)) => presets.json,
            Self::Work(Work::Flow { command }) => command.wants_json(),
            Self::Work(Work::Doctor(doctor)) => doctor.json,
            Self::Work(Work::Install(install)) => install.json,
            _ => false,
        }
    }

    fn ask(&self) -> Option<&Ask> {
        match self {
            Self::Work(Work::Ask(ask)) => Some(ask),
            _ => None,
        }
    }
}

/// Does a command and returns the exit code.
pub async fn run(context: &CommandContext<'_>, work: Work) -> Result<u8, Failure> {
    match work {
        Work::Ask(ask) => ask::asking::run(context, *ask).await,
        Work::Runs { command } => runs::subcommands::run(context, command).await,
        Work::Batch { command } => batch::subcommands::run(context, command).await,
        Work::Worker(worker) => batch::work::worker(context, &worker).await,
        Work::Models(models) => choices::models::run(context, &models).await,
        Work::Strategies(strategies) => choices::strategies::run(context, &strategies),
        Work::Presets(presets) => choices::presets::run(context, &presets).await,
        Work::Flow { command } => choices::flow::run(context, &command).await,
        Work::Doctor(doctor) => setup::doctor::run(context, &doctor).await,
        Work::Keys { command } => setup::keys::run(context, command).await,
        Work::Store { command } => setup::store::run(context, command).await,
        Work::Config { command } => Ok(setup::config::run(context, &command)),
        Work::Install(install) => setup::install::run(context, &install),
        Work::Simulate(simulate) => simulated::simulate::run(context, &simulate).await,
        Work::Complete(complete) => about::completions::complete(context, &complete).await,
    }
}

/// Does a command that needs no settings and returns the exit code.
pub fn refer(console: &Console, reference: &Reference) -> Result<u8, Failure> {
    match reference {
        Reference::Explain { code } => about::explain::run(console, code.as_deref()),
        Reference::Completions(completions) => Ok(about::completions::run(console, completions)),
        Reference::Man(man) => about::completions::write_man(console, man),
        Reference::Generate { page } => Ok(about::generate::run(console, *page)),
    }
}
