//! The program's commands are a door: they use the service, and import neither the provider nor the store.
//!
//! For doors that are crates, manifests enforce this. The program needs the provider for the demo, so this rule does.

use super::Finding;
use super::imports::Target;
use super::modules::all_imports;
use super::tree::Tree;

const PROGRAM: &str = "crates/parallel-llm-program";
/// The folders of the program that are a door.
const DOORS: &[&str] = &["command", "terminal"];
/// Crates that a door may not import.
const BEHIND_SERVICE: &[&str] = &["parallel_llm_provider", "parallel_llm_store"];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, import) in all_imports(tree, PROGRAM) {
        let (Some(from), Target::Other(words)) = (import.by.first(), &import.target) else { continue };
        if DOORS.contains(&from.as_str()) && BEHIND_SERVICE.contains(&words[0].as_str()) {
            let text = format!("the door `{from}` may not import `{}`: use the service", words[0]);
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
    fn a_door_that_bypasses_the_service_is_found() {
        let path = |file: &str| format!("{PROGRAM}/src/{file}");
        let code = "use parallel_llm_store::Store;";
        let message = "1 the door `command` may not import `parallel_llm_store`: use the service";
        let runs = path("command/runs.rs");
        assert_eq!(found(rule, &[(&runs, code)]), [format!("{runs}:{message}")]);
        assert_eq!(found(rule, &[(&path("app.rs"), code)]), [""; 0]);
    }
}
