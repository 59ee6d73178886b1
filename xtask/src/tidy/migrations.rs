//! Migrations are numbered without a gap, and every dialect has the same ones, so that a format has one number. A dialect
//! that came later begins with the tables as they were then, under that number.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::{Tree, ending};

const FOLDER: &str = "crates/parallel-llm-store/migrations/";
/// The end of the name of the file with which a later dialect begins.
const BEGIN: &str = "_begin.sql";

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
    let all =
        dialects.values().flatten().copied().filter(|name| !name.ends_with(BEGIN)).collect::<BTreeSet<_>>();
    let mut findings = Vec::new();
    for (dialect, names) in &dialects {
        findings.extend(misnumbered(dialect, names));
        let first = first(names);
        let later = all.difference(names).filter(|name| number(name).is_some_and(|number| number > first));
        findings.extend(later.map(|name| {
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
    let wrong = names.iter().zip(first(names)..).filter(|(name, position)| number(name) != Some(*position));
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

/// The number with which a dialect begins: 1, or that of its file with all tables.
fn first(names: &BTreeSet<&str>) -> u64 {
    let begin = names.first().filter(|name| name.ends_with(BEGIN));
    begin.and_then(|name| number(name)).unwrap_or(1)
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
        check(&["sqlite/0001_a.sql", "sqlite/0002_b.sql", "postgres/0002_begin.sql"], &[]);
        check(
            &["sqlite/0001_a.sql", "sqlite/0002_b.sql", "sqlite/0003_c.sql", "postgres/0002_begin.sql"],
            &["postgres:0 `0003_c.sql` is missing: another dialect has it"],
        );
        check(
            &["postgres/0002_begin.sql", "postgres/0004_c.sql"],
            &["postgres/0004_c.sql:0 the number must be 3, then `_`"],
        );
    }
}
