//! The stage `instructions`: how many instructions a run needs, so that a slow change is seen without a clock.
//!
//! `bench-instructions` asks the release build under valgrind; the bounds are beside the targets of the bench
//! (`crates/parallel-llm-bench/src/target.rs`). They hold for the processor of CI, so the stage is skipped on others. Valgrind is
//! installed if it is missing. If that is impossible the stage fails, because nothing else would notice a slow change.

use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, say};

/// Time limit of the count, ten times the measured time.
const COUNT_TIME_MAX: Duration = Duration::from_mins(5);
/// Time limit of each command that installs valgrind.
const INSTALL_TIME_MAX: Duration = Duration::from_mins(3);

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Verdict::Skipped("the bounds are those of Linux on x86-64".to_owned()));
    }
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped(
            "there is no release binary to count: add `--only \"release build\"`".to_owned(),
        ));
    };
    valgrind()?;
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

/// Installs valgrind with apt if it is missing, as root or by sudo without a password.
fn valgrind() -> Result<(), Failure> {
    let version = || Program::new("valgrind").arguments(["--version"]).output();
    if version().is_ok() {
        return Ok(());
    }
    let is_root = Program::new("id").arguments(["-u"]).output()?.trim() == "0";
    let apt = |words: &str| {
        let apt =
            if is_root { Program::new("apt-get") } else { Program::new("sudo").arguments(["-n", "apt-get"]) };
        apt.arguments(words.split_whitespace()).time_limit(INSTALL_TIME_MAX).run()
    };
    // Old lists name packages that are gone; with none, nothing can be installed.
    let installed =
        apt("update --quiet").and_then(|()| apt("install --quiet --yes --no-install-recommends valgrind"));
    installed
        .and_then(|()| version())
        .map(drop)
        .map_err(|failure| Failure::new(format!("VALGRIND IS MISSING and cannot be installed: {failure}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
