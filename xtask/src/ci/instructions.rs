//! The stage `instructions`: how many instructions a run needs, so that a slow change is seen without a clock.
//!
//! `bench-instructions` asks the release build under valgrind; the bounds are beside the targets of the bench
//! (`crates/parallel-llm-bench/src/measure/target.rs`). They hold for the processor of CI, so the stage is skipped on others. Valgrind is
//! installed if it is missing. If that is impossible the stage fails, because nothing else would notice a slow change.

use std::time::Duration;

use super::report::Verdict;
use super::{State, system};
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// Time limit of the count, ten times the measured time.
const COUNT_TIME_MAX: Duration = Duration::from_mins(5);

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Verdict::Skipped("the bounds are those of Linux on x86-64".to_owned()));
    }
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped(
            "there is no release binary to count: add `--only \"release build\"`".to_owned(),
        ));
    };
    system::program("valgrind")?;
    // Not optimised, because only the program's instructions are counted.
    Program::cargo("build --locked -p parallel-llm-bench --bin bench-upstream --bin bench-instructions")
        .run()?;
    let counter = built::binary("debug")?.with_file_name("bench-instructions");
    let scratch = built::target()?.join("instructions");
    let counter = Program::new(counter).arguments(["--program"]).arguments([binary]);
    let counter = counter.arguments(["--scratch"]).arguments([&scratch]).time_limit(COUNT_TIME_MAX);
    say::note(counter.output()?.trim_end());
    Ok(Verdict::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
