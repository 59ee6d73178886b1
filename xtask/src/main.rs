//! The commands of this repository: `cargo xtask <command>`.
//!
//! A command is one file and one line of [`COMMANDS`]. Nothing here ships with the program.

use std::process::ExitCode;

mod bench;
mod built;
mod ci;
mod codegen;
mod failure;
mod help;
mod program;
mod repository;
mod say;
mod test;
mod tidy;

use failure::Failure;

/// A command: its name, its line in the help, and its function.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

/// Every command, in the order the help shows them.
const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        about: "Run the checks for every change: format, lints, rules, all tests",
        run: test::run,
    },
    Command { name: "tidy", about: "Check the rules of the repository", run: tidy::run },
    Command {
        name: "measure",
        about: "Count lines, functions, comments and arrows of each package, here or in another checkout [ROOT]",
        run: tidy::measure::run,
    },
    Command { name: "codegen", about: "Write the generated pages in docs/ [--check]", run: codegen::run },
    Command {
        name: "ci",
        about: "Run all other checks, stage by stage [--only STAGE] [--fuzz-seconds N] [--advisories] [--images] [--long]",
        run: ci::run,
    },
    Command {
        name: "bench",
        about: "Measure the program as ratios to a bare client [--quick] [--only WORKLOAD | --plots]; [--draw] only draws",
        run: bench::run,
    },
    Command { name: "help", about: "Print this list", run: help::run },
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = words.collect();
    let outcome = match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(&rest),
        None => Err(Failure::new(format!("`{name}` is not a command; `cargo xtask help` lists them"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say::note(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}
