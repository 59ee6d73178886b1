//! The harness: starts all processes, measures the programs in turn, and prints the results.
//!
//! `bench-harness --program PATH --scratch FOLDER [--results FOLDER] [--quick]`. The table goes to stdout, progress to stderr. It
//! fails if a target is missed.

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
use parallel_llm_bench::scale::Scale;
use parallel_llm_bench::statistics::Spread;
use parallel_llm_bench::table::{self, Row, Target};
use parallel_llm_bench::upstream::{Delay, Upstream};
use parallel_llm_settings::clock;
use serde_json::Value;

/// A key in the right format that is not valid.
const KEY: &str = "sk-or-v1-0000000000000000000000000000000000000000000000000000000000000000";
/// The number of questions in a burst, and the upstream's delay of each call in it.
const BURST: usize = 20;
const BURST_MS: u64 = 50;
/// The time between the answers of seats in the run whose commits are counted, much longer than a commit.
const STAGGER_MS: u64 = 100;
/// The pause after the start of a program before its memory is measured.
const SETTLE: Duration = Duration::from_millis(300);
/// The index of the row of the program without a store; the floor is the first row.
const PLAIN: usize = 2;

/// The measured variants besides the floor.
const VARIANTS: [Variant; 4] = [
    Variant { name: "library, no store", is_program: false, store: "none", files: "off" },
    Variant { name: "program, no store", is_program: true, store: "none", files: "off" },
    Variant { name: "program, store", is_program: true, store: "full", files: "off" },
    Variant { name: "program, store, files", is_program: true, store: "full", files: "on" },
];

/// The program or the library with some settings.
struct Variant {
    name: &'static str,
    is_program: bool,
    store: &'static str,
    files: &'static str,
}

/// The command line.
struct Options {
    program: PathBuf,
    scratch: PathBuf,
    results: Option<PathBuf>,
    scale: Scale,
    quick: bool,
}

/// The options, the running upstream and the floor's script.
struct Bench {
    options: Options,
    upstream: Upstream,
    script: Script,
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
    let mut bench = prepare(options)?;
    let begun_ns = now_ns();

    let start = bench.starts()?;
    let (rows, burst) = bench.rounds()?;
    let commits = bench.commits()?;
    let file_megabytes = std::fs::metadata(&bench.options.program)?.len() as f64 / 1e6;
    let Bench { options, upstream, .. } = bench;
    upstream.close()?;
    // Removed at the end, because writing is slower just after files were deleted.
    std::fs::remove_dir_all(&options.scratch)?;

    let targets = targets(&rows, start, burst, &Counted { commits, file_megabytes });
    let scale = if options.quick { "quick" } else { "full" };
    let seconds = (now_ns() - begun_ns) / 1_000_000_000;
    let text = format!(
        "{}, {scale}, {} rounds, {seconds} s\n{facts}; a flushed page of 4 kB takes {:.0} us ({})\n\n{}\n{}\n{}",
        clock::day(clock::unix_ms()),
        options.scale.rounds,
        flush.median,
        table::range(flush, 0),
        table::added(&rows),
        table::memory(&rows),
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
    let (mut program, mut scratch, mut results, mut quick) = (None, None, None, false);
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
            _ => return Err(Failure::new(format!("the harness has no option `{word}`"))),
        };
        *option = words.next().map(PathBuf::from);
    }
    let missing = |name| Failure::new(format!("`{name}` is missing"));
    let scale = if quick { Scale::quick() } else { Scale::full() };
    Ok(Options {
        program: program.ok_or_else(|| missing("--program"))?,
        scratch: scratch.ok_or_else(|| missing("--scratch"))?,
        results,
        scale,
        quick,
    })
}

/// Starts the upstream, and records one run of the program as the script of the floor.
fn prepare(options: Options) -> Outcome<Bench> {
    let upstream = Upstream::start(&sibling("bench-upstream")?)?;
    let script = Script { address: String::new(), requests: Vec::new() };
    let mut bench = Bench { options, upstream, script };
    let mut recorded = bench.program(&VARIANTS[PLAIN - 1])?;
    recorded.ask(Language::Mcp)?;
    bench.script = bench.upstream.script()?;
    recorded.close()?;
    Ok(bench)
}

/// The path of another program of this crate.
fn sibling(name: &str) -> Outcome<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

impl Bench {
    /// The time from the start of the program to its answer to `initialize`, in milliseconds.
    fn starts(&mut self) -> Outcome<Spread> {
        eprintln!("starting the program {} times", self.options.scale.starts);
        let mut times = Vec::new();
        for _ in 0..self.options.scale.starts {
            let from_ns = now_ns();
            let program = self.program(&VARIANTS[PLAIN - 1])?;
            times.push((now_ns() - from_ns) as f64 / 1e6);
            program.close()?;
        }
        Ok(Spread::of(times))
    }

