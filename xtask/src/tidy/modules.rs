//! The imports between the top-level modules of a package, for the rules about their direction.
//!
//! The root (`lib.rs`, `main.rs`) does not count as a module: it declares the others, so it may import all of them. A name that
//! the root re-exports counts as the module it comes from.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::imports::{Import, Target, imports, used};
use super::syntax::only_tests;
use super::tree::{RustFile, Tree};

/// An import of one module by another, with a location.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Arrow {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) path: String,
    pub(super) line: usize,
}

/// The arrows between the top-level modules of the package in `folder`, without tests.
pub(super) fn arrows(tree: &Tree, folder: &str) -> Vec<Arrow> {
    let files = sources(tree, folder);
    let origins = origins(&files);
    let mut arrows = Vec::new();
    for (file, module) in &files {
        for import in imports(&file.syntax, module) {
            let Target::Ours(words) = &import.target else { continue };
            let Some(from) = import.by.first() else { continue };
            if let Some(to) = origins.get(words[0].as_str()).filter(|to| *to != from) {
                let (from, to, path) = (from.clone(), to.clone(), file.path.clone());
                arrows.push(Arrow { from, to, path, line: import.line });
            }
        }
    }
    arrows.sort();
    arrows
}

/// The arrows between modules of the same folder below the top level, without tests. A name that the folder's own root
/// re-exports counts as the root's, which may import all of them.
pub(super) fn inner_arrows(tree: &Tree, folder: &str) -> Vec<Arrow> {
    let files = sources(tree, folder);
    let known: BTreeSet<&[String]> = files.iter().map(|(_, module)| module.as_slice()).collect();
    let mut arrows = Vec::new();
    for (file, module) in &files {
        for import in imports(&file.syntax, module) {
            let Target::Ours(words) = &import.target else { continue };
            let shared = import.by.iter().zip(words).take_while(|(by, word)| by == word).count();
            let (Some(from), Some(to)) = (import.by.get(..=shared), words.get(..=shared)) else { continue };
            if shared > 0 && known.contains(to) {
                let (from, to) = (from.join("::"), to.join("::"));
                arrows.push(Arrow { from, to, path: file.path.clone(), line: import.line });
            }
        }
    }
    arrows.sort();
    arrows
}

/// All imports of the package in `folder` outside its tests, each with its file.
pub(super) fn all_imports<'a>(tree: &'a Tree, folder: &str) -> Vec<(&'a RustFile, Import)> {
    let files = sources(tree, folder).into_iter();
    files
        .flat_map(|(file, module)| imports(&file.syntax, &module).into_iter().map(move |it| (file, it)))
        .collect()
}

/// The source files of a package with their modules, without files for tests.
pub(super) fn sources<'a>(tree: &'a Tree, folder: &str) -> Vec<(&'a RustFile, Vec<String>)> {
    let prefix = format!("{folder}/src/");
    let files: Vec<(&RustFile, Vec<String>)> =
        tree.rust.iter().filter_map(|file| Some((file, module(file.path.strip_prefix(&prefix)?)?))).collect();
    let tests: BTreeSet<Vec<String>> =
        files.iter().flat_map(|(file, module)| test_modules(file, module)).collect();
    let is_test = |module: &[String]| (1..=module.len()).any(|end| tests.contains(&module[..end]));
    files.into_iter().filter(|(_, module)| !is_test(module)).collect()
}

/// The module of a source file, from its path under `src`; `None` for a further binary, which is a crate of its own.
fn module(path: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = path.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    match words.last()?.as_str() {
        "mod" => drop(words.pop()),
        "lib" | "main" if words.len() == 1 => words.clear(),
        _ => {}
    }
    (words.first().is_none_or(|first| first != "bin")).then_some(words)
}

/// The modules with files of their own that `file` declares only for tests.
fn test_modules(file: &RustFile, module: &[String]) -> Vec<Vec<String>> {
    let declared = file.syntax.items.iter().filter_map(|item| match item {
        Item::Mod(item) if only_tests(&item.attrs) => Some(item.ident.to_string()),
        _ => None,
    });
    declared.map(|name| [module, &[name]].concat()).collect()
}

/// The top-level module by the first word after `crate::`, which is its name or a name that the root re-exports.
fn origins(files: &[(&RustFile, Vec<String>)]) -> BTreeMap<String, String> {
    let modules: BTreeSet<&String> = files.iter().filter_map(|(_, module)| module.first()).collect();
    let mut origins: BTreeMap<String, String> =
        modules.iter().map(|name| ((*name).clone(), (*name).clone())).collect();
    let roots = files.iter().filter(|(_, module)| module.is_empty());
    for item in roots.flat_map(|(file, _)| &file.syntax.items) {
        let Item::Use(item) = item else { continue };
        for (words, name, _) in used(item) {
            let origin = words.iter().find(|word| !matches!(word.as_str(), "crate" | "self"));
            if let Some(origin) = origin.filter(|origin| modules.contains(origin)) {
                origins.entry(name).or_insert_with(|| origin.clone());
            }
        }
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("a/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let shown = arrows(&Tree::of(&files), "a").into_iter();
        let shown: Vec<String> =
            shown.map(|it| format!("{} → {} {}:{}", it.from, it.to, it.path, it.line)).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn arrows_run_between_top_level_modules() {
        let plan = ("plan.rs", "");
        check(&[plan, ("seat/mod.rs", "use crate::plan::Plan;")], &["seat → plan a/src/seat/mod.rs:1"]);
        check(&[plan, ("seat/wait.rs", "\nuse super::super::plan;")], &["seat → plan a/src/seat/wait.rs:2"]);
        check(&[plan, ("plan/part.rs", "use crate::plan::Plan; use super::Other;")], &[]);
    }

    #[test]
    fn the_root_may_import_anything_and_its_re_exports_count_as_their_origin() {
        let root = ("lib.rs", "mod plan; pub use plan::Plan; pub use crate::seat::Seat as Chair;");
        let files = [root, ("plan.rs", "use crate::Chair;"), ("seat.rs", "use crate::{Plan, plan};")];
        let found =
            ["plan → seat a/src/plan.rs:1", "seat → plan a/src/seat.rs:1", "seat → plan a/src/seat.rs:1"];
        check(&files, &found);
    }

    #[test]
    fn tests_and_further_binaries_are_left_out() {
        let files = [
            ("lib.rs", "#[cfg(test)] mod story; mod plan; mod seat;"),
            ("story.rs", "use crate::plan;"),
            ("bin/tool.rs", "use crate::plan;"),
            ("plan.rs", ""),
            ("seat.rs", "#[cfg(test)] mod tests;"),
            ("seat/tests.rs", "use crate::plan;"),
        ];
        check(&files, &[]);
    }
}
