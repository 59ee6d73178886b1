//! `completions`, `complete` and `man`: scripts that complete commands, flags and their values in a shell, and manual pages.
//!
//! A script is small: values that only this machine has (presets, models, runs) come from `complete`, which it calls.

mod candidates;
mod script;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use crate::called;
use crate::command::context::CommandContext;
use crate::command::line::help;
use crate::exit;
use crate::terminal::console::Console;
use candidates::Kind;
use script::Shell;

/// Print the completion script of a shell
///
/// Example: source <(parallel-llm-mcp completions bash)
///
/// Example: parallel-llm-mcp completions fish | source
///
/// The first example goes into ~/.bashrc, or for zsh into ~/.zshrc after `compinit`; the second into
/// ~/.config/fish/config.fish. For PowerShell, add the output to the file that $PROFILE names.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// List what can be typed, for the scripts of shells
#[derive(Debug, clap::Args)]
pub struct Complete {
    /// A kind of value, such as `presets`, or `words` for whatever fits the words that follow
    kind: String,
    /// The words typed so far, the program first; the last is the one to complete
    #[arg(last = true)]
    words: Vec<OsString>,
}

/// Write the manual pages of all commands
#[derive(Debug, clap::Args)]
pub struct Man {
    /// An existing folder, such as share/man/man1
    pub folder: PathBuf,
}

/// Prints the script.
pub(in crate::command) fn run(console: &Console, completions: &Completions) -> u8 {
    console.data(&script::of(completions.shell, called::name(), &help::completed()));
    exit::ANSWER
}

/// Prints the candidates, each on a line.
pub(in crate::command) async fn complete(
    context: &CommandContext<'_>,
    complete: &Complete,
) -> Result<u8, Failure> {
    let found = match Kind::by_word(&complete.kind) {
        Some(kind) => candidates::values(context, &kind).await?,
        None => candidates::of_words(context, &help::completed(), &complete.words).await?,
    };
    if !found.is_empty() {
        context.console.data(&found.join("\n"));
    }
    Ok(exit::ANSWER)
}

/// Writes the pages.
pub(in crate::command) fn write_man(console: &Console, man: &Man) -> Result<u8, Failure> {
    write(&man.folder).map_err(|error| {
        let why = if man.folder.is_dir() { error.to_string() } else { "there is no such folder".to_owned() };
        let message = format!("the manual pages cannot be written to `{}`: {why}", man.folder.display());
        Failure::new(Code::OutputUnwritable, message).with_next(Next::NameWith("man FOLDER".into()))
    })?;
    console.say(&format!("the manual pages are in {}", man.folder.display()));
    Ok(exit::ANSWER)
}

fn write(folder: &Path) -> std::io::Result<()> {
    clap_mangen::generate_to(help::manual(), folder)
}
