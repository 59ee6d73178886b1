//! The harness: starts all processes, measures the programs in turn, and prints the results.
//!
//! `bench-harness --program PATH --scratch FOLDER [--python PATH] [--results FOLDER] [--only WORKLOAD] [--quick]`. The table goes to
//! stdout, progress to stderr. It fails if a target is missed.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a measuring tool prints to a terminal")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use parallel_llm_bench::call::Script;
use parallel_llm_bench::clock::now_ns;
use parallel_llm_bench::door::{Door, Language};
use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::machine;
use parallel_llm_bench::measure::turn;
use parallel_llm_bench::rounds::{Rounds, Row};
use parallel_llm_bench::scale::Scale;
use parallel_llm_bench::statistics::Spread;
use parallel_llm_bench::table;
use parallel_llm_bench::target::{self, Once, Target};
use parallel_llm_bench::upstream::{Delay, Upstream};
use parallel_llm_bench::workload::{self, Program, Workload};
use parallel_llm_settings::clock;
use serde_json::Value;

/// A key in the right format that is not valid.
const KEY: &str = "sk-or-v1-0000000000000000000000000000000000000000000000000000000000000000";
/// The time between the answers of seats in the run whose commits are counted, much longer than a commit.
const STAGGER_MS: u64 = 100;
/// The pause after the start of a program before its memory is measured.
const SETTLE: Duration = Duration::from_millis(300);
/// A memory file system, if there is one.
const MEMORY: &str = "/dev/shm";
/// The Python server, beside the results.
const PYTHON_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/server.py");
/// Calls at once that a program may make.
const CALLS_MAX: &str = "4096";

/// The command line.
struct Options {
    program: PathBuf,
    scratch: PathBuf,
    python: Option<PathBuf>,
    results: Option<PathBuf>,
    only: Option<String>,
    scale: Scale,
    quick: bool,
}

/// The options, the folders for data, and the running upstream.
struct Bench {
    options: Options,
    /// A folder on a memory file system, removed when it is dropped.
    memory: PathBuf,
    upstream: Upstream,
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
    std::fs::create_dir_all(&options.scratch)?;
    let facts = machine::facts();
    let flush = machine::flush_us(&options.scratch)?;
    let memory = Path::new(MEMORY).join(format!("parallel-llm-bench-{}", std::process::id()));
    std::fs::create_dir_all(&memory)?;
    let upstream = Upstream::start(&sibling("bench-upstream")?)?;
    let mut bench = Bench { options, memory, upstream };
    let begun_ns = now_ns();
    let measured = bench.measure();
    let Bench { options, upstream, memory } = bench;
    upstream.close()?;
    // Removed at the end, because writing is slower just after files were deleted.
    std::fs::remove_dir_all(&options.scratch)?;
    std::fs::remove_dir_all(&memory)?;
    let (rounds, once) = measured?;

    let targets = target::all(&rounds, &once);
    let scale = if options.quick { "quick" } else { "full" };
    let seconds = (now_ns() - begun_ns) / 1_000_000_000;
    let tables: String = rounds.iter().map(table::of_workload).collect();
    let text = format!(
        "{}, {scale}, {seconds} s\n{facts}; a flushed page of 4 kB takes {:.0} us ({})\n\n{tables}{}",
        clock::day(clock::unix_ms()),
        flush.median,
        table::range(flush, 0),
        table::targets(&targets),
    );
    print!("{text}");
    if let Some(folder) = &options.results {
        let path = folder.join(format!("{}.txt", clock::day(clock::unix_ms())));
        std::fs::write(&path, &text)?;
        eprintln!("written to {}", path.display());
    }
    Ok(targets.iter().all(Target::is_met))
}

