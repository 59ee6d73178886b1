//! The programs of a measurement, each started as its users start it: with an empty home, and the upstream as its provider.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Outcome};
use crate::measure::workload::{self, Program, Workload};
use crate::programs::call::Script;
use crate::programs::door::{Door, Language};
use crate::programs::upstream::Upstream;

/// A key in the right format that is not valid.
const KEY: &str = "sk-or-v1-0000000000000000000000000000000000000000000000000000000000000000";
/// A memory file system.
const MEMORY: &str = "/dev/shm";
/// The Python server.
const PYTHON_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/server.py");
/// Calls at once that a program may make.
const CALLS_MAX: &str = "8192";

/// The running upstream, and what the other programs are started with.
#[derive(Debug)]
pub struct Setup {
    /// The running upstream.
    pub upstream: Upstream,
    program: PathBuf,
    python: Option<PathBuf>,
    /// A folder on a disk.
    disk: PathBuf,
    /// A folder on a memory file system.
    memory: PathBuf,
}

impl Setup {
    /// Starts the upstream. `program` is the binary to measure, `python` an interpreter with the packages of the Python server,
    /// and `disk` a folder on a disk; it is made, and removed by [`Self::close`].
    pub fn start(program: PathBuf, python: Option<PathBuf>, disk: PathBuf) -> Outcome<Self> {
        let memory = Path::new(MEMORY).join(format!("parallel-llm-bench-{}", std::process::id()));
        for folder in [&disk, &memory] {
            std::fs::create_dir_all(folder)?;
        }
        let upstream = Upstream::start(&sibling("bench-upstream")?)?;
        // It is started in another folder.
        let program = std::path::absolute(program)?;
        Ok(Self { upstream, program, python, disk, memory })
    }

    /// Ends the upstream and removes the folders.
    pub fn close(self) -> Outcome<()> {
        self.upstream.close()?;
        // Removed at the end, because writing is slower just after files were deleted.
        std::fs::remove_dir_all(&self.disk)?;
        Ok(std::fs::remove_dir_all(&self.memory)?)
    }

    /// Whether this program can be started.
    pub fn has(&self, program: Program) -> bool {
        self.python.is_some() || !program.is_python()
    }

    /// Starts a program and waits until it is ready for questions.
    pub fn open(&mut self, program: Program, workload: &Workload) -> Outcome<Door> {
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

    /// The command that starts a program which speaks MCP.
    pub fn command(&self, program: Program, workload: &Workload) -> Outcome<Command> {
        if !program.is_python() {
            return self.environment(&self.program, program, workload);
        }
        let python = self.python.as_ref().ok_or_else(|| Failure::new("no Python was given"))?;
        let mut command = self.environment(python, program, workload)?;
        command.arg(PYTHON_SERVER);
        if program == Program::PythonStreaming {
            command.env("STREAM", "1");
        }
        Ok(command)
    }

    /// A command in the environment of a program, with an empty folder of its own.
    pub fn environment(&self, binary: &Path, program: Program, workload: &Workload) -> Outcome<Command> {
        let base = if program == Program::DefaultOnDisk { &self.disk } else { &self.memory };
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
            // A run whose cost nobody knows is refused.
            let price = |model: &String| {
                format!("{model:?} = {{ input_usd_per_million = 0.1, output_usd_per_million = 0.4 }}\n")
            };
            let folder = home.join(".config/parallel-llm-mcp");
            std::fs::create_dir_all(&folder)?;
            let prices: String = models.iter().map(price).collect();
            std::fs::write(folder.join("config.toml"), format!("[prices]\n{prices}"))?;
        }
        Ok(command)
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
}

/// The path of another program of this crate.
pub fn sibling(name: &str) -> Outcome<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
