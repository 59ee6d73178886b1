//! The engine does no IO: no file, no socket, no environment, no process, and no clock but the runtime's.
//!
//! [`super::crates`] checks its manifest; this rule checks the standard library, which needs no manifest.

use super::Finding;
use super::imports::Target;
use super::modules::all_imports;
use super::tree::Tree;

const ENGINE: &str = "crates/parallel-llm-engine";

/// Forbidden modules, each with its crate.
const OUTSIDE: &[[&str; 2]] = &[
    ["std", "env"],
    ["std", "fs"],
    ["std", "net"],
    ["std", "process"],
    ["std", "thread"],
    ["tokio", "fs"],
    ["tokio", "net"],
    ["tokio", "process"],
    ["tokio", "signal"],
];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let imports = all_imports(tree, ENGINE).into_iter();
    imports
        .filter_map(|(file, import)| {
            let Target::Other(words) = &import.target else { return None };
            let outside = OUTSIDE.iter().find(|path| words.len() > 1 && words[..2] == path[..])?;
            let text = format!("the engine does no IO: `{}` belongs behind a port", outside.join("::"));
            Some(Finding::new(&file.path, import.line, text))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn io_in_the_engine_is_found() {
        let path = "crates/parallel-llm-engine/src/plan.rs";
        assert_eq!(
            found(rule, &[(path, "use std::{fmt, fs};\nfn f() { tokio::net::lookup_host(\"x\"); }")]),
            [
                format!("{path}:1 the engine does no IO: `std::fs` belongs behind a port"),
                format!("{path}:2 the engine does no IO: `tokio::net` belongs behind a port"),
            ]
        );
        let elsewhere = ("crates/parallel-llm-store/src/lib.rs", "use std::fs;");
        let in_tests = (path, "use tokio::time; #[cfg(test)] mod tests { use std::fs; }");
        assert_eq!(found(rule, &[elsewhere, in_tests]), [""; 0]);
    }
}
