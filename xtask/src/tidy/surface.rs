//! Generates `docs/reference/library.txt`: every public item of the library with its signature, one a line.
//!
//! It is read from the sources, because the compiler prints the items of a crate only in its unstable JSON, and there not
//! those that the library re-exports from our other crates. What is followed: the library's public modules, its `pub use`
//! through our crates to the definition, and the methods and traits of each type. What a macro defines is a line without
//! its parts. Items of other people's crates are named and not described.

mod item;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::{Item, Visibility};

use self::item::describe;
use super::imports::used;
use super::modules::sources;
use super::syntax::only_tests;
use super::tree::{RustFile, Tree};
use crate::failure::Failure;

/// Where the page is.
pub(crate) const PATH: &str = "docs/reference/library.txt";
/// The package whose surface it is.
const LIBRARY: &str = "parallel-llm-mcp";
/// The prefix of our crates in paths.
const OURS: &str = "parallel_llm_";
/// The most steps from a re-export to the definition; longer ways go round in a circle.
const STEPS_MAX: usize = 16;

/// The page of the repository at `root`.
pub(crate) fn page(root: &Path) -> Result<String, Failure> {
    let tree = Tree::read(root)?;
    Ok(lines(&tree).into_iter().map(|line| line + "\n").collect())
}

/// The surface of the library in this tree, in order.
fn lines(tree: &Tree) -> BTreeSet<String> {
    let crates = Crates::new(tree);
    let mut surface = Surface { crates: &crates, lines: BTreeSet::new() };
    surface.module(LIBRARY, &[], LIBRARY_NAME);
    surface.lines
}

/// The library's name in code.
const LIBRARY_NAME: &str = "parallel_llm_mcp";

/// The files of our crates by module.
struct Crates<'a> {
    by_name: BTreeMap<String, BTreeMap<Vec<String>, &'a RustFile>>,
}

/// Where an item is defined.
struct Found<'a> {
    package: String,
    file: &'a RustFile,
    item: &'a Item,
}

impl<'a> Crates<'a> {
    fn new(tree: &'a Tree) -> Self {
        let manifests = tree.ending("/Cargo.toml").filter_map(|(path, _)| path.strip_suffix("/Cargo.toml"));
        let packages = manifests.filter_map(|folder| Some((folder, folder.strip_prefix("crates/")?)));
        let read = |(folder, name): (&str, &str)| {
            let files = sources(tree, folder).into_iter();
            // The root of a binary is another crate.
            let files = files.filter(|(file, _)| !file.path.ends_with("/src/main.rs"));
            let files = files.map(|(file, module)| (module, file));
            (name.to_owned(), files.collect())
        };
        Self { by_name: packages.map(read).collect() }
    }

    fn file(&self, package: &str, module: &[String]) -> Option<&'a RustFile> {
        self.by_name.get(package)?.get(module).copied()
    }

    /// Every file of a package.
    fn files(&self, package: &str) -> impl Iterator<Item = &'a RustFile> {
        self.by_name.get(package).into_iter().flat_map(|files| files.values().copied())
    }

    /// The definition of a path in a module, through any number of `use`; `None` for what is not ours or not an item.
    fn find(&self, package: &str, module: &[String], path: &[String], steps: usize) -> Option<Found<'a>> {
        let (first, rest) = path.split_first()?;
        let steps = steps.checked_sub(1)?;
        if let Some(name) = first.strip_prefix(OURS) {
            return self.find(&format!("parallel-llm-{}", name.replace('_', "-")), &[], rest, steps);
        }
        match first.as_str() {
            "crate" => return self.find(package, &[], rest, steps),
            "self" => return self.find(package, module, rest, steps),
            "super" => return self.find(package, module.split_last()?.1, rest, steps),
            _ => {}
        }
        let inner = [module, std::slice::from_ref(first)].concat();
        if !rest.is_empty() && self.file(package, &inner).is_some() {
            return self.find(package, &inner, rest, steps);
        }
        let file = self.file(package, module)?;
        let mut items = file.syntax.items.iter().filter(|_| rest.is_empty());
        if let Some(item) = items.find(|item| item::name(item).is_some_and(|name| name == first)) {
            return Some(Found { package: package.to_owned(), file, item });
        }
        let uses = file.syntax.items.iter().filter_map(|item| match item {
            Item::Use(item) => Some(item),
            _ => None,
        });
        let mut imported = uses.flat_map(used).filter(|(_, name, _)| name == first);
        imported.find_map(|(words, _, _)| {
            let whole = [words.as_slice(), rest].concat();
            (whole != path).then(|| self.find(package, module, &whole, steps))?
        })
    }
}

/// The lines so far.
struct Surface<'a> {
    crates: &'a Crates<'a>,
    lines: BTreeSet<String>,
}

