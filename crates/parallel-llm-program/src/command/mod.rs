//! The command line: one file per command. A command reads its arguments, calls the service and renders.

mod amount;
mod answer_file;
mod ask;
mod bare;
mod batch;
mod bounded_text;
mod completions;
mod config;
mod continued;
mod continuing;
mod demo;
mod doctor;
mod dry_run;
mod explain;
mod flow;
mod generate;
mod help;
mod hidden;
mod install;
mod keys;
mod killed;
mod lone_word;
mod mistyped;
mod misuse;
mod models;
mod near_file;
mod opened;
mod outgoing;
mod parse;
mod piped;
mod preset_as_model;
mod presets;
mod prompt;
mod runs;
mod second_model;
mod serve;
mod simulate;
mod store;
mod strategies;
mod synonyms;
mod template;
mod tokens;
mod typed_line;
mod unread_file;
mod view;

use clap::{Parser, Subcommand};
use parallel_llm_engine::Failure;

pub use ask::Ask;
pub use demo::{Demo, run as run_demo};
pub use parse::parse;
pub use serve::Serve;

use crate::terminal::console::Console;
use parallel_llm_service::Services;

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
    Completions(completions::Completions),
    #[command(hide = true)]
    Man(completions::Man),
    /// Write a generated page of the documentation to stdout
    #[command(hide = true)]
    Generate {
        /// Which page
        page: generate::Page,
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
        command: runs::RunsCommand,
    },
    /// Ask files of questions, each line as a run
    Batch {
        /// What to do.
        #[command(subcommand)]
        command: batch::BatchCommand,
    },
    Worker(batch::WorkerCommand),
    Models(Box<models::Models>),
    Strategies(strategies::Strategies),
    Presets(presets::Presets),
    /// List, draw and check flows, which compose stages of panels
    Flow {
        /// What to do.
        #[command(subcommand)]
        command: flow::FlowCommand,
    },
    Doctor(doctor::Doctor),
    /// Show the effective settings
    Config {
        /// What to show.
        #[command(subcommand)]
        command: config::ConfigCommand,
    },
    /// Store the keys of providers, and make tokens for other callers
    Keys {
        /// What to do.
        #[command(subcommand)]
        command: keys::KeysCommand,
    },
    /// Check, back up, restore and copy the run database
    Store {
        /// What to do.
        #[command(subcommand)]
        command: store::StoreCommand,
    },
    Install(install::Install),
    Simulate(simulate::Simulate),
    #[command(hide = true)]
    Complete(completions::Complete),
}

/// The main help page, for a terminal without a command.
pub fn help() -> String {
    help::page()
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

/// What a command works with.
pub struct CommandContext<'a> {
    /// The service over the settings in force.
    pub service: &'a Services,
    /// The standard streams.
    pub console: Console,
}

/// Does a command and returns the exit code.
pub async fn run(context: &CommandContext<'_>, work: Work) -> Result<u8, Failure> {
    match work {
        Work::Ask(ask) => ask::run(context, *ask).await,
        Work::Runs { command } => runs::run(context, command).await,
        Work::Batch { command } => batch::run(context, command).await,
        Work::Worker(worker) => batch::worker(context, &worker).await,
        Work::Models(models) => models::run(context, &models).await,
        Work::Strategies(strategies) => strategies::run(context, &strategies),
        Work::Presets(presets) => presets::run(context, &presets).await,
        Work::Flow { command } => flow::run(context, &command).await,
        Work::Doctor(doctor) => doctor::run(context, &doctor).await,
        Work::Keys { command } => keys::run(context, command).await,
        Work::Store { command } => store::run(context, command).await,
        Work::Config { command } => Ok(config::run(context, &command)),
        Work::Install(install) => install::run(context, &install),
        Work::Simulate(simulate) => simulate::run(context, &simulate).await,
        Work::Complete(complete) => completions::complete(context, &complete).await,
    }
}

/// Does a command that needs no settings and returns the exit code.
pub fn refer(console: &Console, reference: &Reference) -> Result<u8, Failure> {
    match reference {
        Reference::Explain { code } => explain::run(console, code.as_deref()),
        Reference::Completions(completions) => Ok(completions::run(console, completions)),
        Reference::Man(man) => completions::write_man(console, man),
        Reference::Generate { page } => Ok(generate::run(console, *page)),
    }
}
