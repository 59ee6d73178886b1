//! The stage `readme`: runs the first command of README.md with the binary that was just built.

use std::time::Duration;

use super::State;
use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository};

/// Time limit of the first command.
const TIME_MAX: Duration = Duration::from_mins(2);

/// The command to run if README.md has none.
const FIRST: &str = "demo";

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = state.binary.as_deref() else {
        return Ok(Verdict::Skipped("there is no release binary to run".to_owned()));
    };
    let home = built::home()?;
    // A missing README has no command.
    let page = std::fs::read_to_string(repository::root().join("README.md")).unwrap_or_default();
    let words = first_command(&page).unwrap_or_else(|| vec![FIRST.to_owned()]);
    let help = Program::new(binary).scrubbed(&home).arguments(["--help"]).output()?;
    if words[0] == FIRST && !help.split_whitespace().any(|word| word == FIRST) {
        return Ok(Verdict::Skipped("the program has no `demo` yet".to_owned()));
    }
    let reader = Program::new(binary).scrubbed(&home).variable("PARALLEL_LLM_DATA_DIR", home.join("data"));
    reader.time_limit(TIME_MAX).arguments(words).run().map(|()| Verdict::Passed)
}

/// The arguments of the first command in a code block that starts the program, directly or through `cargo run`.
fn first_command(page: &str) -> Option<Vec<String>> {
    let mut in_block = false;
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block && let Some(words) = arguments(line) {
            return Some(words);
        }
    }
    None
}

/// The arguments of the program in a command line; `None` if it starts another program or has none. Quotes are not
/// supported: a first command should not need them.
fn arguments(line: &str) -> Option<Vec<String>> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let line = line.split(" #").next().unwrap_or(line);
    let mut words = line.split_whitespace().map(str::to_owned);
    let first = words.next()?;
    let rest: Vec<String> = match first.rsplit('/').next() {
        Some("parallel-llm-mcp") => words.collect(),
        Some("cargo") if words.next()? == "run" => words.skip_while(|word| word != "--").skip(1).collect(),
        _ => return None,
    };
    if rest.is_empty() { None } else { Some(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, expected: Option<&[&str]>) {
        let expected = expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(first_command(page), expected);
    }

    #[test]
    fn the_first_command_is_the_first_that_starts_the_program() {
        check("# Title\n\n`parallel-llm-mcp demo`\n", None);
        check(
            "```sh\ncargo install --path crates/parallel-llm-mcp\nparallel-llm-mcp demo\n```",
            Some(&["demo"]),
        );
        check("```\n$ ./target/release/parallel-llm-mcp demo --kill # twice\n```", Some(&["demo", "--kill"]));
        check("```\ncargo run -p parallel-llm-mcp -- demo\n```", Some(&["demo"]));
        check("```json\n{\"command\": \"parallel-llm-mcp\"}\n```\n", None);
    }

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
