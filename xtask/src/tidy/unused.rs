//! Each dependency that a manifest names is used by its package.

use toml::Table;

use super::Finding;
use super::crates::{Dependency, dependencies};
use super::tree::Tree;

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let manifests =
        tree.ending("/Cargo.toml").filter_map(|(path, text)| Some((path, text.parse::<Table>().ok()?)));
    manifests.flat_map(|(path, manifest)| unused(tree, path, &manifest)).collect()
}

fn unused(tree: &Tree, path: &str, manifest: &Table) -> Vec<Finding> {
    let folder = path.trim_end_matches("Cargo.toml");
    let dependencies = dependencies(manifest).into_iter();
    let unused = dependencies.filter(|Dependency { key, .. }| {
        let name = key.replace('-', "_");
        !tree
            .ending(".rs")
            .any(|(path, text)| path.starts_with(folder) && text.lines().any(|line| uses(line, &name)))
    });
    unused.map(|Dependency { key, .. }| Finding::new(path, 0, format!("`{key}` is not used"))).collect()
}

/// Whether a line of code has a path into the crate, or imports it whole.
fn uses(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("//") {
        return false;
    }
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let begins = !before.ends_with(is_word) && !before.ends_with(['.', '"']);
        let is_imported = before.ends_with("use ") && after.starts_with([';', ' ']);
        begins && (after.starts_with("::") || is_imported)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_dependency_without_use_is_found() {
        let manifest = "[dependencies]\nmem-chr.workspace = true\nserde = { package = \"other\" }\nzip = \"1\"\n\
                        [dev-dependencies]\ninsta = \"1\"\n";
        let code = "// mem_chr::find is quick.\nuse serde::Serialize;\nfn gzip() { gzip::zip.zip() }\n";
        let files = [("a/Cargo.toml", manifest), ("a/src/lib.rs", code), ("a/tests/t.rs", "use insta;")];
        let unused = ["a/Cargo.toml:0 `mem-chr` is not used", "a/Cargo.toml:0 `zip` is not used"];
        assert_eq!(found(rule, &files), unused);
        let elsewhere =
            [files[0], ("b/src/lib.rs", "use mem_chr::find; use zip as z; use serde; use insta;")];
        assert_eq!(found(rule, &elsewhere).len(), 4);
    }
}
