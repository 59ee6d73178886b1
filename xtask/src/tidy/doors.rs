//! The arrows inside the program: `cli | mcp | http | web → service → engine, store`.
//!
//! A door makes a request and renders events; it knows no other door, and neither the provider nor the store. What lies
//! behind the doors never looks back through one.

use super::Finding;
use super::imports::Target;
use super::modules::{all_imports, arrows};
use super::tree::Tree;

const PROGRAM: &str = "crates/parallel-llm-mcp";
const DOORS: &[&str] = &["cli", "mcp", "http", "web"];
/// Modules that no door may be named in, besides the doors themselves.
const BEHIND: &[&str] = &["app", "service"];
/// Crates that only what lies behind the doors may name.
const PAST_SERVICE: &[&str] = &["parallel_llm_provider", "parallel_llm_store"];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for arrow in arrows(tree, PROGRAM) {
        let (from, to) = (arrow.from.as_str(), arrow.to.as_str());
        if DOORS.contains(&to) && (DOORS.contains(&from) || BEHIND.contains(&from)) {
            findings.push(Finding::new(
                &arrow.path,
                arrow.line,
                format!("`{from}` may not import the door `{to}`"),
            ));
        }
    }
    for (file, import) in all_imports(tree, PROGRAM) {
        let (Some(from), Target::Other(words)) = (import.by.first(), &import.target) else { continue };
        if DOORS.contains(&from.as_str()) && PAST_SERVICE.contains(&words[0].as_str()) {
            let text = format!("the door `{from}` may not import `{}`: ask the service", words[0]);
            findings.push(Finding::new(&file.path, import.line, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(file: &str, text: &str, expected: &[&str]) {
        let path = format!("{PROGRAM}/src/{file}");
        let others: Vec<String> =
            ["cli", "mcp", "service", "app"].iter().map(|it| format!("{PROGRAM}/src/{it}/x.rs")).collect();
        let mut files: Vec<(&str, &str)> = others.iter().map(|other| (other.as_str(), "")).collect();
        files.push((&path, text));
        let expected: Vec<String> = expected.iter().map(|line| format!("{path}:{line}")).collect();
        assert_eq!(found(rule, &files), expected);
    }

    #[test]
    fn a_door_in_the_wrong_place_is_found() {
        check("cli/ask.rs", "use crate::{app::App, service::ask}; use parallel_llm_engine::Event;", &[]);
        check("main.rs", "mod cli; use cli::parse;", &[]);
        check("cli/serve.rs", "use crate::mcp::serve;", &["1 `cli` may not import the door `mcp`"]);
        check("service/ask.rs", "\nuse crate::cli::Ask;", &["2 `service` may not import the door `cli`"]);
        check("app/mod.rs", "fn f() { crate::mcp::serve() }", &["1 `app` may not import the door `mcp`"]);
    }

    #[test]
    fn a_door_that_goes_round_the_service_is_found() {
        let said = "1 the door `cli` may not import `parallel_llm_store`: ask the service";
        check("cli/runs.rs", "use parallel_llm_store::Store;", &[said]);
        check("service/runs.rs", "use parallel_llm_store::Store;", &[]);
    }
}
