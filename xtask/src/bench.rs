//! `cargo xtask bench`: how fast the program is, as ratios to a bare client. `--quick` takes a look and keeps nothing;
//! without it the result is written to `bench/results/`. How it is measured stands in `bench/README.md`.

use std::time::Duration;

use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository};

/// The longest the measurement itself may take. It has no time limits of its own: the programs it starts end with it.
const DEADLINE: Duration = Duration::from_mins(6);

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let quick = match words {
        [] => false,
        [word] if word == "--quick" => true,
        _ => return Err(Failure::new("`bench` takes only `--quick`")),
    };
    // Apart: built together, the program would get the features of what is only measured with it.
    Program::cargo("build --profile dist --locked -p parallel-llm-mcp --features jemalloc").run()?;
    Program::cargo("build --release --locked -p parallel-llm-bench").run()?;
    let program = built::binary("dist")?;
    let harness =
        built::binary("release")?.with_file_name(format!("bench-harness{}", std::env::consts::EXE_SUFFIX));
    let scratch = built::target()?.join("bench");
    let harness = Program::new(harness).arguments(["--program"]).arguments([&program]);
    let harness = harness.arguments(["--scratch"]).arguments([&scratch]).deadline(DEADLINE);
    if quick {
        return harness.arguments(["--quick"]).run();
    }
    let results = repository::root().join("bench").join("results");
    std::fs::create_dir_all(&results)
        .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", results.display())))?;
    harness.arguments(["--results"]).arguments([&results]).run()
}
