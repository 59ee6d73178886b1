//! A strategy is one file and one test file of the same name. What several are made of stands beside them and decides
//! nothing by itself.

use super::Finding;
use super::tree::Tree;

const FOLDER: &str = "crates/parallel-llm-engine/src/strategy/";
/// The function every strategy has.
const DECIDES: &str = "fn decide(";
const TESTS: &str = "crates/parallel-llm-engine/tests/";

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let tested: Vec<&str> = tree
        .rust
        .iter()
        .filter(|file| file.path.starts_with(TESTS))
        .filter_map(|file| name(&file.path))
        .collect();
    let strategies = tree.rust.iter().filter_map(|file| {
        let rest = file.path.strip_prefix(FOLDER)?;
        let decides = file.text.contains(DECIDES) && !rest.contains('/') && rest != "mod.rs";
        decides.then_some((file.path.as_str(), name(rest)?))
    });
    let (with, without): (Vec<_>, Vec<_>) = strategies.partition(|(_, name)| tested.contains(name));
    if with.is_empty() {
        // The first same-named test file turns the rule on.
        return Vec::new();
    }
    let text = |name| format!("the strategy has no test file `{name}.rs` in {TESTS}");
    without.into_iter().map(|(path, name)| Finding::new(path, 0, text(name))).collect()
}

/// A file's name without folder and ending.
fn name(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.strip_suffix(".rs")
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_strategy_without_its_test_is_found_once_there_are_any() {
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
