//! The `fuzz` stage: each target of `fuzz/` for a while, from its committed corpus.
//!
//! libFuzzer wants its coverage passes and nothing else, and those are stable flags of the compiler: no nightly, no
//! sanitizer (the crates forbid `unsafe`), no `cargo fuzz`, whose flags these are. What is found goes to
//! `target/fuzz/found`, never into the committed corpus; a person moves it there, minimised.

use std::path::Path;
use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// The targets, two of which run at a time: as many as a small machine has cores.
const TARGETS: &[&str] = &["sse", "retry_after", "chunk", "error_body", "line"];
const AT_ONCE: usize = 2;

/// Seconds per target unless asked otherwise, and the most that may be asked: a night.
pub(super) const SECONDS: u64 = 20;
pub(super) const SECONDS_MAX: u64 = 12 * 60 * 60;

/// How long a target may take beyond its time: it reads its corpus first, and the machine may be busy.
const GRACE: Duration = Duration::from_mins(2);

/// Bytes, seconds and megabytes of one input, and no line per input. What is decided about a reply is decided in its first
/// few hundred bytes.
const LIMITS: [&str; 5] =
    ["-max_len=2048", "-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", "-print_funcs=0"];

/// What makes a program tell libFuzzer where it has been.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0 --cfg fuzzing";

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    if let Err(failure) = Program::new("c++").arguments(["--version"]).output() {
        return Ok(Verdict::Skipped(format!("libFuzzer needs a C++ compiler: {failure}")));
    }
    if let Err(failure) = cargo("fetch --locked").output() {
        // What can be had otherwise is not missing: the versions noted for the targets are not those of the program.
        return match cargo("fetch").output() {
            Ok(_) => Err(Failure::new("fuzz/Cargo.lock was out of date, and is not any more: commit it")),
            Err(_) => Ok(Verdict::Skipped(format!("libFuzzer cannot be had: {failure}"))),
        };
    }
    let folder = built::target()?.join("fuzz");
    let platform = Program::new("rustc").arguments(["--print", "host-tuple"]).output()?;
    let platform = platform.trim();
    // Naming the platform keeps the flags away from build scripts and macros, which no fuzzer runs.
    let build = cargo("build --release --locked").arguments(["--target", platform, "--target-dir"]);
    build.arguments([&folder]).variable("RUSTFLAGS", FLAGS).run()?;
    let binaries = folder.join(platform).join("release");
    for few in TARGETS.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            let running: Vec<_> = few
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

/// Runs one target. Inputs that reach new places are kept below `folder`, beside an input that was found to fail.
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
        .deadline(Duration::from_secs(seconds) + GRACE)
        .run()?;
    say::note(&format!("{target}: nothing found in {seconds} s"));
    Ok(())
}
