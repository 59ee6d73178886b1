//! Counts the instructions of a run with callgrind, and compares them with their bounds.
//!
//! `bench-instructions --program PATH --scratch FOLDER`. Instructions depend neither on the speed of the machine nor on its load, so
//! they show a slow change without a clock. Questions are asked one after the other. A count is the difference between two processes
//! with many and with few questions, so that the start and the end of the program do not count. The profiles stay in the folder for
//! `callgrind_annotate`.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a measuring tool prints to a terminal")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::measure::setup::Setup;
use parallel_llm_bench::measure::target::{INSTRUCTIONS, INSTRUCTIONS_MARGIN};
use parallel_llm_bench::measure::workload::{self, Program};
use parallel_llm_bench::programs::door::{Door, Language};

/// Questions to the two processes.
const FEW: u64 = 5;
const MANY: u64 = 25;
/// Where valgrind is searched.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let judged = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--program", program, "--scratch", scratch] => judge(Path::new(program), Path::new(scratch)),
        _ => Err(Failure::new("it takes `--program PATH --scratch FOLDER`")),
    };
    match judged {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Prints each count with its bound. Fails if one exceeds it.
fn judge(binary: &Path, scratch: &Path) -> Outcome<()> {
    // Each program is started in a folder of its own.
    let (binary, scratch) = (std::path::absolute(binary)?, std::path::absolute(scratch)?);
    let setup = Setup::start(binary.clone(), None, scratch.join("disk"))?;
    let counter = Counter { setup, binary, scratch };
    let counted = INSTRUCTIONS
        .map(|(program, usual)| Ok((program, counter.millions(program)?, usual * INSTRUCTIONS_MARGIN)));
    counter.setup.close()?;
    let counted = counted.into_iter().collect::<Outcome<Vec<(Program, f64, f64)>>>()?;
    let lines = counted.iter().map(|(program, found, most)| {
        format!("{}: {found:.2} million instructions a run; at most {most:.2}", program.name())
    });
    let lines: Vec<String> = lines.collect();
    if counted.iter().any(|(_, found, most)| found > most) {
        let message = format!("a run needs more instructions than its bound: {}", lines.join(", "));
        return Err(Failure::new(message));
    }
    println!("{}", lines.join("\n"));
    Ok(())
}

/// The upstream, the program, and the folder of the profiles.
struct Counter {
    setup: Setup,
    binary: PathBuf,
    scratch: PathBuf,
}

impl Counter {
    /// The instructions of one run in millions.
    fn millions(&self, program: Program) -> Outcome<f64> {
        let few = self.instructions(program, FEW)?;
        let many = self.instructions(program, MANY)?;
        Ok(many.saturating_sub(few) as f64 / (MANY - FEW) as f64 / 1e6)
    }

    /// The instructions of a process that answers this many questions.
    fn instructions(&self, program: Program, questions: u64) -> Outcome<u64> {
        let profile = self.scratch.join(format!("{program:?}-{questions}.callgrind"));
        let mut command = self.setup.environment(Path::new("valgrind"), program, &workload::IN_TURN)?;
        command.env("PATH", PATH).arg("--tool=callgrind");
        command.arg(format!("--callgrind-out-file={}", profile.display())).arg(&self.binary);
        let mut door = Door::open(&mut command, Language::Mcp)?;
        door.initialize()?;
        for _ in 0..questions {
            door.ask()?;
        }
        door.close()?;
        let text = std::fs::read_to_string(&profile)?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
        total.ok_or_else(|| Failure::new(format!("`{}` has no total", profile.display())))
    }
}
