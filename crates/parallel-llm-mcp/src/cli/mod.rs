//! The command line: one file per command. A command reads its arguments, calls the service and renders.

mod answer_file;
mod ask;
mod config;
mod demo;
mod explain;
mod generate;
mod killed;
mod prompt;
mod runs;
mod simulate;
mod view;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};
use parallel_llm_engine::Failure;

pub use ask::Ask;
pub use demo::Demo;

use crate::output::console::Console;
use crate::service::Service;

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

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask a panel of models one question
    Ask(Box<Ask>),
    /// See it work: simulated models, no key, no cost
    Demo(Demo),
    /// Serve MCP on stdin and stdout
    Serve,
    /// Run the pretend OpenRouter that tests and the demo use
    Simulate(simulate::Simulate),
    /// Look at runs that were done
    Runs {
        /// What to look at.
        #[command(subcommand)]
        command: runs::RunsCommand,
    },
    /// Explain an error code
    Explain {
        /// The code, for example `rate_limited`; all codes without one.
        code: Option<String>,
    },
    /// Show the settings in force
    Config {
        /// What to show.
        #[command(subcommand)]
        command: config::ConfigCommand,
    },
    /// Write a generated page of the documentation to stdout
    #[command(hide = true)]
    Generate {
        /// Which page.
        page: generate::Page,
    },
}

/// Reads the arguments. An error is clap's own text, already shown; the exit code is returned.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, u8> {
    Arguments::try_parse_from(arguments).map_err(|error| {
        // Help and version are asked for, everything else is a mistake in the call.
        let asked_for = !error.use_stderr();
        let _ = error.print();
        if asked_for { crate::exit::ANSWER } else { crate::exit::USAGE }
    })
}

/// The help page, for a terminal without a command.
pub fn help() -> String {
    Arguments::command().render_help().to_string()
}

impl Command {
    /// What the flags set of the settings, by their names.
    pub fn overrides(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Ask(ask) => ask.overrides(),
            Self::Demo(_) | Self::Serve | Self::Simulate(_) => Vec::new(),
            Self::Runs { .. } | Self::Explain { .. } | Self::Config { .. } | Self::Generate { .. } => {
                Vec::new()
            }
        }
    }

    /// Whether nothing but data is wanted on the terminal.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Ask(ask) => ask.quiet,
            _ => false,
        }
    }

    /// Whether errors are wanted as JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::Ask(ask) => ask.json || ask.jsonl,
            Self::Runs { command } => command.wants_json(),
            _ => false,
        }
    }
}

/// What a command works with.
pub struct Desk<'a> {
    /// The service over the settings in force.
    pub service: &'a Service,
    /// The standard streams.
    pub console: Console,
}

pub use demo::run as run_demo;

/// Does a command that works on the service as it is, and returns the exit code.
pub async fn run(desk: &Desk<'_>, command: Command) -> Result<u8, Failure> {
    match command {
        Command::Ask(ask) => ask::run(desk, &ask).await,
        Command::Runs { command } => runs::run(desk, command).await,
        Command::Explain { code } => explain::run(desk, code.as_deref()),
        Command::Config { command } => Ok(config::run(desk, &command)),
        Command::Generate { page } => Ok(generate::run(desk, page)),
        Command::Simulate(simulate) => simulate::run(desk, &simulate).await,
        Command::Demo(_) | Command::Serve => unreachable!("`main` does what needs a program of its own"),
    }
}
