//! The stage `page`: the web page in a real browser, with the built program and the simulator behind it.
//!
//! It would have caught a page that requests another host or runs a word of an answer as a script, an answer that is lost or
//! doubled by a reload, a colour without contrast, and a button that only a mouse reaches. The tests are in
//! `crates/parallel-llm-web-door/tests/browser`; they drive Debian's Chromium, which is installed with apt if it is missing.
//! If that is impossible the stage fails, because nothing else looks at the page.

use std::path::PathBuf;
use std::time::Duration;

use super::report::Verdict;
use super::{State, foreign, system};
use crate::failure::Failure;
use crate::program::Program;
use crate::repository;

/// The browser, and the name of its package.
const CHROMIUM: &str = "chromium";
/// Time limit of all tests, which take two minutes on two quiet cores.
const TESTS_TIME_MAX: Duration = Duration::from_mins(15);
/// Files of tests at the same time: each has a server, a simulator and a browser.
const FILES_AT_ONCE: usize = 2;
/// The reporter that lists the failed tests, and its list.
const REPORTER: &str = "failures.mjs";
const FAILURES: &str = "failures.txt";
/// The most failed tests that the table names.
const NAMED_MAX: usize = 5;
/// The end of the names of files with tests.
const TESTS: &str = ".test.mjs";
/// The script that makes the pictures of the documentation, and their folder.
const PICTURES: &str = "pictures.mjs";
const PICTURES_FOLDER: &str = "docs/images";

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped(
            "there is no release binary to ask: add `--only \"release build\"`".to_owned(),
        ));
    };
    system::program(CHROMIUM)?;
    let packages = match foreign::packages(foreign::BROWSER) {
        Ok(packages) => packages,
        Err(failure) => {
            return Ok(Verdict::Skipped(format!("the browser's driver is not available: {failure}")));
        }
    };
    if state.images {
        let pictures = packages.script(PICTURES).variable("PROGRAM", binary);
        let folder = repository::root().join(PICTURES_FOLDER);
        pictures.variable("IMAGES", folder).time_limit(TESTS_TIME_MAX).run()?;
    }
    let (reporter, list) = (packages.folder.join(REPORTER), packages.folder.join(FAILURES));
    // That of the last time; there may be none.
    std::fs::remove_file(&list).ok();
    let tests = Program::new(&packages.node).arguments(["--test"]);
    let tests = tests.arguments(["--test-reporter=spec", "--test-reporter-destination=stdout"]);
    let tests = tests.arguments([
        format!("--test-reporter={}", reporter.display()),
        format!("--test-reporter-destination={}", list.display()),
        format!("--test-concurrency={FILES_AT_ONCE}"),
    ]);
    let tests = tests.arguments(files()?.into_iter().map(|name| packages.folder.join(name)));
    let ended = tests.variable("PROGRAM", binary).time_limit(TESTS_TIME_MAX).run();
    ended.map(|()| Verdict::Passed).map_err(|failure| {
        // Without a list no test has failed, but the command itself.
        named(failure, &std::fs::read_to_string(&list).unwrap_or_default())
    })
}

/// A failure of the tests with the first lines of the list: the end of a record is often all that is kept of it.
fn named(failure: Failure, list: &str) -> Failure {
    let failed: Vec<&str> = list.lines().collect();
    if failed.is_empty() {
        return failure;
    }
    let shown = failed[..failed.len().min(NAMED_MAX)].join("; ");
    Failure::new(format!("{} failed: {shown}; {failure}", failed.len()))
}

/// The names of the files with tests, in order.
fn files() -> Result<Vec<PathBuf>, Failure> {
    let folder = repository::root().join(foreign::BROWSER);
    let failed = |error: std::io::Error| Failure::new(format!("cannot list `{}`: {error}", folder.display()));
    let entries = std::fs::read_dir(&folder).map_err(failed)?;
    let names: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
    let mut names = names.map_err(failed)?;
    names.retain(|name| name.to_string_lossy().ends_with(TESTS));
    names.sort();
    Ok(names.into_iter().map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }

    #[test]
    fn the_tests_are_found() {
        assert!(files().unwrap().contains(&PathBuf::from("reading.test.mjs")));
    }

    #[test]
    fn the_failure_names_the_first_tests_that_failed() {
        let check = |list: &str, expected| {
            assert_eq!(named(Failure::new("`node` ended with 1"), list).to_string(), expected);
        };
        check("", "`node` ended with 1");
        check("“a”: one\n“b”: two\n", "2 failed: “a”: one; “b”: two; `node` ended with 1");
        check("1\n2\n3\n4\n5\n6\n7\n", "7 failed: 1; 2; 3; 4; 5; `node` ended with 1");
    }
}
