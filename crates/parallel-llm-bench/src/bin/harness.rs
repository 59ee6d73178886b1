//! The harness: starts all processes, measures the programs in turn, and prints the results.
//!
//! `bench-harness --program PATH --scratch FOLDER [--python PATH] [--results FOLDER] [--only WORKLOAD] [--quick]
//! [--plots]`. The table goes to stdout, progress to stderr. `--plots` measures what the plots show instead. It fails if a target is
//! missed.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a measuring tool prints to a terminal")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use parallel_llm_bench::clock::now_ns;
use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::measure::machine;
use parallel_llm_bench::measure::rounds::{Rounds, Row};
use parallel_llm_bench::measure::scale::Scale;
use parallel_llm_bench::measure::setup::{Setup, sibling};
use parallel_llm_bench::measure::statistics::Spread;
use parallel_llm_bench::measure::target::{self, Once, Target};
use parallel_llm_bench::measure::turn::turn;
use parallel_llm_bench::measure::workload::{self, Program, Workload};
use parallel_llm_bench::programs::door::{Door, Language};
use parallel_llm_bench::programs::upstream::Delay;
use parallel_llm_bench::results::stored::{CURVES, Judged, Measured, Results, TABLES};
use parallel_llm_bench::results::table;
use parallel_llm_settings::clock;
use serde_json::Value;

/// The time between the answers of seats in the run whose commits are counted, much longer than a commit.
const STAGGER_MS: u64 = 100;
/// The pause after the start of a program before its memory is measured.
const SETTLE: Duration = Duration::from_millis(300);
/// The command line.
struct Options {
    program: PathBuf,
    scratch: PathBuf,
    python: Option<PathBuf>,
    results: Option<PathBuf>,
    only: Option<String>,
    scale: Scale,
    quick: bool,
    /// Whether to measure the plots instead of the tables.
    curves: bool,
}

/// The options, and the programs to measure.
struct Bench {
    options: Options,
    setup: Setup,
}

