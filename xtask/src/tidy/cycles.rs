//! No two modules of one folder import each other, directly or indirectly, at any depth of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Finding;
use super::modules::{Arrow, arrows, inner_arrows};
use super::tree::Tree;

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let of = |folder| [cycles(&arrows(tree, folder)), cycles(&inner_arrows(tree, folder))].concat();
    tree.packages().into_iter().flat_map(of).collect()
}

/// One finding for each cycle: the shortest one, with a location for each step.
fn cycles(arrows: &[Arrow]) -> Vec<Finding> {
    let mut steps: BTreeMap<&str, BTreeMap<&str, &Arrow>> = BTreeMap::new();
    for arrow in arrows {
        steps.entry(&arrow.from).or_default().entry(&arrow.to).or_insert(arrow);
    }
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    let mut findings = Vec::new();
    for start in steps.keys() {
        let Some(cycle) = shortest(&steps, start) else { continue };
        let known = cycle.iter().any(|arrow| reported.contains(arrow.from.as_str()));
        reported.extend(cycle.iter().map(|arrow| arrow.from.as_str()));
        if !known {
            findings.push(finding(&cycle));
        }
    }
    findings
}

/// The shortest path from `start` back to itself.
fn shortest<'a>(steps: &BTreeMap<&str, BTreeMap<&'a str, &'a Arrow>>, start: &str) -> Option<Vec<&'a Arrow>> {
    let mut reached_by: BTreeMap<&str, &Arrow> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    // A module enters the queue once, so there are at most as many turns as modules.
    while let Some(module) = queue.pop_front() {
        for (next, arrow) in steps.get(module).into_iter().flatten() {
            if !reached_by.contains_key(next) {
                reached_by.insert(next, arrow);
                queue.push_back(next);
            }
        }
    }
    let mut cycle = vec![*reached_by.get(start)?];
    while let Some(last) = cycle.last().filter(|arrow| arrow.from != start) {
        cycle.push(reached_by.get(last.from.as_str())?);
    }
    cycle.reverse();
    Some(cycle)
}

fn finding(cycle: &[&Arrow]) -> Finding {
    let step = |arrow: &&Arrow| format!("{} → {} ({}:{})", arrow.from, arrow.to, arrow.path, arrow.line);
    let steps: Vec<String> = cycle.iter().map(step).collect();
    Finding::new(
        &cycle[0].path,
        cycle[0].line,
        format!("modules import each other in a cycle: {}", steps.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    const MANIFEST: (&str, &str) = ("a/Cargo.toml", "");

    #[test]
    fn a_cycle_is_found_with_its_files() {
        let one = ("a/src/one.rs", "use crate::two::T;");
        let two = ("a/src/two.rs", "\nuse crate::three::T;");
        let three = ("a/src/three.rs", "use crate::four;\nfn f() { crate::one::g() }");
        let four = ("a/src/four.rs", "use std::fs;");
        let way = "one → two (a/src/one.rs:1), two → three (a/src/two.rs:2), three → one (a/src/three.rs:2)";
        assert_eq!(
            found(rule, &[MANIFEST, one, two, three, four]),
            [format!("a/src/one.rs:1 modules import each other in a cycle: {way}")]
        );
        assert_eq!(found(rule, &[MANIFEST, one, two, four]), [""; 0]);
    }

    #[test]
    fn a_cycle_below_the_top_is_found() {
        let door = ("a/src/door/mod.rs", "mod one; mod two; pub use one::T; fn f() { two::g() }");
        let one = ("a/src/door/one.rs", "use super::two::g; use super::f;");
        let two = ("a/src/door/two/mod.rs", "use super::T;");
        let deeper = ("a/src/door/two/deeper.rs", "fn f() { crate::door::one::h() }");
        let way =
            "door::one → door::two (a/src/door/one.rs:1), door::two → door::one (a/src/door/two/deeper.rs:1)";
        assert_eq!(
            found(rule, &[MANIFEST, door, one, two, deeper]),
            [format!("a/src/door/one.rs:1 modules import each other in a cycle: {way}")]
        );
        assert_eq!(found(rule, &[MANIFEST, door, one, two]), [""; 0]);
    }

    #[test]
    fn two_cycles_are_two_findings_and_tests_are_none() {
        let file = |text: &str| format!("use crate::{text}::T;");
        let (a, b, c, d) = (file("b"), file("a"), file("d"), file("c"));
        let files =
            [MANIFEST, ("a/src/a.rs", &a), ("a/src/b.rs", &b), ("a/src/c.rs", &c), ("a/src/d.rs", &d)];
        assert_eq!(found(rule, &files).len(), 2);
        let quiet = "#[cfg(test)] mod tests { use crate::b::T; }";
        assert_eq!(found(rule, &[MANIFEST, ("a/src/a.rs", quiet), ("a/src/b.rs", &b)]), [""; 0]);
    }
}
