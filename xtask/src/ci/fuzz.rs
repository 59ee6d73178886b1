//! The stage `fuzz`: runs each target of `fuzz/` for a while, from its committed corpus.
//!
//! libFuzzer only needs coverage passes, which are stable flags of the compiler (the same that `cargo fuzz` passes). So no
//! nightly compiler is needed, and no sanitizer, because the crates forbid `unsafe`. Failing inputs go to `target/fuzz/found`; a
//! person minimises them and moves them into the committed corpus.

use std::path::Path;
use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// The targets; two run at a time, as many as a small machine has cores.
const TARGETS: &[&str] = &["sse", "retry_after", "chunk", "error_body", "line"];
const CONCURRENT: usize = 2;

/// Default and maximum of the seconds per target; the maximum is a night.
pub(super) const SECONDS: u64 = 20;
pub(super) const SECONDS_MAX: u64 = 12 * 60 * 60;

/// Extra time for a target, which reads its corpus first, perhaps on a busy machine.
const GRACE: Duration = Duration::from_mins(2);

/// Limits of one input in bytes, seconds and megabytes, and no line of output per input. A reply is classified by its first
/// few hundred bytes.
const LIMITS: [&str; 5] =
    ["-max_len=2048", "-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", "-print_funcs=0"];

/// The compiler flags that report coverage to libFuzzer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0 --cfg fuzzing";

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    if let Err(failure) = Program::new("c++").arguments(["--version"]).output() {
        return Ok(Verdict::Skipped(format!("libFuzzer needs a C++ compiler: {failure}")));
    }
    if let Err(failure) = cargo("fetch --locked").output() {
        // If fetching works without `--locked`, the network is fine and the lock file is outdated.
        return match cargo("fetch").output() {
            Ok(_) => Err(Failure::new("fuzz/Cargo.lock was out of date, and is not any more: commit it")),
            Err(_) => Ok(Verdict::Skipped(format!("libFuzzer is not available: {failure}"))),
        };
    }
    let folder = built::target()?.join("fuzz");
    let platform = Program::new("rustc").arguments(["--print", "host-tuple"]).output()?;
    let platform = platform.trim();
    // With an explicit target, cargo does not apply the flags to build scripts and macros, which no fuzzer runs.
    let build = cargo("build --release --locked").arguments(["--target", platform, "--target-dir"]);
    build.arguments([&folder]).variable("RUSTFLAGS", FLAGS).run()?;
    let binaries = folder.join(platform).join("release");
    for batch in TARGETS.chunks(CONCURRENT) {
        std::thread::scope(|scope| {
            let running: Vec<_> = batch
                .iter()
                .map(|target| scope.spawn(|| fuzz(target, &binaries, &folder, state.fuzz_seconds)))
                .collect();
            let ends =
                running.into_iter().map(|thread| thread.join().expect("a target's thread does not panic"));
            ends.fold(Ok(()), Result::and)
        })?;
    }
    Ok(Verdict::Passed)
}

fn cargo(command: &str) -> Program {
    Program::cargo(command).arguments(["--manifest-path", "fuzz/Cargo.toml"])
}

/// Runs one target. Stores inputs with new coverage, and a failing input, below `folder`.
fn fuzz(target: &str, binaries: &Path, folder: &Path, seconds: u64) -> Result<(), Failure> {
    let corpus = folder.join("corpus").join(target);
    let found = folder.join("found").join(target);
    for folder in [&corpus, &found] {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", folder.display())))?;
    }
    Program::new(binaries.join(target))
        .arguments([&corpus, &repository::root().join("fuzz/corpus").join(target)])
        .arguments([format!("-artifact_prefix={}/", found.display()), format!("-max_total_time={seconds}")])
        .arguments(LIMITS)
        .time_limit(Duration::from_secs(seconds) + GRACE)
        .run()?;
    say::note(&format!("{target}: nothing found in {seconds} s"));
    Ok(())
}
