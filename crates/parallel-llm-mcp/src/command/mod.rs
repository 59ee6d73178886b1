//! The command line: one file per command. A command reads its arguments, calls the service and renders.

mod answer_file;
mod ask;
mod config;
mod continuing;
mod demo;
mod doctor;
mod dry_run;
mod explain;
mod generate;
mod hidden;
mod import;
mod install;
mod keys;
mod killed;
mod models;
mod piped;
mod prompt;
mod runs;
mod serve;
mod simulate;
mod store;
mod template;
mod tokens;
mod view;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

pub use ask::Ask;
pub use demo::{Demo, run as run_demo};
pub use serve::Serve;

use crate::exit;
use crate::terminal::console::Console;
use parallel_llm_service::Services;

/// The name of the program.
const PROGRAM: &str = "parallel-llm-mcp";

/// Ask many language models at once and get one answer you can trust
///
/// Without a command: an MCP server when stdin is a pipe (what MCP clients start), this help on a terminal.
///
/// Try `parallel-llm-mcp demo`: no key, no cost. Then set OPENROUTER_API_KEY and
/// `parallel-llm-mcp ask "Which of two designs is safer, and why?"`.
#[derive(Debug, Parser)]
#[command(name = "parallel-llm-mcp", version, disable_help_subcommand = false, max_term_width = 100)]
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
    Demo(Demo),
    Serve(Serve),
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
    Models(Box<models::Models>),
    Doctor(doctor::Doctor),
    /// Explain an error code
    Explain {
        /// The code, for example `rate_limited`; all codes without one
        code: Option<String>,
    },
    /// Show the effective settings
    Config {
        /// What to show.
        #[command(subcommand)]
        command: config::ConfigCommand,
    },
    /// Store the keys of providers, and make tokens that let others ask here
    Keys {
        /// What to do.
        #[command(subcommand)]
        command: keys::KeysCommand,
    },
    /// Check, back up and restore the run database
    Store {
        /// What to do.
        #[command(subcommand)]
        command: store::StoreCommand,
    },
    Import(import::Import),
    Install(install::Install),
    Simulate(simulate::Simulate),
    /// Write a generated page of the documentation to stdout
    #[command(hide = true)]
    Generate {
        /// Which page
        page: generate::Page,
    },
}

/// Reads the arguments. What is wrong with them has been told, or the help that was asked for given; the exit code is
/// returned.
pub fn parse(console: &Console, arguments: &[OsString]) -> Result<Arguments, u8> {
    Arguments::try_parse_from(arguments).map_err(|error| {
        if !error.use_stderr() {
            // Its own colours, where there are any, are harmless.
            console.help(&error.render(), false);
            return exit::ANSWER;
        }
        let wants_json = arguments.iter().any(|argument| argument == "--json" || argument == "--jsonl");
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !wants_json {
            console.help(&error.render(), true);
        } else {
            console.fail(&misuse(&error), wants_json);
        }
        exit::USAGE
    })
}

/// A mistake in the call, in the form of all our errors.
fn misuse(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let joined = |lines: &str| lines.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = text.split("\n\n");
    let message = joined(parts.next().unwrap_or_default());
    let message = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        "a command is missing".to_owned()
    } else {
        message.trim_start_matches("error: ").to_owned()
    };
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or(PROGRAM);
    let command: Vec<&str> =
        usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let tips: Vec<String> =
        text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).map(joined).collect();
    let message = if tips.is_empty() { message } else { format!("{message}; {}", tips.join("; ")) };
    Failure::new(Code::Usage, message).with_next(Next::See(format!("{} --help", command.join(" ")).into()))
}

/// The help page, for a terminal without a command.
pub fn help() -> String {
    Arguments::command().render_help().to_string()
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
            Self::Work(Work::Runs { command: runs::RunsCommand::Show(show) }) => show.demo,
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
            Self::Work(Work::Keys { command }) => command.wants_json(),
            Self::Work(Work::Store { command }) => command.wants_json(),
            Self::Work(Work::Models(models)) => models.json,
            Self::Work(Work::Doctor(doctor)) => doctor.json,
            Self::Work(Work::Import(import)) => import.json,
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
        Work::Models(models) => models::run(context, &models).await,
        Work::Doctor(doctor) => doctor::run(context, &doctor).await,
        Work::Explain { code } => explain::run(context, code.as_deref()),
        Work::Keys { command } => keys::run(context, command).await,
        Work::Store { command } => store::run(context, command).await,
        Work::Config { command } => Ok(config::run(context, &command)),
        Work::Import(import) => import::run(context, &import).await,
        Work::Install(install) => install::run(context, &install),
        Work::Simulate(simulate) => simulate::run(context, &simulate).await,
        Work::Generate { page } => Ok(generate::run(context, page)),
    }
}
