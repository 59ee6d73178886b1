//! A crate has one type of each name, so that a name identifies its type.
//!
//! Types of the same name in one file are allowed: they are alternatives for different systems, or local to functions. Tests and
//! further binaries are not checked.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;
use syn::visit::{self, Visit};

use super::Finding;
use super::modules::sources;
use super::syntax::{attributes, only_tests};
use super::tree::Tree;

/// The file that chooses between databases, and the folders with the same types for each of them: a name means the same in all.
const SEAM: &str = "crates/parallel-llm-store/src/database/interface.rs";
const DATABASES: [&str; 2] =
    ["crates/parallel-llm-store/src/database/sqlite/", "crates/parallel-llm-store/src/database/postgres/"];

/// Names that still have several types, by package. The list may only shrink.
const REMAINING: &[(&str, &[&str])] = &[];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    tree.packages().into_iter().flat_map(|folder| judged(tree, folder, remaining(folder))).collect()
}

fn remaining(folder: &str) -> &'static [&'static str] {
    REMAINING.iter().find(|(package, _)| *package == folder).map_or(&[], |(_, names)| names)
}

fn judged(tree: &Tree, folder: &str, remaining: &[&str]) -> Vec<Finding> {
    let mut locations: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for (file, _) in sources(tree, folder) {
        for (name, line) in types(&file.syntax) {
            let is_of_database = DATABASES.iter().any(|folder| file.path.starts_with(folder));
            let path = if is_of_database { SEAM } else { &*file.path };
            locations.entry(name).or_default().entry(path).or_insert(line);
        }
    }
    locations.retain(|_, files| files.len() > 1);
    let mut findings = Vec::new();
    for (name, files) in locations.iter().filter(|(name, _)| !remaining.contains(&name.as_str())) {
        let (path, line) = files.last_key_value().expect("there are several");
        let others: BTreeSet<&str> = files.keys().copied().filter(|other| other != path).collect();
        let others = Vec::from_iter(others).join(", ");
        findings.push(Finding::new(path, *line, format!("`{name}` is also a type in {others}")));
    }
    for name in remaining.iter().filter(|name| !locations.contains_key(**name)) {
        let text = format!("`{name}` is one type now: remove it from the list in xtask/src/tidy/names.rs");
        findings.push(Finding::new(folder, 0, text));
    }
    findings
}

/// The types of a file with their lines, without those for tests.
fn types(file: &syn::File) -> Vec<(String, usize)> {
    let mut visitor = Types(Vec::new());
    visitor.visit_file(file);
    visitor.0
}

struct Types(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Types {
    fn visit_item(&mut self, item: &'ast Item) {
        if only_tests(attributes(item)) {
            return;
        }
        let ident = match item {
            Item::Enum(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.0.extend(ident.map(|ident| (ident.to_string(), ident.span().start().line)));
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], remaining: &[&str], expected: &[&str]) {
        let manifest = ("a/Cargo.toml", "");
        let files: Vec<(&str, &str)> = files.iter().copied().chain([manifest]).collect();
        let shown = judged(&Tree::of(&files), "a", remaining).into_iter();
        let shown: Vec<String> = shown.map(|it| format!("{}:{} {}", it.path, it.line, it.text)).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_second_type_of_a_name_is_found() {
        let one = ("a/src/one.rs", "struct Place;");
        let two = ("a/src/two.rs", "\nfn f() { enum Place { Here } }");
        let message = "a/src/two.rs:2 `Place` is also a type in a/src/one.rs";
        check(&[one, two], &[], &[message]);
        check(&[one, two], &["Place"], &[]);
        check(&[("a/src/one.rs", "#[cfg(unix)] struct Place; #[cfg(windows)] type Place = u8;")], &[], &[]);
        let quiet = "#[cfg(test)] mod tests { struct Place; } impl T for X { type Place = u8; }";
        check(&[one, ("a/src/two.rs", quiet), ("a/src/bin/x.rs", "struct Place;")], &[], &[]);
    }

    #[test]
    fn a_fixed_name_must_leave_the_list() {
        let message = "a:0 `Place` is one type now: remove it from the list in xtask/src/tidy/names.rs";
        check(&[("a/src/one.rs", "struct Place;")], &["Place"], &[message]);
    }
}
