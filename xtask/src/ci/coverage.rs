//! The stage `coverage`: how many lines of the engine and the provider the tests run.
//!
//! Tests inside a source file are not counted, because they would raise the share. The instrumented code is built separately,
//! below `target/coverage`, because the other stages cannot use it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// The measured crates, and the minimum share of their lines that tests must run, in percent.
const CRATES: &[&str] = &["parallel-llm-engine", "parallel-llm-provider"];
const PERCENT_MIN: f64 = 90.0;

/// The tests to run: those of the crates. The program's tests would double the time and add less than a percent.
const SUITES: &str = "-p parallel-llm-engine -p parallel-llm-provider --lib --tests";

/// The number of files shown on the terminal; the report has all of them.
const SHOWN: usize = 10;

/// The line that begins the tests of a source file; only tests follow it.
const TESTS: &str = "#[cfg(test)]";

/// The executable lines of one file, each with whether it was run.
#[derive(Debug, PartialEq)]
struct File {
    /// Relative to the repository's root.
    path: String,
    lines: BTreeMap<usize, bool>,
}

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let tool = match state.tools.get("cargo-llvm-cov") {
        Some(Ok(tool)) => tool,
        Some(Err(why)) => return Ok(Verdict::Skipped(why.clone())),
        None => return Ok(Verdict::Skipped("the install stage did not look for cargo-llvm-cov".to_owned())),
    };
    if let Err(failure) = llvm_tools() {
        return Ok(Verdict::Skipped(format!("llvm-tools are not available: {failure}")));
    }
    let folder = built::target()?.join("coverage");
    let trace = folder.join("lines.lcov");
    std::fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
    // Failing tests are reported by the stage `tests`.
    Program::new(tool)
        // Some tests kill the program or fill its disk, so that its profile is incomplete.
        .arguments([
            "llvm-cov",
            "--locked",
            "--ignore-run-fail",
            "--failure-mode",
            "all",
            "--lcov",
            "--output-path",
        ])
        .arguments([&trace])
        .arguments(SUITES.split_whitespace())
        .variable("CARGO_TARGET_DIR", &folder)
        .variable("CARGO_LLVM_COV_TARGET_DIR", &folder)
        .run()?;
    let text = std::fs::read_to_string(&trace)
        .map_err(|error| Failure::new(format!("cannot read the trace: {error}")))?;
    let files =
        files(&text, &|path| std::fs::read_to_string(repository::root().join(path)).unwrap_or_default());
    let page = folder.join("report.txt");
    std::fs::write(&page, report(&files)).map_err(|error| unwritten(&page, &error))?;
    judge(&files, &page)
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`: {error}", path.display()))
}

/// Installs the compiler's coverage tools if they are missing.
fn llvm_tools() -> Result<(), Failure> {
    let libraries = Program::new("rustc").arguments(["--print", "target-libdir"]).output()?;
    let tool = Path::new(libraries.trim())
        .with_file_name("bin")
        .join(format!("llvm-cov{}", std::env::consts::EXE_SUFFIX));
    if tool.exists() {
        Ok(())
    } else {
        Program::new("rustup").arguments(["component", "add", "llvm-tools"]).run()
    }
}

/// Prints the share of each crate and the least covered files. Fails if a share is too low.
fn judge(files: &[File], page: &Path) -> Result<Verdict, Failure> {
    for file in files.iter().take(SHOWN) {
        say::note(&row(&file.path, &file.lines));
    }
    say::note(&format!("all {} files, and the lines no test runs: {}", files.len(), page.display()));
    let mut low = Vec::new();
    for name in CRATES {
        let own = files.iter().filter(|file| file.path.starts_with(&folder_of(name)));
        let lines: Vec<bool> = own.flat_map(|file| file.lines.values().copied()).collect();
        let percent = percent(lines.iter().copied());
        say::note(&format!("{name}: {percent:.1} % of {} lines; at least {PERCENT_MIN} %", lines.len()));
        if lines.is_empty() || percent < PERCENT_MIN {
            low.push(format!("{name} has {percent:.1} %"));
        }
    }
    if low.is_empty() {
        return Ok(Verdict::Passed);
    }
    Err(Failure::new(format!("tests run less than {PERCENT_MIN} % of the lines: {}", low.join(", "))))
}

fn folder_of(name: &str) -> String {
    format!("crates/{name}/src/")
}

/// The covered product lines in a trace, least covered files first. `source` returns the text of a file.
fn files(trace: &str, source: &dyn Fn(&str) -> String) -> Vec<File> {
    let mut files: Vec<File> =
        trace.split("end_of_record").filter_map(|record| file(record, source)).collect();
    files.sort_by(|one, other| {
        let share = |file: &File| percent(file.lines.values().copied());
        share(one).total_cmp(&share(other)).then_with(|| one.path.cmp(&other.path))
    });
    files
}

/// Parses the record of one file: `SF:path`, then `DA:line,times` for each line.
fn file(record: &str, source: &dyn Fn(&str) -> String) -> Option<File> {
    let path = record.lines().find_map(|line| line.strip_prefix("SF:"))?;
    let start = CRATES.iter().find_map(|name| path.find(&folder_of(name)))?;
    let path = &path[start..];
    if path.ends_with("/tests.rs") {
        return None;
    }
    let tests = source(path).lines().position(|line| line == TESTS).map_or(usize::MAX, |index| index + 1);
    let counts = record.lines().filter_map(|line| line.strip_prefix("DA:")?.split_once(','));
    let counts = counts.filter_map(|(line, times)| Some((line.parse().ok()?, !times.starts_with('0'))));
    let lines: BTreeMap<usize, bool> = counts.filter(|(line, _)| *line < tests).collect();
    (!lines.is_empty()).then(|| File { path: path.to_owned(), lines })
}

fn percent(lines: impl Iterator<Item = bool>) -> f64 {
    let (mut run, mut all) = (0_u32, 0_u32);
    for is_run in lines {
        all += 1;
        run += u32::from(is_run);
    }
    if all == 0 { 0.0 } else { 100.0 * f64::from(run) / f64::from(all) }
}

/// The report of all files with the lines that no test runs.
fn report(files: &[File]) -> String {
    let mut page = "percent  lines  file\n".to_owned();
    for file in files {
        let missing: Vec<String> = ranges(&file.lines)
            .iter()
            .map(|range| match (range.start(), range.end()) {
                (start, end) if start == end => start.to_string(),
                (start, end) => format!("{start}-{end}"),
            })
            .collect();
        let row = row(&file.path, &file.lines);
        let missing = if missing.is_empty() { String::new() } else { format!(": {}", missing.join(" ")) };
        writeln!(page, "{row}{missing}").expect("writing to a string cannot fail");
    }
    page
}

fn row(path: &str, lines: &BTreeMap<usize, bool>) -> String {
    format!("{:>7.1}  {:>5}  {path}", percent(lines.values().copied()), lines.len())
}

/// The ranges of lines that were not run.
fn ranges(lines: &BTreeMap<usize, bool>) -> Vec<RangeInclusive<usize>> {
    let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
    let mut after_run = true;
    for (line, is_run) in lines {
        match ranges.last_mut() {
            Some(range) if !is_run && !after_run => *range = *range.start()..=*line,
            _ if !is_run => ranges.push(*line..=*line),
            _ => {}
        }
        after_run = *is_run;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_product_lines_of_the_crates_count_and_the_least_covered_file_is_first() {
        let trace = "SF:/x/crates/parallel-llm-engine/src/a.rs\nDA:1,5\nDA:2,0\nDA:3,0\nDA:5,1\nDA:6,0\nDA:8,9\nend_of_record\n\
            SF:/x/crates/parallel-llm-engine/src/b/tests.rs\nDA:1,0\nend_of_record\n\
            SF:/x/crates/parallel-llm-mcp/src/main.rs\nDA:1,0\nend_of_record\n\
            SF:/x/crates/parallel-llm-provider/src/c.rs\nDA:1,0\nend_of_record\n";
        let source = |path: &str| {
            if path.ends_with("a.rs") { "\n\n\n\n\n\n#[cfg(test)]\nmod tests {}\n" } else { "" }.to_owned()
        };
        let expected = "percent  lines  file
    0.0      1  crates/parallel-llm-provider/src/c.rs: 1
   40.0      5  crates/parallel-llm-engine/src/a.rs: 2-3 6
";
        assert_eq!(report(&files(trace, &source)), expected);
    }

    #[test]
    fn too_few_lines_fail_and_so_does_an_empty_measurement() {
        let verdict = judge(&[], Path::new("report.txt")).unwrap_err().to_string();
        assert_eq!(
            verdict,
            "tests run less than 90 % of the lines: parallel-llm-engine has 0.0 %, parallel-llm-provider has 0.0 %"
        );
    }

    #[test]
    fn without_the_tool_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
