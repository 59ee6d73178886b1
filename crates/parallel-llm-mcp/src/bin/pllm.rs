//! The short name of the program: becomes the program beside it, which then calls itself `pllm`.
//!
//! A second copy of the program would double what is linked and installed, and cargo installs no links.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The program, whose name is that of its package.
const PROGRAM: &str = env!("CARGO_PKG_NAME");
/// The short name.
const NAME: &str = "pllm";
/// The exit code of a defect. Both files are installed together, so half an installation is one.
const INTERNAL: u8 = 70;

fn main() -> ExitCode {
    let program = match beside() {
        Ok(program) => program,
        Err(error) => return refuse(&format!("`{NAME}` cannot find out where it is installed: {error}")),
    };
    let mut arguments = std::env::args_os();
    let typed = arguments.next().unwrap_or_else(|| NAME.into());
    let mut command = Command::new(&program);
    command.args(arguments);
    become_it(command, &typed).unwrap_or_else(|error| {
        refuse(&format!("`{NAME}` cannot start the program beside it, `{}`: {error}", program.display()))
    })
}

/// The program in the folder of this file. A link to this file counts as the file.
fn beside() -> io::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let here = here.canonicalize().unwrap_or(here);
    Ok(here.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)))
}

/// Replaces this process, so that signals, terminal and exit code are the program's own.
#[cfg(unix)]
fn become_it(mut command: Command, typed: &OsStr) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    // The folder stays, because `install` prefers the path that was typed.
    Err(command.arg0(Path::new(typed).with_file_name(NAME)).exec())
}

/// Waits for the program and takes over its exit code: here a process cannot be replaced.
#[cfg(not(unix))]
fn become_it(mut command: Command, _typed: &OsStr) -> io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(INTERNAL)))
}

fn refuse(message: &str) -> ExitCode {
    let next = format!("install both again, or call `{PROGRAM}` itself");
    // If stderr is closed, the exit code still reports the failure.
    let _ = writeln!(io::stderr(), "error[internal]: {message}\n  next: {next}");
    ExitCode::from(INTERNAL)
}
