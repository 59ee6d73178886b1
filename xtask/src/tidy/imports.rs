//! The imports of a Rust file: the paths in `use`, in code and inside macros.
//!
//! Names are not resolved as by a compiler. A path that begins with `crate`, `self` or `super` is resolved against the file's
//! module; any other is kept as written, so that a rule can compare its first word with the name of a crate.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ImplItem, Item, ItemMod, ItemUse, Macro, Path, UseTree, Visibility};

use super::syntax::{attributes, impl_attributes, only_tests};

/// A path, with its line and the module that names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Import {
    /// The module that names it, including inline modules; empty for the root.
    pub(super) by: Vec<String>,
    pub(super) target: Target,
    pub(super) line: usize,
}

/// The target of a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Target {
    /// A path in this crate, from its root.
    Ours(Vec<String>),
    /// A path as written: in another crate, or from a name in scope.
    Other(Vec<String>),
}

/// The paths of two or more words that `file` names outside its tests. `module` is the module of the file.
pub(super) fn imports(file: &syn::File, module: &[String]) -> Vec<Import> {
    let mut visitor = Imports { module: module.to_vec(), found: Vec::new() };
    visitor.visit_file(file);
    visitor.found
}

/// The paths of a `use` item, each with the name it introduces and its line.
pub(super) fn used(item: &ItemUse) -> Vec<(Vec<String>, String, usize)> {
    let mut found = Vec::new();
    flatten(&item.tree, &mut Vec::new(), &mut found);
    found
}

struct Imports {
    module: Vec<String>,
    found: Vec<Import>,
}

impl Imports {
    fn add(&mut self, words: Vec<String>, line: usize) {
        if let Some(target) = resolve(words, &self.module) {
            self.found.push(Import { by: self.module.clone(), target, line });
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item(&mut self, item: &'ast Item) {
        if !only_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !only_tests(impl_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for (words, _, line) in used(item) {
            self.add(words, line);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if let Some(first) = path.segments.first() {
            let words = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add(words, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        visit::visit_macro(self, invocation);
        for (words, line) in paths_in(invocation.tokens.clone()) {
            self.add(words, line);
        }
    }

    /// `pub(in crate::x)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// The target of `words` in `module`; `None` for a single word, or if `super` leaves the crate.
fn resolve(words: Vec<String>, module: &[String]) -> Option<Target> {
    let (mut from, mut rest) = match words.first()?.as_str() {
        "crate" => (Vec::new(), &words[1..]),
        "self" | "super" => (module.to_vec(), &words[..]),
        _ => return (words.len() > 1).then_some(Target::Other(words)),
    };
    while let Some(word) = rest.first() {
        match word.as_str() {
            "self" => {}
            "super" => drop(from.pop()?),
            _ => break,
        }
        rest = &rest[1..];
    }
    if rest.is_empty() {
        return None;
    }
    from.extend_from_slice(rest);
    Some(Target::Ours(from))
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, found: &mut Vec<(Vec<String>, String, usize)>) {
    let mut leaf = |ident: &proc_macro2::Ident, name: String| {
        let line = ident.span().start().line;
        let mut words = before.clone();
        // `use a::b::{self}` names `b` itself.
        if ident != "self" || words.is_empty() {
            words.push(ident.to_string());
        }
        found.push((words, name, line));
    };
    match tree {
        UseTree::Name(name) => leaf(&name.ident, name.ident.to_string()),
        UseTree::Rename(rename) => leaf(&rename.ident, rename.rename.to_string()),
        UseTree::Glob(glob) => {
            let line = glob.star_token.span.start().line;
            found.push(([before.as_slice(), &["*".to_owned()]].concat(), "*".to_owned(), line));
        }
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, found);
            }
        }
    }
}

/// The paths in the tokens of a macro, which are not parsed: words joined by `::`.
fn paths_in(tokens: TokenStream) -> Vec<(Vec<String>, usize)> {
    let mut found = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut line = 0;
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Punct(point) if point.as_char() == ':' => colons += 1,
            TokenTree::Ident(ident) if colons == 2 && !words.is_empty() => {
                words.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Ident(ident) => {
                found.push((std::mem::take(&mut words), line));
                line = ident.span().start().line;
                words.push(ident.to_string());
                colons = 0;
            }
            other => {
                found.push((std::mem::take(&mut words), line));
                colons = 0;
                if let TokenTree::Group(group) = other {
                    found.extend(paths_in(group.stream()));
                }
            }
        }
    }
    found.push((words, line));
    found.retain(|(words, _)| words.len() > 1);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the imports of a file in module `a::b`; paths in the crate begin with `crate`.
    fn check(code: &str, expected: &[&str]) {
        let module = ["a".to_owned(), "b".to_owned()];
        let shown: Vec<String> = imports(&syn::parse_file(code).unwrap(), &module)
            .into_iter()
            .map(|import| match import.target {
                Target::Ours(words) => format!("crate::{}", words.join("::")),
                Target::Other(words) => words.join("::"),
            })
            .collect();
        assert_eq!(shown, expected, "{code}");
    }

    #[test]
    fn use_items_are_flattened() {
        check("use crate::{c, d::{self, E as F}};", &["crate::c", "crate::d", "crate::d::E"]);
        check(
            "use super::c; use self::d::*; use super::super::e::F;",
            &["crate::a::c", "crate::a::b::d::*", "crate::e::F"],
        );
        check("use std::{fs, io::Read};", &["std::fs", "std::io::Read"]);
        check("use super::super::super::nowhere;", &[]);
        check("mod inner { use super::super::c; }", &["crate::a::c"]);
    }

    #[test]
    fn paths_in_code_types_and_macros_are_seen() {
        check("fn f() -> crate::c::D { crate::e::g() }", &["crate::c::D", "crate::e::g"]);
        check(
            "fn f() { info!(\"{}\", crate::c::d(super::x::Y { z: 1 })); }",
            &["crate::c::d", "crate::a::x::Y"],
        );
        check("macro_rules! m { () => { $crate::c::d() } }", &["crate::c::d"]);
        check("fn f(x: &dyn Fn(crate::c::D)) { x::<crate::e::G>() }", &["crate::c::D", "crate::e::G"]);
    }

    #[test]
    fn tests_and_visibility_import_nothing() {
        check("#[cfg(test)] mod tests { use crate::c; }", &[]);
        check("#[test] fn works() { crate::c::d(); }", &[]);
        check("impl X { #[cfg(test)] fn sample() { crate::c::d() } }", &[]);
        check("pub(in crate::a) fn f() {}", &[]);
    }
}
