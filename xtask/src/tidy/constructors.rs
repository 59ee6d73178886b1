//! Only the crate `app` constructs the long-lived parts.

use super::Finding;
use super::imports::Target;
use super::modules::all_imports;
use super::tree::Tree;

const CRATES: &[&str] = &[
    "crates/parallel-llm-program",
    "crates/parallel-llm-mcp",
    "crates/parallel-llm-mcp-door",
    "crates/parallel-llm-http",
    "crates/parallel-llm-service",
];
/// The crate that may.
const ROOT: &str = "parallel-llm-app";

/// The parts that live as long as the program.
const PARTS: &[&str] = &["Client", "Engine", "Runs", "Store"];
/// The names of functions that construct one.
const MAKERS: &[&str] = &["build", "builder", "connect", "new", "open"];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, import) in CRATES.iter().flat_map(|folder| all_imports(tree, folder)) {
        let (Target::Ours(words) | Target::Other(words)) = &import.target;
        if let [.., part, maker] = words.as_slice()
            && PARTS.contains(&part.as_str())
            && MAKERS.contains(&maker.as_str())
        {
            let text = format!("`{part}::{maker}` belongs in `{ROOT}`, which constructs all parts");
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
    fn a_part_made_elsewhere_is_found() {
        let path = |file: &str| format!("{}/src/{file}", CRATES[0]);
        let code = "fn f() { let store = parallel_llm_store::Store::open(path).await; }";
        let message = "`Store::open` belongs in `parallel-llm-app`, which constructs all parts";
        assert_eq!(
            found(rule, &[(&path("command/runs.rs"), code)]),
            [format!("{}:1 {message}", path("command/runs.rs"))]
        );
        assert_eq!(found(rule, &[("crates/parallel-llm-app/src/wiring.rs", code)]), [""; 0]);
        let quiet = "impl Runs { fn new() -> Self { Self::default() } }\n#[cfg(test)] mod tests { fn f() { Runs::new() } }";
        assert_eq!(found(rule, &[(&path("runs.rs"), quiet)]), [""; 0]);
    }
}
