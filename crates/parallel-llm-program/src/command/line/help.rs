//! The command line with its help pages: what a command does, examples, details, then its flags in groups, all within 80 columns.
//!
//! A page comes from the doc comment of its command. The first line says what the command does, paragraphs that begin with
//! `Example: ` hold a call each, and the others are the details.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};

use parallel_llm_settings::PROGRAM;

use crate::called;
use crate::command::{Arguments, Work};

/// The width of a page in columns, which every terminal has.
const COLUMNS: usize = 80;
/// What begins a paragraph with an example.
const EXAMPLE: &str = "Example: ";
/// The order of a page. Examples and details stand in `before-help`.
const PAGE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The groups of commands, in the order in which a new user needs them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask", &["ask", "runs", "batch"]),
    ("Choose", &["models", "strategies", "presets", "flow"]),
    ("Set up", &["demo", "doctor", "keys", "config", "completions"]),
    ("Serve others", &["install", "serve", "worker"]),
    ("Maintain", &["explain", "store", "simulate"]),
];

/// The command line with its help pages.
pub(in crate::command) fn command() -> Command {
    let program = called::name();
    let command = laid_out(as_called(Arguments::command()).max_term_width(COLUMNS));
    let page = PAGE.replace("{all-args}", &format!("{}Options:\n{{options}}", groups(&command)));
    command
        .help_template(page)
        .override_usage(format!("{program} [COMMAND]\n       {program} \"QUESTION\" [OPTIONS OF ask]"))
}

/// Parses the arguments, a command first.
pub(in crate::command) fn try_parse(arguments: &[OsString]) -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    let mut read = Arguments::from_arg_matches(&matches)?;
    if let (Some(crate::command::Command::Work(Work::Ask(ask))), Some((_, matches))) =
        (&mut read.command, matches.subcommand())
    {
        ask.settle_continued(matches, arguments);
    }
    Ok(read)
}

/// The command line at the width of the generated reference.
pub(in crate::command) fn reference() -> Command {
    command().term_width(COLUMNS)
}

/// The command line as the manual pages show it.
pub(in crate::command) fn manual() -> Command {
    as_called(Arguments::command().name(called::name()))
}

/// The command line as it is completed: a hidden command is for programs, which need no completion.
pub(in crate::command) fn completed() -> Command {
    let command = command();
    let shown: Vec<Command> = shown(&command).cloned().collect();
    // Clap can hide a command from help only, so this is the command made anew, with its own `--help`.
    Command::new(called::name())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_flag(true)
        .args(command.get_arguments().cloned())
        .subcommands(shown)
}

/// The command with the name that the user typed, also in its examples.
fn as_called(command: Command) -> Command {
    let name = called::name();
    let command = if command.get_name() == PROGRAM { command.bin_name(name) } else { command };
    let command = match command.get_long_about().map(ToString::to_string) {
        None => command,
        Some(text) => {
            let paragraphs = text.split("\n\n").map(|paragraph| {
                let is_example = paragraph.starts_with(EXAMPLE);
                if is_example { paragraph.replace(PROGRAM, name) } else { paragraph.to_owned() }
            });
            command.long_about(paragraphs.collect::<Vec<_>>().join("\n\n"))
        }
    };
    command.mut_subcommands(as_called)
}

/// The main page.
pub(in crate::command) fn page() -> String {
    command().render_help().to_string()
}

/// The command, and the commands below it, with the parts of their pages in order.
fn laid_out(command: Command) -> Command {
    let text = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let (examples, details): (Vec<&str>, Vec<&str>) =
        text.split("\n\n").skip(1).partition(|paragraph| paragraph.starts_with(EXAMPLE));
    let calls: Vec<String> = examples.iter().map(|text| format!("  {}", &text[EXAMPLE.len()..])).collect();
    let title = match calls.len() {
        0 => None,
        1 => Some("Example:"),
        _ => Some("Examples:"),
    };
    let examples = title.map(|title| format!("{title}\n{}", calls.join("\n")));
    let paragraphs: Vec<String> =
        examples.into_iter().chain(details.into_iter().map(str::to_owned)).collect();
    let command = if paragraphs.is_empty() { command } else { command.before_help(paragraphs.join("\n\n")) };
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help("Print help");
    // Without a heading the flag would stand before all groups.
    let has_groups = command.get_arguments().any(|argument| argument.get_help_heading().is_some());
    let help = if has_groups { help.help_heading("Help") } else { help };
    command
        .long_about(None::<&str>)
        .help_template(PAGE)
        .disable_help_flag(true)
        .arg(help)
        .mut_args(|argument| {
            // `--budget -1` is a wrong amount, not an unknown flag `-1`.
            let argument = argument.ignore_case(true);
            let takes_value = argument.get_action().takes_values() && !argument.is_positional();
            if takes_value { argument.allow_negative_numbers(true) } else { argument }
        })
        .mut_subcommands(laid_out)
}

/// The commands in their groups, each with the first line of its page.
fn groups(command: &Command) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let listed = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let widest = listed.map(|name| name.len()).max().unwrap_or(0);
    let mut page = String::new();
    for (group, names) in GROUPS {
        page += &format!("{header}{group}:{header:#}\n");
        for name in names {
            let found = command.find_subcommand(name).and_then(Command::get_about);
            let about = found.map(ToString::to_string).unwrap_or_default();
            page += &format!("  {literal}{name:<widest$}{literal:#}  {about}\n");
        }
        page.push('\n');
    }
    page
}

/// The first nested command of this name.
pub(in crate::command) fn nested(name: &str, commands: &Command) -> Option<String> {
    let above = shown(commands).find(|command| names(command).any(|below| below == name))?;
    Some(format!("{} {name}", above.get_name()))
}

/// The names of the commands that are shown below a command.
pub(in crate::command) fn names(command: &Command) -> impl Iterator<Item = &str> {
    shown(command).map(Command::get_name)
}

/// The commands that are shown below a command.
pub(in crate::command) fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let command = command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut commands: Vec<&str> = visible.map(Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        commands.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, commands);
        let below = |name: &str| {
            let mut below: Vec<&str> = names(command.find_subcommand(name).expect("it is there")).collect();
            below.sort_unstable();
            below
        };
        let known: Vec<(&str, Vec<&str>)> = commands.iter().map(|name| (*name, below(name))).collect();
        assert_eq!(called::COMMANDS.map(|(name, below)| (name, below.to_vec())).to_vec(), known);
    }
}
