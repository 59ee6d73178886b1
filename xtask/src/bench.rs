//! `cargo xtask bench`: measures the program's speed as ratios to a bare client. `--quick` measures briefly and stores nothing;
//! otherwise the result is written to `bench/results/`. `bench/README.md` describes the method.

use std::time::Duration;

use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository};

/// Time limit for the measurement. It has none of its own: the programs that it starts end with it.
const TIME_MAX: Duration = Duration::from_mins(6);

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let quick = match words {
        [] => false,
        [word] if word == "--quick" => true,
        _ => return Err(Failure::new("`bench` takes only `--quick`")),
    };
    // Built separately: together, the program would get features that only the bench needs.
    Program::cargo("build --profile dist --locked -p parallel-llm-mcp --features jemalloc").run()?;
    Program::cargo("build --release --locked -p parallel-llm-bench").run()?;
    let program = built::binary("dist")?;
    let harness =
        built::binary("release")?.with_file_name(format!("bench-harness{}", std::env::consts::EXE_SUFFIX));
    let scratch = built::target()?.join("bench");
    let harness = Program::new(harness).arguments(["--program"]).arguments([&program]);
    let harness = harness.arguments(["--scratch"]).arguments([&scratch]).time_limit(TIME_MAX);
    if quick {
        return harness.arguments(["--quick"]).run();
    }
    let results = repository::root().join("bench").join("results");
    std::fs::create_dir_all(&results)
        .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", results.display())))?;
    harness.arguments(["--results"]).arguments([&results]).run()
}
