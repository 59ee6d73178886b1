//! The permitted dependencies between our crates, and the crates that the engine may not depend on.
//!
//! ARCHITECTURE.md draws the same arrows. A new one is a line here and a sentence there.

use toml::{Table, Value};

use super::Finding;
use super::tree::Tree;

const BENCH: &str = "parallel-llm-bench";
const ENGINE: &str = "parallel-llm-engine";
const EVAL: &str = "parallel-llm-eval";
const APP: &str = "parallel-llm-app";
const LIBRARY: &str = "parallel-llm-mcp";
const PROGRAM: &str = "parallel-llm-program";
const PROVIDER: &str = "parallel-llm-provider";
const SIMULATOR: &str = "parallel-llm-simulator";
const STORE: &str = "parallel-llm-store";
const TESTKIT: &str = "parallel-llm-testkit";
const XTASK: &str = "xtask";
const SETTINGS: &str = "parallel-llm-settings";
const INSTALL: &str = "parallel-llm-install";
const SERVICE: &str = "parallel-llm-service";
const HTTP: &str = "parallel-llm-http";
/// The prefix and suffix of a door's name, so that a new door needs no row.
const DOOR: (&str, &str) = ("parallel-llm-", "-door");
/// The name of every door in the rows.
const ANY_DOOR: &str = "a door";
const FUZZ: &str = "parallel-llm-fuzz";

/// The permitted dependencies of one of our crates on others.
struct Row {
    name: &'static str,
    may: &'static [&'static str],
    /// Further dependencies of its tests.
    tests_may: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row { name: ENGINE, may: &[], tests_may: &[SIMULATOR, TESTKIT] },
    Row { name: PROVIDER, may: &[ENGINE], tests_may: &[SIMULATOR, TESTKIT] },
    Row { name: STORE, may: &[ENGINE], tests_may: &[TESTKIT] },
    Row { name: EVAL, may: &[ENGINE], tests_may: &[SIMULATOR, TESTKIT] },
    // Independent, like its tests, so that no mistake is shared with the provider.
    Row { name: SIMULATOR, may: &[], tests_may: &[] },
    Row { name: SETTINGS, may: &[ENGINE, PROVIDER], tests_may: &[TESTKIT] },
    Row { name: INSTALL, may: &[ENGINE, SETTINGS], tests_may: &[TESTKIT] },
    Row { name: SERVICE, may: &[ENGINE, PROVIDER, STORE, SETTINGS, INSTALL], tests_may: &[TESTKIT] },
    // It knows principals, but no protocol.
    Row { name: HTTP, may: &[ENGINE, SETTINGS, SERVICE], tests_may: &[TESTKIT] },
    // A door calls the service. It knows no other door, and neither the provider nor the store.
    Row { name: ANY_DOOR, may: &[ENGINE, SETTINGS, SERVICE, HTTP], tests_may: &[TESTKIT] },
    // It makes the parts, so it knows them all.
    Row {
        name: APP,
        may: &[ENGINE, PROVIDER, STORE, SETTINGS, SERVICE, HTTP, ANY_DOOR],
        tests_may: &[TESTKIT],
    },
    Row {
        name: PROGRAM,
        may: &[ENGINE, PROVIDER, SIMULATOR, SETTINGS, INSTALL, SERVICE, HTTP, ANY_DOOR, APP],
        tests_may: &[TESTKIT],
    },
    // The library, and the binaries, which are its package's.
    Row {
        name: LIBRARY,
        may: &[ENGINE, PROVIDER, SETTINGS, SERVICE, HTTP, ANY_DOOR, APP, PROGRAM],
        tests_may: &[STORE, TESTKIT],
    },
    Row { name: TESTKIT, may: &[ENGINE, STORE, SIMULATOR, HTTP, ANY_DOOR, APP, PROGRAM], tests_may: &[] },
    // It measures the built program, and the same library without a door.
    Row { name: BENCH, may: &[ENGINE, PROVIDER, STORE, SETTINGS, SERVICE], tests_may: &[] },
    // It runs the built program and never links it.
    Row { name: XTASK, may: &[], tests_may: &[] },
    // It reaches the parsers of foreign bytes through one hidden module of each crate.
    Row { name: FUZZ, may: &[PROVIDER, ANY_DOOR], tests_may: &[] },
];

/// Crates for a network, a database, a client or a terminal.
const NOT_IN_ENGINE: &[&str] = &[
    "axum",
    "clap",
    "http",
    "http-body",
    "http-body-util",
    "hyper",
    "hyper-util",
    "reqwest",
    "rmcp",
    "rusqlite",
    "rustls",
    "socket2",
    "tokio-postgres",
    "tower",
    "tower-http",
    "tracing-subscriber",
];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    tree.ending("/Cargo.toml").flat_map(|(path, text)| manifest(path, text)).collect()
}

