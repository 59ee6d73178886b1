//! `completions` and `man`: scripts that complete commands and flags in a shell, and manual pages.

use std::path::{Path, PathBuf};

use clap_complete::Shell;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use super::help;
use crate::called;
use crate::exit;
use crate::terminal::console::Console;

/// Print the completion script of a shell
///
/// Example: source <(parallel-llm-mcp completions bash)
///
/// Example: parallel-llm-mcp completions fish > ~/.config/fish/completions/parallel-llm-mcp.fish
///
/// For bash and zsh the first example belongs into ~/.bashrc or, after `compinit`, into ~/.zshrc. For PowerShell, add the
/// output to the file that $PROFILE names.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// Write the manual pages of all commands
#[derive(Debug, clap::Args)]
pub struct Man {
    /// An existing folder, such as share/man/man1
    pub folder: PathBuf,
}

/// Prints the script.
pub(super) fn run(console: &Console, completions: &Completions) -> u8 {
    let name = called::name();
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut help::completed(), name, &mut script);
    let script = String::from_utf8_lossy(&script);
    // For bash, clap_complete 4.6 writes a hyphen of the name in two ways, and then completes nothing below a command.
    let (written, called) = (name.replace('-', "__subcmd__"), name.replace('-', "__"));
    console.data(&script.replace(&written, &called));
    exit::ANSWER
}

/// Writes the pages.
pub(super) fn write_man(console: &Console, man: &Man) -> Result<u8, Failure> {
    write(&man.folder).map_err(|error| {
        let message = format!("the manual pages cannot be written to `{}`: {error}", man.folder.display());
        Failure::new(Code::OutputUnwritable, message).with_next(Next::NameWith("man FOLDER".into()))
    })?;
    console.say(&format!("the manual pages are in {}", man.folder.display()));
    Ok(exit::ANSWER)
}

fn write(folder: &Path) -> std::io::Result<()> {
    clap_mangen::generate_to(help::manual(), folder)
}