fn parse() -> Outcome<Options> {
    let (mut program, mut scratch, mut python, mut results, mut only) = (None, None, None, None, None);
    let mut quick = false;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let option = match word.as_str() {
            "--quick" => {
                quick = true;
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
    let scale = if quick { Scale::quick() } else { Scale::full() };
    Ok(Options {
        program: program.ok_or_else(|| missing("--program"))?,
        scratch: scratch.ok_or_else(|| missing("--scratch"))?,
        python,
        results,
        only: only.map(|name| name.to_string_lossy().into_owned()),
        scale,
        quick,
    })
}

/// The path of another program of this crate.
fn sibling(name: &str) -> Outcome<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

impl Bench {
    fn measure(&mut self) -> Outcome<(Vec<Rounds>, Once)> {
        let only = self.options.only.clone();
        let wanted = |workload: &&Workload| only.as_ref().is_none_or(|only| workload.name == only);
        let once = Once {
            start: self.starts()?,
            commits: self.commits()?,
            file_megabytes: std::fs::metadata(&self.options.program)?.len() as f64 / 1e6,
        };
        let rounds = workload::ALL
            .iter()
            .filter(wanted)
            .map(|workload| self.rounds(workload))
            .collect::<Outcome<_>>()?;
        Ok((rounds, once))
    }

    /// The time from the start of the program to its answer to `initialize`, in milliseconds.
    fn starts(&mut self) -> Outcome<Spread> {
        eprintln!("starting the program {} times", self.options.scale.starts);
        let mut times = Vec::new();
        for _ in 0..self.options.scale.starts {
            let mut command = self.command(Program::NothingStored, &workload::IN_TURN)?;
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
        self.upstream.size(workload.size)?;
        self.upstream.spread(workload.spread_ms)?;
        let mut doors = Vec::new();
        let mut rows = Vec::new();
        for program in workload.programs {
            if *program == Program::Python && self.options.python.is_none() {
                eprintln!("no Python was given: its server is not measured");
                continue;
            }
            let door = self.open(*program, workload)?;
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
                row.turns.push(turn(door, workload, &mut self.upstream, &scale, idle_bytes)?);
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
        self.upstream.delay(Delay { seat_ms: STAGGER_MS, step_ms: STAGGER_MS, synthesis_ms: STAGGER_MS })?;
        let mut command =
            self.environment(&sibling("bench-commits")?, Program::Default, &workload::IN_TURN)?;
        let mut library = Door::open(&mut command, Language::Plain)?;
        let counted: Value = serde_json::from_str(&library.read()?)?;
        library.close()?;
        self.upstream.delay(Delay::default())?;
        counted["waited_for"].as_f64().ok_or_else(|| Failure::new("the library did not count its commits"))
    }

    /// A running program that is ready for questions.
    fn open(&mut self, program: Program, workload: &Workload) -> Outcome<Door> {
        if program == Program::Floor {
            let script = self.script(workload)?;
            let mut floor = Door::open(&mut Command::new(sibling("bench-floor")?), Language::Plain)?;
            floor.prepare(&script)?;
            return Ok(floor);
        }
        let mut door = Door::open(&mut self.command(program, workload)?, Language::Mcp)?;
        door.initialize()?;
        Ok(door)
    }

    /// The requests of one run of the program, for the floor.
    fn script(&mut self, workload: &Workload) -> Outcome<Script> {
        let mut recorded = self.open(Program::NothingStored, workload)?;
        recorded.ask()?;
        let script = self.upstream.script(workload.seats + 1)?;
        recorded.close()?;
        self.upstream.take()?;
        Ok(script)
    }

    fn command(&self, program: Program, workload: &Workload) -> Outcome<Command> {
        let Some(python) = self.options.python.as_ref().filter(|_| program == Program::Python) else {
            return self.environment(&self.options.program, program, workload);
        };
        let mut command = self.environment(python, program, workload)?;
        command.arg(PYTHON_SERVER);
        Ok(command)
    }

    /// A command with a clean environment and an empty folder of its own.
    fn environment(&self, binary: &Path, program: Program, workload: &Workload) -> Outcome<Command> {
        let on_disk = program == Program::DefaultOnDisk;
        let base = if on_disk { &self.options.scratch } else { &self.memory };
        let home = base.join(format!("{program:?}"));
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir_all(&home)?;
        let stores = program != Program::NothingStored;
        let mut command = Command::new(binary);
        command
            .env_clear()
            .current_dir(&home)
            .env("HOME", &home)
            .env("OPENROUTER_API_KEY", KEY)
            .env("OPENROUTER_BASE_URL", self.upstream.base_url())
            .env("PARALLEL_LLM_CALLS_MAX", CALLS_MAX)
            .env("PARALLEL_LLM_CALLS_PER_KEY_MAX", CALLS_MAX)
            .env("PARALLEL_LLM_DATA_DIR", home.join("data"))
            .env("PARALLEL_LLM_STORE", if stores { "full" } else { "none" })
            .env("PARALLEL_LLM_FILES", if stores { "on" } else { "off" });
        if workload.seats != workload::IN_TURN.seats {
            // Different models, because equal answers need no synthesis.
            let models: Vec<String> =
                (1..=workload.seats).map(|seat| format!("bench/model-{seat}")).collect();
            command.env("PARALLEL_LLM_PANEL", models.join(" "));
        }
        Ok(command)
    }
}
