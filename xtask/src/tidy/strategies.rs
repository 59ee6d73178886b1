//! Each strategy has a test file of the same name, and imports no other strategy. What strategies share is in `parts/`.

use super::Finding;
use super::tree::Tree;

const FOLDER: &str = "crates/parallel-llm-engine/src/strategy/";
/// The function that every strategy has.
const DECIDES: &str = "fn decide(";
const TESTS: &str = "crates/parallel-llm-engine/tests/";

/// The import path of the folder of strategies, and the only module there that a strategy may import.
const SIBLINGS: &str = "crate::strategy::";
const PARTS: &str = "parts::";

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let tested: Vec<&str> = tree
        .rust
        .iter()
        .filter(|file| file.path.starts_with(TESTS))
        .filter_map(|file| name(&file.path))
        .collect();
    let strategies: Vec<(&str, &str, &str)> = tree
        .rust
        .iter()
        .filter_map(|file| {
            let rest = file.path.strip_prefix(FOLDER)?;
            let decides = file.text.contains(DECIDES) && !rest.contains('/') && rest != "mod.rs";
            decides.then_some((file.path.as_str(), name(rest)?, file.text.as_str()))
        })
        .collect();
    let mut findings = Vec::new();
    for (path, _, text) in &strategies {
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.split(SIBLINGS).skip(1).any(|imported| !imported.starts_with(PARTS)));
        let text = "a strategy may import parts, but no other strategy";
        findings.extend(lines.map(|(index, _)| Finding::new(path, index + 1, text)));
    }
    let strategies = strategies.into_iter().map(|(path, name, _)| (path, name));
    let (with, without): (Vec<_>, Vec<_>) = strategies.partition(|(_, name)| tested.contains(name));
    if with.is_empty() {
        // The rule applies once one strategy has a test file.
        return findings;
    }
    let text = |name| format!("the strategy has no test file `{name}.rs` in {TESTS}");
    findings.extend(without.into_iter().map(|(path, name)| Finding::new(path, 0, text(name))));
    findings
}

/// The name of a file without folder and extension.
fn name(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.strip_suffix(".rs")
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_strategy_that_imports_another_is_found() {
        let path = "crates/parallel-llm-engine/src/strategy/race.rs";
        let text = "use crate::strategy::parts::call;\nuse crate::strategy::vote;\nfn decide() {}";
        assert_eq!(
            found(rule, &[(path, text)]),
            [format!("{path}:2 a strategy may import parts, but no other strategy")]
        );
    }

    #[test]
    fn a_strategy_without_a_test_file_is_found() {
        let vote = ("crates/parallel-llm-engine/src/strategy/vote.rs", "fn decide() {}");
        let race = ("crates/parallel-llm-engine/src/strategy/race.rs", "fn decide() {}");
        let part = ("crates/parallel-llm-engine/src/strategy/call.rs", "");
        let root = ("crates/parallel-llm-engine/src/strategy/mod.rs", "");
        let test = ("crates/parallel-llm-engine/tests/strategy/vote.rs", "");
        assert_eq!(found(rule, &[vote, race, root]), [""; 0]);
        assert_eq!(
            found(rule, &[vote, race, part, root, test]),
            [format!("{}:0 the strategy has no test file `race.rs` in {TESTS}", race.0)]
        );
    }
}
