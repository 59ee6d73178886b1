//! The dependency graph stays small and comes from one registry. Counted from the manifests and the lock file, so that no
//! network is needed.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::Finding;
use super::crates::dependencies;
use super::tree::Tree;

/// Direct dependencies of the program. A library that replaces code of ours is worth its line; above this limit, review them.
const DIRECT_MAX: usize = 68;
/// Crates in the lock file, including those for tests and other systems. The client of PostgreSQL brought 22, a third of
/// them for the name of the user on systems that we do not build for.
const LOCKED_MAX: usize = 420;
/// Crates in more than one version. The graph began with 11.
const DUPLICATES_MAX: usize = 20;
/// Packages that are not shipped: their dependencies do not count.
const NOT_SHIPPED: &[&str] = &[
    "crates/parallel-llm-bench/Cargo.toml",
    "crates/parallel-llm-testkit/Cargo.toml",
    "fuzz/Cargo.toml",
    "xtask/Cargo.toml",
];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    tree.texts.get("Cargo.lock").map(|text| locked(text)).into_iter().flatten().chain(direct(tree)).collect()
}

/// A finding if the shipped packages have too many direct dependencies besides our crates.
fn direct(tree: &Tree) -> Option<Finding> {
    let shipped = tree.ending("/Cargo.toml").filter(|(path, _)| !NOT_SHIPPED.contains(path));
    // The rule `crates` reports a manifest that does not parse.
    let tables: Vec<Table> = shipped.filter_map(|(_, text)| text.parse().ok()).collect();
    let names: BTreeSet<&str> =
        tables.iter().flat_map(dependencies).filter(|it| !it.for_tests).map(|it| it.name).collect();
    let count = names.iter().filter(|name| !name.starts_with("parallel-llm-")).count();
    let text = || format!("{count} direct dependencies; at most {DIRECT_MAX}");
    (count > DIRECT_MAX).then(|| Finding::new("Cargo.toml", 0, text()))
}

fn locked(text: &str) -> Vec<Finding> {
    let finding = |text: String| Finding::new("Cargo.lock", 0, text);
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![finding(format!("does not parse: {error}"))],
    };
    let packages: Vec<&Value> =
        table.get("package").and_then(Value::as_array).into_iter().flatten().collect();
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sources: BTreeSet<&str> = BTreeSet::new();
    for package in &packages {
        *versions.entry(package.get("name").and_then(Value::as_str).unwrap_or("")).or_default() += 1;
        sources.extend(package.get("source").and_then(Value::as_str));
    }
    let duplicates: Vec<&str> =
        versions.iter().filter(|(_, count)| **count > 1).map(|(name, _)| *name).collect();
    let mut findings = Vec::new();
    if packages.len() > LOCKED_MAX {
        findings.push(finding(format!("{} locked crates; at most {LOCKED_MAX}", packages.len())));
    }
    if duplicates.len() > DUPLICATES_MAX {
        let (count, names) = (duplicates.len(), duplicates.join(", "));
        findings
            .push(finding(format!("{count} crates in several versions; at most {DUPLICATES_MAX}: {names}")));
    }
    if sources.len() > 1 || sources.iter().any(|source| !source.starts_with("registry+")) {
        let names: Vec<&str> = sources.into_iter().collect();
        findings
            .push(finding(format!("crates must come from one registry, not from {}", names.join(" and "))));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn packages(names: impl Iterator<Item = String>, source: &str) -> String {
        let one = |name| {
            format!(
                "[[package]]
name = \"{name}\"
source = \"{source}\"
"
            )
        };
        names.map(one).collect::<Vec<_>>().concat()
    }

    #[test]
    fn a_large_graph_is_found() {
        let few = packages((0..LOCKED_MAX).map(|it| it.to_string()), "registry+x");
        assert_eq!(found(rule, &[("Cargo.lock", &few)]), [""; 0]);
        let many = packages((0..=LOCKED_MAX).map(|it| it.to_string()), "registry+x");
        let message = format!("Cargo.lock:0 {} locked crates; at most {LOCKED_MAX}", LOCKED_MAX + 1);
        assert_eq!(found(rule, &[("Cargo.lock", &many)]), [message]);
        let double = packages((0..42).map(|it| (it / 2).to_string()), "registry+x");
        let message = found(rule, &[("Cargo.lock", &double)]);
        assert!(
            message[0].starts_with("Cargo.lock:0 21 crates in several versions; at most 20: 0, 1, 10"),
            "{message:?}"
        );
    }

    #[test]
    fn a_second_source_is_found() {
        let git = packages(["a".to_owned()].into_iter(), "git+y");
        assert_eq!(
            found(rule, &[("Cargo.lock", &git)]),
            ["Cargo.lock:0 crates must come from one registry, not from git+y"]
        );
        let two = git.replace("git+y", "registry+y").replace("\"a\"", "\"b\"");
        let both = packages(["a".to_owned()].into_iter(), "registry+x") + &two;
        let message = "Cargo.lock:0 crates must come from one registry, not from registry+x and registry+y";
        assert_eq!(found(rule, &[("Cargo.lock", &both)]), [message]);
    }

    #[test]
    fn many_direct_dependencies_are_found() {
        let lines: Vec<String> = (0..=DIRECT_MAX).map(|it| format!("d{it} = \"1\"\n")).collect();
        let manifest = format!("[dependencies]\nparallel-llm-engine = {{}}\n{}", lines.concat());
        let message = format!("Cargo.toml:0 {} direct dependencies; at most {DIRECT_MAX}", DIRECT_MAX + 1);
        assert_eq!(found(rule, &[("crates/a/Cargo.toml", &manifest)]), [message]);
        assert_eq!(found(rule, &[("xtask/Cargo.toml", &manifest)]), [""; 0]);
    }
}
