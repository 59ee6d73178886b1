//! The program's commands are a door like any other: they ask the service, and name neither the provider nor the store.
//!
//! Of the doors that are crates their manifests hold this. The program needs both crates for its wiring, so it is held here.

use super::Finding;
use super::imports::Target;
use super::modules::all_imports;
use super::tree::Tree;

const PROGRAM: &str = "crates/parallel-llm-mcp";
/// The folders that are a door.
const DOORS: &[&str] = &["command", "terminal"];
/// Crates that only what lies behind the doors may name.
const PAST_SERVICE: &[&str] = &["parallel_llm_provider", "parallel_llm_store"];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
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

    #[test]
    fn a_door_that_goes_round_the_service_is_found() {
        let path = |file: &str| format!("{PROGRAM}/src/{file}");
        let code = "use parallel_llm_store::Store;";
        let said = "1 the door `command` may not import `parallel_llm_store`: ask the service";
        let runs = path("command/runs.rs");
        assert_eq!(found(rule, &[(&runs, code)]), [format!("{runs}:{said}")]);
        assert_eq!(found(rule, &[(&path("app.rs"), code)]), [""; 0]);
    }
}