impl Surface<'_> {
    /// Adds the public items of a module; `path` is how a user names it.
    fn module(&mut self, package: &str, module: &[String], path: &str) {
        let Some(file) = self.crates.file(package, module) else { return };
        for item in &file.syntax.items {
            if !is_public(item) || only_tests(super::syntax::attributes(item)) {
                continue;
            }
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let (inner, path) =
                        ([module, std::slice::from_ref(&name)].concat(), format!("{path}::{name}"));
                    self.lines.insert(format!("mod {path}"));
                    self.module(package, &inner, &path);
                }
                Item::Use(item) => {
                    for (words, name, _) in used(item) {
                        self.reexport(package, module, &words, &format!("{path}::{name}"));
                    }
                }
                item => self.item(&Found { package: package.to_owned(), file, item }, path),
            }
        }
    }

    /// Adds what a `pub use` names.
    fn reexport(&mut self, package: &str, module: &[String], words: &[String], path: &str) {
        let (outer, _) = path.rsplit_once("::").unwrap_or((path, ""));
        match self.crates.find(package, module, words, STEPS_MAX) {
            Some(found) => self.item(&found, outer),
            None => drop(self.lines.insert(format!("use {} as {path}", words.join("::")))),
        }
    }

    /// Adds an item below `path`, with the methods and traits of a type.
    fn item(&mut self, found: &Found<'_>, path: &str) {
        let Some(name) = item::name(found.item) else { return };
        self.lines.extend(describe(found.file, found.item, path));
        if !matches!(found.item, Item::Struct(_) | Item::Enum(_) | Item::Type(_)) {
            return;
        }
        for file in self.crates.files(&found.package) {
            let impls = file.syntax.items.iter().filter_map(|item| match item {
                Item::Impl(item) if !only_tests(&item.attrs) => Some(item),
                _ => None,
            });
            for of_type in impls.filter(|item| item::self_name(item).is_some_and(|it| it == name)) {
                self.lines.extend(item::described_impl(file, of_type, &format!("{path}::{name}")));
            }
        }
    }
}

fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Mod(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Use(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The surface of a library with this root and these further files.
    fn check(root: &str, others: &[(&str, &str)], expected: &[&str]) {
        let manifest = ("crates/parallel-llm-mcp/Cargo.toml", "");
        let engine = ("crates/parallel-llm-engine/Cargo.toml", "");
        let files = [&[manifest, engine, ("crates/parallel-llm-mcp/src/lib.rs", root)], others].concat();
        let found: Vec<String> = lines(&Tree::of(&files)).into_iter().collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn public_items_are_listed_with_their_signatures() {
        check(
            "pub mod a;\nmod hidden;\npub use hidden::Kept;\npub const TEN: u32 = 10;\npub type Short = Vec<u8>;",
            &[
                (
                    "crates/parallel-llm-mcp/src/a.rs",
                    "pub fn long(\n    one: u8, // why\n    two: impl Into<String>,\n) -> bool { true }\nfn own() {}",
                ),
                (
                    "crates/parallel-llm-mcp/src/hidden.rs",
                    "/// Kept.\n#[derive(Clone, Debug)]\n#[non_exhaustive]\npub struct Kept<T> {\n    /// Shown.\n    pub shown: T,\n    own: u8,\n}\nimpl<T> Kept<T> {\n    pub fn new() -> Self { todo!() }\n    fn own(&self) {}\n}\nimpl<T> Drop for Kept<T> { fn drop(&mut self) {} }",
                ),
            ],
            &[
                "#[derive(Clone)] parallel_llm_mcp::Kept",
                "#[derive(Debug)] parallel_llm_mcp::Kept",
                "#[non_exhaustive] parallel_llm_mcp::Kept",
                "const parallel_llm_mcp::TEN: u32",
                "field parallel_llm_mcp::Kept::shown: T",
                "fn parallel_llm_mcp::Kept::new() -> Self",
                "fn parallel_llm_mcp::a::long(one: u8, two: impl Into<String>) -> bool",
                "impl Drop for parallel_llm_mcp::Kept",
                "mod parallel_llm_mcp::a",
                "struct parallel_llm_mcp::Kept<T>",
                "type parallel_llm_mcp::Short = Vec<u8>",
            ],
        );
    }

    #[test]
    fn a_re_export_is_followed_to_its_definition() {
        check(
            "pub use parallel_llm_engine::{Code, Port as Door, Shape};\npub use serde::Serialize;",
            &[
                (
                    "crates/parallel-llm-engine/src/lib.rs",
                    "mod value;\npub use value::inner::{Port, Shape};\nmake! { Code }",
                ),
                ("crates/parallel-llm-engine/src/value/mod.rs", "pub mod inner;"),
                (
                    "crates/parallel-llm-engine/src/value/inner.rs",
                    "pub trait Port: Send {\n    fn call(&self) -> u8;\n    fn usual(&self) {}\n}\npub enum Shape {\n    /// One.\n    One,\n    Two { side: u8 },\n    Three(u8, u8),\n}",
                ),
            ],
            &[
                "enum parallel_llm_mcp::Shape",
                "fn parallel_llm_mcp::Port::call(&self) -> u8",
                "fn parallel_llm_mcp::Port::usual(&self), with a body",
                "trait parallel_llm_mcp::Port: Send",
                "use parallel_llm_engine::Code as parallel_llm_mcp::Code",
                "use serde::Serialize as parallel_llm_mcp::Serialize",
                "variant parallel_llm_mcp::Shape::One",
                "variant parallel_llm_mcp::Shape::Three(u8, u8)",
                "variant parallel_llm_mcp::Shape::Two { side: u8 }",
            ],
        );
    }
}
