//! `cargo xtask tidy`: the rules of the repository that the compiler does not check. It is also a test.
//!
//! A rule is one file, one function from the repository's files to findings, and one line of [`RULES`]. Rules do no IO: the
//! files are read once into a [`tree::Tree`], and the tests of a rule make one in memory.

use crate::failure::Failure;
use crate::{repository, say};

mod constructors;
mod crates;
mod cycles;
mod doors;
mod functions;
mod headers;
mod imports;
mod layers;
mod lengths;
mod links;
mod lock;
mod marks;
pub(crate) mod measure;
mod migrations;
mod modules;
mod names;
mod pages;
mod purity;
mod seam;
mod strategies;
pub(crate) mod surface;
mod syntax;
mod tree;
mod unused;
mod words;

use tree::Tree;

/// A violation of a rule: its location, and what to do.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Finding {
    path: String,
    /// Counted from 1; 0 means the file as a whole.
    line: usize,
    text: String,
}

impl Finding {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[(&str, Rule)] = &[
    ("syntax", |tree| tree.unreadable.clone()),
    ("headers", headers::rule),
    ("crates", crates::rule),
    ("purity", purity::rule),
    ("seam", seam::rule),
    ("doors", doors::rule),
    ("constructors", constructors::rule),
    ("cycles", cycles::rule),
    ("layers", layers::rule),
    ("marks", marks::rule),
    ("names", names::rule),
    ("lengths", lengths::rule),
    ("strategies", strategies::rule),
    ("migrations", migrations::rule),
    ("links", links::rule),
    ("words", words::rule),
    ("pages", pages::rule),
    ("lock", lock::rule),
    ("unused", unused::rule),
];

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    if !words.is_empty() {
        return Err(Failure::new("`tidy` takes no words"));
    }
    let tree = Tree::read(repository::root())?;
    let findings = findings(&tree);
    for finding in &findings {
        say::line(finding);
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::new(format!("{count} findings; the rules are in xtask/src/tidy"))),
    }
}

/// The findings of all rules as lines of text.
fn findings(tree: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, rule) in RULES {
        let mut found = rule(tree);
        found.sort();
        lines.extend(found.into_iter().map(|Finding { path, line, text }| match line {
            0 => format!("{path}: {text} [{name}]"),
            _ => format!("{path}:{line}: {text} [{name}]"),
        }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_a_line_with_its_location_and_rule() {
        let tree = Tree::of(&[("crates/x/src/lib.rs", "fn main( {"), ("xtask/src/main.rs", "use a;\n")]);
        let lines = findings(&tree);
        assert!(lines[0].starts_with("crates/x/src/lib.rs:1: "), "{lines:?}");
        assert!(lines[0].ends_with(" [syntax]"), "{lines:?}");
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("xtask/src/main.rs:1: ") && line.ends_with(" [headers]"))
        );
    }
}