    /// All turns of all programs, and the seconds that a burst takes.
    fn rounds(&mut self) -> Outcome<(Vec<Row>, Spread)> {
        let mut doors = vec![(self.floor()?, Language::Plain)];
        for variant in &VARIANTS {
            doors.push((self.program(variant)?, Language::Mcp));
        }
        std::thread::park_timeout(SETTLE);
        let names = std::iter::once("floor").chain(VARIANTS.iter().map(|variant| variant.name));
        let mut rows: Vec<Row> = names
            .zip(&doors)
            .map(|(name, (door, _))| Row {
                name,
                turns: Vec::new(),
                idle_bytes: door.process().resident_bytes(),
                after_bytes: None,
            })
            .collect();
        for round in 1..=self.options.scale.rounds {
            eprintln!("round {round} of {}", self.options.scale.rounds);
            for ((door, language), row) in doors.iter_mut().zip(&mut rows) {
                row.turns.push(turn(door, *language, &mut self.upstream, &self.options.scale)?);
            }
        }
        let burst = self.bursts(&mut doors[PLAIN].0)?;
        for ((door, _), row) in doors.into_iter().zip(&mut rows) {
            row.after_bytes = door.process().resident_bytes();
            door.close()?;
        }
        Ok((rows, burst))
    }

    fn bursts(&mut self, door: &mut Door) -> Outcome<Spread> {
        eprintln!("asking {BURST} questions at once");
        self.upstream.delay(Delay { seat_ms: BURST_MS, step_ms: 0, synthesis_ms: BURST_MS })?;
        let mut times = Vec::new();
        for _ in 0..self.options.scale.bursts {
            times.push(door.ask_at_once(BURST)?.took_ns() as f64 / 1e9);
        }
        self.upstream.delay(Delay::default())?;
        Ok(Spread::of(times))
    }

    /// The number of commits that the caller of one stored run waits for.
    fn commits(&mut self) -> Outcome<f64> {
        self.upstream.delay(Delay { seat_ms: STAGGER_MS, step_ms: STAGGER_MS, synthesis_ms: STAGGER_MS })?;
        let stored = Variant { name: "commits", is_program: false, store: "full", files: "off" };
        let mut command = self.command(&sibling("bench-library")?, &stored)?;
        let mut library = Door::open(command.arg("commits"))?;
        let counted: Value = serde_json::from_str(&library.read()?)?;
        library.close()?;
        self.upstream.delay(Delay::default())?;
        counted["waited_for"].as_f64().ok_or_else(|| Failure::new("the library did not count its commits"))
    }

    fn floor(&self) -> Outcome<Door> {
        let mut floor = Door::open(&mut Command::new(sibling("bench-floor")?))?;
        floor.prepare(&self.script)?;
        Ok(floor)
    }

    /// A running, initialized variant.
    fn program(&self, variant: &Variant) -> Outcome<Door> {
        let binary =
            if variant.is_program { self.options.program.clone() } else { sibling("bench-library")? };
        let mut door = Door::open(&mut self.command(&binary, variant)?)?;
        door.initialize()?;
        Ok(door)
    }

    /// The command of a program with a clean environment and an empty folder of its own.
    fn command(&self, binary: &Path, variant: &Variant) -> Outcome<Command> {
        let home = self.options.scratch.join(variant.name.replace([',', ' '], "_"));
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir_all(&home)?;
        let mut command = Command::new(binary);
        command
            .env_clear()
            .current_dir(&home)
            .env("HOME", &home)
            .env("OPENROUTER_API_KEY", KEY)
            .env("OPENROUTER_BASE_URL", self.upstream.base_url())
            .env("PARALLEL_LLM_DATA_DIR", home.join("data"))
            .env("PARALLEL_LLM_STORE", variant.store)
            .env("PARALLEL_LLM_FILES", variant.files);
        Ok(command)
    }
}

/// The values that are counted once.
struct Counted {
    /// Commits that the caller of a stored run waits for.
    commits: f64,
    file_megabytes: f64,
}

fn targets(rows: &[Row], start: Spread, burst: Spread, counted: &Counted) -> Vec<Target> {
    let (floor, plain) = (&rows[0], &rows[PLAIN]);
    let connections: u64 = rows[PLAIN..].iter().flat_map(|row| &row.turns).map(|turn| turn.connections).sum();
    let idle = plain.idle_bytes.unwrap_or_default() as f64 / 1e6;
    let one = |value: f64| Spread::of([value]);
    let added = table::ratio(plain, floor, |turn| turn.added_p50);
    let target = |name, found, most, unit| Target { name, found, most, unit };
    vec![
        target("added latency, middle, no store / floor", added, 2.5, ""),
        target("start to answered initialize", start, 30.0, "ms"),
        target("memory when idle", one(idle), 15.0, "MB"),
        target("20 questions at once, 5 x 50 ms + 50 ms", burst, 0.3, "s"),
        target("new connections when warm", one(connections as f64), 0.0, ""),
        target("commits waited for in a stored run", one(counted.commits), 3.0, ""),
        target("the program's file", one(counted.file_megabytes), 30.0, "MB"),
    ]
}
