//! The layers of a crate: a folder may import the folders below it, and none above.

use super::Finding;
use super::modules::arrows;
use super::tree::Tree;

/// A crate whose top-level modules are layers.
struct LayeredCrate {
    folder: &'static str,
    /// From top to bottom.
    layers: &'static [&'static str],
}

const CRATES: &[LayeredCrate] = &[
    LayeredCrate {
        folder: "crates/parallel-llm-engine",
        layers: &[
            "engine",
            "strategy",
            "panel",
            "call",
            "port",
            "run",
            "plan",
            "prompt",
            "agreement",
            "request",
            "text",
            "value",
        ],
    },
    LayeredCrate {
        folder: "crates/parallel-llm-service",
        layers: &[
            "services",
            "doctor",
            "readiness",
            "batch",
            "ask",
            "runs",
            "models",
            "attachment",
            "telemetry",
            "redaction",
            "access",
            "report",
            "recursion",
            "ports",
            "lazy",
        ],
    },
];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    CRATES.iter().flat_map(|layered| upward(tree, layered)).collect()
}

/// The arrows of one crate that do not point downward.
fn upward(tree: &Tree, layered: &LayeredCrate) -> Vec<Finding> {
    let layer = |name: &str| layered.layers.iter().position(|folder| *folder == name);
    let mut findings = Vec::new();
    for arrow in arrows(tree, layered.folder) {
        let text = match (layer(&arrow.from), layer(&arrow.to)) {
            (Some(from), Some(to)) if from < to => continue,
            (None, _) => format!("`{}` has no layer in `xtask/src/tidy/layers.rs`", arrow.from),
            (_, None) => format!("`{}` has no layer in `xtask/src/tidy/layers.rs`", arrow.to),
            _ => format!("`{}` is below `{}` and may not import it", arrow.from, arrow.to),
        };
        findings.push(Finding::new(&arrow.path, arrow.line, text));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(folder: &str, text: &str, expected: &[&str]) {
        let path = |folder: &str| format!("{}/src/{folder}/x.rs", CRATES[0].folder);
        let others = ["call", "run", "value", "misc"].map(path);
        let own = path(folder).replace("x.rs", "y.rs");
        let files = others.iter().map(|path| (path.as_str(), "")).chain([(own.as_str(), text)]);
        let expected: Vec<String> = expected.iter().map(|line| format!("{own}:{line}")).collect();
        assert_eq!(found(rule, &files.collect::<Vec<_>>()), expected);
    }

    #[test]
    fn an_arrow_that_points_up_is_found() {
        check("run", "use crate::value::x; use crate::run::x;", &[]);
        check("run", "\nuse crate::call::x;", &["2 `run` is below `call` and may not import it"]);
        check("misc", "use crate::call::x;", &["1 `misc` has no layer in `xtask/src/tidy/layers.rs`"]);
        check("call", "use crate::misc::x;", &["1 `misc` has no layer in `xtask/src/tidy/layers.rs`"]);
    }
}
