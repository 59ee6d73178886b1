//! `cargo xtask bench`: measures the program's speed as ratios to a bare client, writes the result to `bench/results/`, and draws
//! `docs/performance.md`.
//!
//! `--plots` measures what the plots show instead of the tables. `--quick` measures briefly and `--only WORKLOAD` one workload, and
//! neither stores anything. `--draw` measures nothing and draws the stored results. `bench/README.md` describes the method.

use std::path::PathBuf;
use std::time::Duration;

use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// Time limit for the measurement. It has none of its own: the programs that it starts end with it.
const TIME_MAX: Duration = Duration::from_mins(20);

/// What the Python server of the comparison needs.
const PYTHON_PACKAGES: [&str; 2] = ["fastmcp==4.1.2", "aiohttp==3.14.5"];

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let stores = match words.as_slice() {
        ["--draw"] => return draw(),
        [] | ["--plots"] => true,
        ["--quick"] | ["--only", _] | ["--quick", "--only", _] | ["--quick", "--plots"] => false,
        _ => {
            return Err(Failure::new(
                "`bench` takes `--quick`, and `--only WORKLOAD` or `--plots`; or only `--draw`",
            ));
        }
    };
    // Built separately: together, the program would get features that only the bench needs.
    Program::cargo("build --release --locked -p parallel-llm-mcp").run()?;
    Program::cargo("build --profile floor --locked -p parallel-llm-bench").run()?;
    let program = built::binary("release")?;
    let harness =
        built::binary("floor")?.with_file_name(format!("bench-harness{}", std::env::consts::EXE_SUFFIX));
    let scratch = built::target()?.join("bench");
    let mut harness = Program::new(harness).arguments(["--program"]).arguments([&program]);
    harness = harness.arguments(["--scratch"]).arguments([&scratch]).time_limit(TIME_MAX);
    match python() {
        Ok(python) => harness = harness.arguments(["--python"]).arguments([&python]),
        Err(failure) => say::note(&format!("the Python server is not measured: {failure}")),
    }
    if stores {
        let results = repository::root().join("bench").join("results");
        std::fs::create_dir_all(&results)
            .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", results.display())))?;
        harness = harness.arguments(["--results"]).arguments([&results]);
    }
    let measured = harness.arguments(words).run();
    // A missed target fails the measurement, but its results are stored.
    let drawn = if stores { draw() } else { Ok(()) };
    measured.and(drawn)
}

/// Draws the plots and fills in the tables of `docs/performance.md`.
fn draw() -> Result<(), Failure> {
    let draw = Program::cargo("run --locked --quiet -p parallel-llm-bench --bin bench-draw -- --repository");
    draw.arguments([repository::root()]).run()
}

/// A Python with the packages of the comparison, installed when it is first needed.
fn python() -> Result<PathBuf, Failure> {
    let folder = built::target()?.join("bench-python");
    let python = folder.join("bin").join("python");
    if !python.is_file() {
        Program::new("python3").arguments(["-m", "venv"]).arguments([&folder]).run()?;
    }
    let install = Program::new(&python).arguments(["-m", "pip", "install", "--quiet"]);
    install.arguments(PYTHON_PACKAGES).run()?;
    Ok(python)
}
