//! The stage `coverage`: how many product lines of the shipped crates the tests run, as a page for a browser too.
//!
//! Tests inside a source file are not counted, because they would raise the share. The instrumented code is built separately,
//! below `target/coverage`, because the other stages cannot use it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use super::install;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// The minimum share of lines that tests must run, in percent.
const PERCENT_MIN: f64 = 90.0;

/// The crates that are shipped.
const CRATES: &[&str] = &[
    "parallel-llm-app",
    "parallel-llm-engine",
    "parallel-llm-http",
    "parallel-llm-install",
    "parallel-llm-mcp",
    "parallel-llm-mcp-door",
    "parallel-llm-openai-door",
    "parallel-llm-ops-door",
    "parallel-llm-program",
    "parallel-llm-provider",
    "parallel-llm-service",
    "parallel-llm-settings",
    "parallel-llm-simulator",
    "parallel-llm-store",
    "parallel-llm-web-door",
];

/// The tests, as arguments of `cargo`. The programs that they start are counted too, unless they are killed.
const SUITES: &str = "--workspace --exclude xtask --exclude parallel-llm-bench --lib --bins --tests";

/// Time limit of the tests, which run two to three times as long as usual.
const TESTS_MAX: Duration = Duration::from_hours(2);

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

pub(super) fn run() -> Result<Verdict, Failure> {
    let tool = match install::find(&install::COVERAGE) {
        Ok(tool) => tool,
        Err(failure) => return Ok(Verdict::Skipped(format!("cargo-llvm-cov is not available: {failure}"))),
    };
    if let Err(failure) = llvm_tools() {
        return Ok(Verdict::Skipped(format!("llvm-tools are not available: {failure}")));
    }
    let folder = built::target()?.join("coverage");
    let trace = folder.join("lines.lcov");
    std::fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
    // Failing tests are reported by the stage `tests`.
    Program::new(&tool)
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
        .time_limit(TESTS_MAX)
        .run()?;
    let text = std::fs::read_to_string(&trace)
        .map_err(|error| Failure::new(format!("cannot read the trace: {error}")))?;
    let source = |path: &str| std::fs::read_to_string(repository::root().join(path)).unwrap_or_default();
    let files = files(&text, CRATES, &source);
    let page = folder.join("report.txt");
    std::fs::write(&page, report(&files)).map_err(|error| unwritten(&page, &error))?;
    let html = Program::new(&tool)
        .arguments(["llvm-cov", "report", "--failure-mode", "all", "--html", "--output-dir"])
        .arguments([&folder]);
    html.variable("CARGO_TARGET_DIR", &folder).variable("CARGO_LLVM_COV_TARGET_DIR", &folder).run()?;
    say::note(&format!("line by line, for a browser: {}", folder.join("html/index.html").display()));
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

/// Prints the share of each crate, of all together, and the least covered files. Fails if the share of all is too low.
fn judge(files: &[File], page: &Path) -> Result<Verdict, Failure> {
    for file in files.iter().take(SHOWN) {
        say::note(&row(&file.path, &file.lines));
    }
    say::note(&format!("all {} files, and the lines no test runs: {}", files.len(), page.display()));
    let share = |name: &str, folder: &str| {
        let own = files.iter().filter(|file| file.path.starts_with(folder));
        let lines: Vec<bool> = own.flat_map(|file| file.lines.values().copied()).collect();
        let percent = percent(lines.iter().copied());
        say::note(&format!("{name}: {percent:.1} % of {} lines", lines.len()));
        percent
    };
    for name in CRATES {
        share(name, &folder_of(name));
    }
    let all = share("all together", "");
    if all >= PERCENT_MIN {
        return Ok(Verdict::Passed);
    }
    Err(Failure::new(format!("tests run {all:.1} % of the lines, less than {PERCENT_MIN} %")))
}

fn folder_of(name: &str) -> String {
    format!("crates/{name}/src/")
}

/// The covered product lines in a trace, least covered files first. `source` returns the text of a file.
fn files(trace: &str, crates: &[&str], source: &dyn Fn(&str) -> String) -> Vec<File> {
    let mut files: Vec<File> =
        trace.split("end_of_record").filter_map(|record| file(record, crates, source)).collect();
    files.sort_by(|one, other| {
        let share = |file: &File| percent(file.lines.values().copied());
        share(one).total_cmp(&share(other)).then_with(|| one.path.cmp(&other.path))
    });
    files
}

/// Parses the record of one file: `SF:path`, then `DA:line,times` for each line.
fn file(record: &str, crates: &[&str], source: &dyn Fn(&str) -> String) -> Option<File> {
    let path = record.lines().find_map(|line| line.strip_prefix("SF:"))?;
    let start = crates.iter().find_map(|name| path.find(&folder_of(name)))?;
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
            SF:/x/crates/parallel-llm-testkit/src/lib.rs\nDA:1,0\nend_of_record\n\
            SF:/x/crates/parallel-llm-provider/src/c.rs\nDA:1,0\nend_of_record\n";
        let source = |path: &str| {
            if path.ends_with("a.rs") { "\n\n\n\n\n\n#[cfg(test)]\nmod tests {}\n" } else { "" }.to_owned()
        };
        let expected = "percent  lines  file
    0.0      1  crates/parallel-llm-provider/src/c.rs: 1
   40.0      5  crates/parallel-llm-engine/src/a.rs: 2-3 6
";
        assert_eq!(report(&files(trace, CRATES, &source)), expected);
    }

    #[test]
    fn too_few_lines_fail_and_so_does_an_empty_measurement() {
        let verdict = judge(&[], Path::new("report.txt")).unwrap_err().to_string();
        assert_eq!(verdict, "tests run 0.0 % of the lines, less than 90 %");
    }

    #[test]
    fn every_shipped_crate_is_measured() {
        let crates = std::fs::read_dir(repository::root().join("crates")).unwrap().flatten();
        let mut names: Vec<String> =
            crates.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| !["parallel-llm-bench", "parallel-llm-testkit"].contains(&name.as_str()));
        names.sort();
        assert_eq!(names, CRATES);
    }
}