fn manifest(path: &str, text: &str) -> Vec<Finding> {
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![Finding::new(path, 0, format!("does not parse: {error}"))],
    };
    let name =
        table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str).unwrap_or("");
    let Some(row) = ROWS.iter().find(|row| row.name == kind(name)) else {
        return vec![Finding::new(path, 0, format!("`{name}` has no row in xtask/src/tidy/crates.rs"))];
    };
    let mut findings = Vec::new();
    for Dependency { name: dependency, for_tests, .. } in dependencies(&table) {
        let kind = kind(dependency);
        let is_ours = ROWS.iter().any(|row| row.name == kind);
        let allowed = row.may.contains(&kind) || (for_tests && row.tests_may.contains(&kind));
        if is_ours && !allowed {
            let whose = if for_tests { "the tests of " } else { "" };
            findings.push(Finding::new(path, 0, format!("{whose}`{name}` may not depend on `{dependency}`")));
        }
        if name == ENGINE && !for_tests && NOT_IN_ENGINE.contains(&dependency) {
            findings.push(Finding::new(
                path,
                0,
                format!("the engine does no IO: `{dependency}` does not belong here"),
            ));
        }
    }
    findings
}

/// The name of a crate in the rows.
fn kind(name: &str) -> &str {
    let inner = name.strip_prefix(DOOR.0).and_then(|rest| rest.strip_suffix(DOOR.1));
    if inner.is_some() { ANY_DOOR } else { name }
}

/// A line of a manifest.
pub(super) struct Dependency<'a> {
    /// What the package calls the crate.
    pub(super) key: &'a str,
    /// The crate's own name.
    pub(super) name: &'a str,
    pub(super) for_tests: bool,
}

/// The dependencies of a manifest.
pub(super) fn dependencies(manifest: &Table) -> Vec<Dependency<'_>> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = std::iter::once(manifest).chain(targets.filter_map(|(_, table)| table.as_table()));
    let mut found = Vec::new();
    for table in tables {
        for (section, for_tests) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let entries = table.get(section).and_then(Value::as_table).into_iter().flatten();
            found.extend(entries.map(|(key, value)| {
                let renamed = value.get("package").and_then(Value::as_str);
                Dependency { key, name: renamed.unwrap_or(key), for_tests }
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(name: &str, rest: &str, expected: &[&str]) {
        let text = format!("[package]\nname = \"{name}\"\n{rest}\n");
        let expected: Vec<String> = expected.iter().map(|line| format!("x/Cargo.toml:0 {line}")).collect();
        assert_eq!(found(rule, &[("x/Cargo.toml", &text)]), expected);
    }

    #[test]
    fn an_arrow_against_the_design_is_found() {
        check(PROVIDER, "[dependencies]\nparallel-llm-engine.workspace = true", &[]);
        let message = "`parallel-llm-provider` may not depend on `parallel-llm-store`";
        check(PROVIDER, "[dependencies]\nparallel-llm-store.workspace = true", &[message]);
        check(PROVIDER, "[dependencies.kept]\npackage = \"parallel-llm-store\"", &[message]);
        check(PROVIDER, "[target.'cfg(unix)'.dependencies]\nparallel-llm-store.workspace = true", &[message]);
        check(
            XTASK,
            "[dependencies]\nparallel-llm-mcp = {}",
            &["`xtask` may not depend on `parallel-llm-mcp`"],
        );
    }

    #[test]
    fn a_door_is_known_by_its_name_and_knows_no_other_door() {
        check("parallel-llm-new-door", "[dependencies]\nparallel-llm-service.workspace = true", &[]);
        check(PROGRAM, "[dependencies]\nparallel-llm-new-door = {}", &[]);
        let message = "`parallel-llm-new-door` may not depend on `parallel-llm-mcp-door`";
        check("parallel-llm-new-door", "[dependencies]\nparallel-llm-mcp-door = {}", &[message]);
        let message = "`parallel-llm-http` may not depend on `parallel-llm-mcp-door`";
        check(HTTP, "[dependencies]\nparallel-llm-mcp-door = {}", &[message]);
    }

    #[test]
    fn the_testkit_is_for_tests_only_and_the_simulator_stands_apart() {
        check(STORE, "[dev-dependencies]\nparallel-llm-testkit.workspace = true", &[]);
        let message = "`parallel-llm-store` may not depend on `parallel-llm-testkit`";
        check(STORE, "[dependencies]\nparallel-llm-testkit.workspace = true", &[message]);
        let message = "the tests of `parallel-llm-simulator` may not depend on `parallel-llm-engine`";
        check(SIMULATOR, "[dev-dependencies]\nparallel-llm-engine.workspace = true", &[message]);
    }

    #[test]
    fn the_engine_has_no_crate_for_io() {
        check(ENGINE, "[dependencies]\nserde.workspace = true\n[dev-dependencies]\nhttp = \"1\"", &[]);
        let message = "the engine does no IO: `reqwest` does not belong here";
        check(ENGINE, "[dependencies]\nreqwest = \"0.13\"", &[message]);
    }

    #[test]
    fn an_unknown_crate_is_found() {
        check("parallel-llm-new", "", &["`parallel-llm-new` has no row in xtask/src/tidy/crates.rs"]);
        let broken = found(rule, &[("x/Cargo.toml", "[package")]);
        assert!(broken[0].starts_with("x/Cargo.toml:0 does not parse"), "{broken:?}");
    }
}