fn main() -> ExitCode {
    match parse().and_then(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything. Returns whether every target is met.
fn run(options: Options) -> Outcome<bool> {
    let facts = machine::facts();
    let Options { program, python, scratch, .. } = &options;
    let setup = Setup::start(program.clone(), python.clone(), scratch.clone())?;
    let flush = machine::flush_us(scratch)?;
    let mut bench = Bench { options, setup };
    let begun_ns = now_ns();
    let measured = bench.measure();
    let Bench { options, setup } = bench;
    setup.close()?;
    let (rounds, targets) = measured?;

    let scale = if options.quick { "quick" } else { "full" };
    let seconds = (now_ns() - begun_ns) / 1_000_000_000;
    let tables: String = rounds.iter().map(table::of_workload).collect();
    let day = clock::day(clock::unix_ms());
    let text = format!(
        "{day}, {scale}, {seconds} s\n{facts}; a flushed page of 4 kB takes {:.0} us ({})\n\n{tables}{}",
        flush.median,
        table::range(flush, 0),
        table::targets(&targets),
    );
    print!("{text}");
    if let Some(folder) = &options.results {
        let results = Results {
            day,
            scale: scale.to_owned(),
            machine: facts,
            workloads: rounds.iter().map(Measured::of).collect(),
            targets: targets.iter().map(Judged::of).collect(),
        };
        if options.curves {
            results.write(folder, CURVES)?;
        } else {
            results.write(folder, TABLES)?;
            std::fs::write(folder.join(format!("{}.txt", results.day)), &text)?;
        }
        eprintln!("written to {}", folder.display());
    }
    Ok(targets.iter().all(Target::is_met))
}

fn parse() -> Outcome<Options> {
    let (mut program, mut scratch, mut python, mut results, mut only) = (None, None, None, None, None);
    let (mut quick, mut curves) = (false, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let option = match word.as_str() {
            "--quick" => {
                quick = true;
                continue;
            }
            "--plots" => {
                curves = true;
                continue;
            }
            "--program" => &mut program,
            "--scratch" => &mut scratch,
            "--results" => &mut results,
            "--python" => &mut python,
            "--only" => &mut only,
            _ => return Err(Failure::new(format!("the harness has no option `{word}`"))),
        };
        *option = words.next().map(PathBuf::from);
    }
    let missing = |name| Failure::new(format!("`{name}` is missing"));
    let scale = match (quick, curves) {
        (true, _) => Scale::quick(),
        (false, true) => Scale::curves(),
        (false, false) => Scale::full(),
    };
    Ok(Options {
        program: program.ok_or_else(|| missing("--program"))?,
        scratch: scratch.ok_or_else(|| missing("--scratch"))?,
        python,
        results,
        only: only.map(|name| name.to_string_lossy().into_owned()),
        scale,
        quick,
        curves,
    })
}

impl Bench {
    fn measure(&mut self) -> Outcome<(Vec<Rounds>, Vec<Target>)> {
        if self.options.curves {
            let rounds = workload::curves().into_iter().map(|workload| self.rounds(&workload));
            return Ok((rounds.collect::<Outcome<_>>()?, Vec::new()));
        }
        let only = self.options.only.clone();
        let wanted = |workload: &&Workload| only.as_ref().is_none_or(|only| workload.name == only);
        let once = Once {
            start: self.starts()?,
            commits: self.commits()?,
            file_megabytes: std::fs::metadata(&self.options.program)?.len() as f64 / 1e6,
        };
        let rounds = workload::ALL.iter().filter(wanted).map(|workload| self.rounds(workload));
        let rounds: Vec<Rounds> = rounds.collect::<Outcome<_>>()?;
        let targets = target::all(&rounds, &once);
        Ok((rounds, targets))
    }

    /// The time from the start of the program to its answer to `initialize`, in milliseconds.
    fn starts(&mut self) -> Outcome<Spread> {
        eprintln!("starting the program {} times", self.options.scale.starts);
        let mut times = Vec::new();
        for _ in 0..self.options.scale.starts {
            let mut command = self.setup.command(Program::NothingStored, &workload::IN_TURN)?;
            let from_ns = now_ns();
            let mut door = Door::open(&mut command, Language::Mcp)?;
            door.initialize()?;
            times.push((now_ns() - from_ns) as f64 / 1e6);
            door.close()?;
        }
        Ok(Spread::of(times))
    }

    /// The turns of all programs at one workload, until enough rounds had a steady floor.
    fn rounds(&mut self, workload: &Workload) -> Outcome<Rounds> {
        self.setup.upstream.size(workload.size)?;
        self.setup.upstream.packing(workload.packing)?;
        self.setup.upstream.spread(workload.spread_ms)?;
        let mut doors = Vec::new();
        let mut rows = Vec::new();
        for program in workload.programs {
            if !self.setup.has(*program) {
                eprintln!("no Python was given: {} is not measured", program.name());
                continue;
            }
            let door = self.setup.open(*program, workload)?;
            std::thread::park_timeout(SETTLE);
            rows.push(Row {
                program: *program,
                turns: Vec::new(),
                idle_bytes: door.process().resident_bytes(),
            });
            doors.push(door);
        }
        let mut rounds = Rounds::new(*workload, rows);
        let scale = self.options.scale;
        for round in 1..=scale.rounds_max {
            eprintln!(
                "{}: round {round}, {} of {} steady",
                workload.name,
                rounds.steady_count(),
                scale.rounds
            );
            for (door, row) in doors.iter_mut().zip(&mut rounds.rows) {
                let idle_bytes = row.idle_bytes.unwrap_or_default();
                row.turns.push(turn(door, workload, &mut self.setup.upstream, &scale, idle_bytes)?);
            }
            if rounds.steady_count() >= scale.rounds {
                break;
            }
        }
        for door in doors {
            door.close()?;
        }
        rounds.keep_steady(scale.rounds);
        Ok(rounds)
    }

    /// The number of commits that the caller of one stored run waits for.
    fn commits(&mut self) -> Outcome<f64> {
        self.setup.upstream.delay(Delay {
            seat_ms: STAGGER_MS,
            step_ms: STAGGER_MS,
            synthesis_ms: STAGGER_MS,
        })?;
        let mut command =
            self.setup.environment(&sibling("bench-commits")?, Program::Default, &workload::IN_TURN)?;
        let mut library = Door::open(&mut command, Language::Plain)?;
        let counted: Value = serde_json::from_str(&library.read()?)?;
        library.close()?;
        self.setup.upstream.delay(Delay::default())?;
        counted["waited_for"].as_f64().ok_or_else(|| Failure::new("the library did not count its commits"))
    }
}
