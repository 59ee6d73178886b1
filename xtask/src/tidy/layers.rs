//! The folders of a crate from the top to the bottom: each may reach for those below it, and for none above.

use super::Finding;
use super::modules::arrows;
use super::tree::Tree;

/// A crate whose folders have floors.
struct House {
    folder: &'static str,
    floors: &'static [&'static str],
}

const HOUSES: &[House] = &[
    House {
        folder: "crates/parallel-llm-engine",
        floors: &[
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
    House {
        folder: "crates/parallel-llm-service",
        floors: &[
            "services",
            "doctor",
            "import",
            "ask",
            "runs",
            "models",
            "attachment",
            "telemetry",
            "redaction",
            "access",
            "report",
            "ports",
            "lazy",
        ],
    },
];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    HOUSES.iter().flat_map(|house| upward(tree, house)).collect()
}

/// The arrows of one crate that do not go down.
fn upward(tree: &Tree, house: &House) -> Vec<Finding> {
    let floor = |name: &str| house.floors.iter().position(|folder| *folder == name);
    let mut findings = Vec::new();
    for arrow in arrows(tree, house.folder) {
        let text = match (floor(&arrow.from), floor(&arrow.to)) {
            (Some(from), Some(to)) if from < to => continue,
            (None, _) => format!("`{}` has no floor in `xtask/src/tidy/layers.rs`", arrow.from),
            (_, None) => format!("`{}` has no floor in `xtask/src/tidy/layers.rs`", arrow.to),
            _ => format!("`{}` lies below `{}` and may not reach for it", arrow.from, arrow.to),
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
        let path = |folder: &str| format!("{}/src/{folder}/x.rs", HOUSES[0].folder);
        let others = ["call", "run", "value", "misc"].map(path);
        let own = path(folder).replace("x.rs", "y.rs");
        let files = others.iter().map(|path| (path.as_str(), "")).chain([(own.as_str(), text)]);
        let expected: Vec<String> = expected.iter().map(|line| format!("{own}:{line}")).collect();
        assert_eq!(found(rule, &files.collect::<Vec<_>>()), expected);
    }

    #[test]
    fn an_arrow_that_goes_up_is_found() {
        check("run", "use crate::value::x; use crate::run::x;", &[]);
        check("run", "\nuse crate::call::x;", &["2 `run` lies below `call` and may not reach for it"]);
        check("misc", "use crate::call::x;", &["1 `misc` has no floor in `xtask/src/tidy/layers.rs`"]);
        check("call", "use crate::misc::x;", &["1 `misc` has no floor in `xtask/src/tidy/layers.rs`"]);
    }
}
