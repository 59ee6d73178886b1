//! `config`: the settings in force and their origins.

use crate::command::context::CommandContext;
use crate::exit;

/// Show the effective settings
#[derive(Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// Show every setting
    Show {
        /// Also show the origin of each value
        #[arg(long)]
        origin: bool,
    },
}

/// Runs the command.
pub(in crate::command) fn run(context: &CommandContext<'_>, command: &ConfigCommand) -> u8 {
    let ConfigCommand::Show { origin } = command;
    let shown = context.service.settings.shown();
    let widest = shown.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
    let lines = shown.iter().map(|setting| {
        let from = if *origin { format!("  # {}", setting.origin) } else { String::new() };
        format!("{:<widest$} = {}{from}", setting.name, setting.value)
    });
    context.console.page(&lines.collect::<Vec<_>>().join("\n"));
    if let Some(paths) = &context.service.settings.config_paths {
        let there = if paths.user_file.exists() { "" } else { ", which is not there yet" };
        context.console.say(&format!("your own file: {}{there}", context.console.path(&paths.user_file)));
    }
    exit::ANSWER
}
