//! The `coverage` stage: how many lines of the engine and the provider the tests run.
//!
//! Tests inside a source file are not counted, neither as lines nor as covered ones: they would flatter the number. What is
//! measured is built apart, below `target/coverage`, for instrumented code is of no use to the other stages.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// The crates that decide, and the least share of their lines that must be run, in percent.
const CRATES: &[&str] = &["parallel-llm-engine", "parallel-llm-provider"];
const PERCENT_MIN: f64 = 90.0;

/// Whose tests are run: their own. Those of the program would double the time and add less than a percent.
const SUITES: &str = "-p parallel-llm-engine -p parallel-llm-provider --lib --tests";

/// Files shown on the terminal; the report has all of them.
const SHOWN: usize = 10;

/// How a source file with tests of its own begins them; nothing but tests follows.
const TESTS: &str = "#[cfg(test)]";

/// The lines of one file that can be run, and whether they were.
#[derive(Debug, PartialEq)]
struct File {
    /// From the repository's root.
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
        return Ok(Verdict::Skipped(format!("llvm-tools cannot be had: {failure}")));
    }
    let folder = built::target()?.join("coverage");
    let trace = folder.join("lines.lcov");
    std::fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
    // That tests fail is for the stage of the tests to say.
    Program::new(tool)
        // Some tests kill the program or let its disk be full, so that its profile stops in the middle.
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

/// Makes sure that the compiler's own coverage tools are beside it.
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

/// Says how much is run of each crate, and which files are run least; too little is a failure.
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

/// What a trace says of the crates' product lines, least covered files first. `source` gives a file's text by its path.
fn files(trace: &str, source: &dyn Fn(&str) -> String) -> Vec<File> {
    let mut files: Vec<File> =
        trace.split("end_of_record").filter_map(|record| file(record, source)).collect();
    files.sort_by(|one, other| {
        let share = |file: &File| percent(file.lines.values().copied());
        share(one).total_cmp(&share(other)).then_with(|| one.path.cmp(&other.path))
    });
    files
}

/// One file's record: `SF:path`, then `DA:line,times` for each line.
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

/// All files with the lines that no test runs, as text.
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
        writeln!(page, "{row}{missing}").expect("a text takes every line");
    }
    page
}

fn row(path: &str, lines: &BTreeMap<usize, bool>) -> String {
    format!("{:>7.1}  {:>5}  {path}", percent(lines.values().copied()), lines.len())
}

/// The lines that were not run, those in a row together.
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
