//! Migrations are numbered from 1 without a gap, and every dialect has the same ones.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::{Tree, ending};

const FOLDER: &str = "crates/parallel-llm-store/migrations/";

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut dialects: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in &tree.paths {
        let Some((dialect, name)) = path.strip_prefix(FOLDER).and_then(|rest| rest.split_once('/')) else {
            continue;
        };
        if ending(name) == Some("sql") {
            dialects.entry(dialect).or_default().insert(name);
        }
    }
    let all: BTreeSet<&str> = dialects.values().flatten().copied().collect();
    let mut findings = Vec::new();
    for (dialect, names) in &dialects {
        findings.extend(misnumbered(dialect, names));
        findings.extend(all.difference(names).map(|name| {
            Finding::new(
                &format!("{FOLDER}{dialect}"),
                0,
                format!("`{name}` is missing: another dialect has it"),
            )
        }));
    }
    findings
}

/// Findings for names whose number is not their position. Migrations are applied in the order of their names.
fn misnumbered(dialect: &str, names: &BTreeSet<&str>) -> Vec<Finding> {
    let wrong = names.iter().zip(1u64..).filter(|(name, position)| number(name) != Some(*position));
    wrong
        .map(|(name, position)| {
            Finding::new(
                &format!("{FOLDER}{dialect}/{name}"),
                0,
                format!("the number must be {position}, then `_`"),
            )
        })
        .collect()
}

fn number(name: &str) -> Option<u64> {
    name.split_once('_')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(names: &[&str], expected: &[&str]) {
        let paths: Vec<String> = names.iter().map(|name| format!("{FOLDER}{name}")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        let expected: Vec<String> = expected.iter().map(|line| format!("{FOLDER}{line}")).collect();
        assert_eq!(found(rule, &files), expected);
    }

    #[test]
    fn gaps_doubles_and_missing_dialects_are_found() {
        check(&["sqlite/0001_runs.sql", "sqlite/0002_texts.sql"], &[]);
        check(
            &["sqlite/0001_runs.sql", "sqlite/0003_texts.sql"],
            &["sqlite/0003_texts.sql:0 the number must be 2, then `_`"],
        );
        check(
            &["sqlite/0001_a.sql", "sqlite/0001_b.sql"],
            &["sqlite/0001_b.sql:0 the number must be 2, then `_`"],
        );
        check(&["sqlite/runs.sql"], &["sqlite/runs.sql:0 the number must be 1, then `_`"]);
        check(
            &["sqlite/0001_a.sql", "postgres/0001_a.sql", "sqlite/0002_b.sql"],
            &["postgres:0 `0002_b.sql` is missing: another dialect has it"],
        );
    }
}
