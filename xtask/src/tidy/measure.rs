//! `cargo xtask measure [ROOT]`: a table of counts for each package, without a verdict.
//!
//! Limits are rules of tidy; this table shows trends. With a root, it counts another checkout, to compare before and after by
//! the same rules. Except for `test lines`, tests are not counted. `layers` is the length of the longest chain of top-level
//! modules that import each other, and `in cycles` the number of arrows between modules that import each other both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{ImplItem, Item, Visibility};

use super::functions::{Function, functions};
use super::lengths::PARAMETERS_MAX;
use super::modules::arrows;
use super::syntax::{attributes, impl_attributes, is_test_file, only_tests};
use super::tree::{RustFile, Tree};
use crate::failure::Failure;
use crate::{repository, say};

/// A function with fewer lines of code counts as short.
const SHORT_LINES: usize = 6;

const HEAD: &str = "\
| package | files | lines | test lines | `///` % | `//` % | fn p50/p95/max | fn < 6 % | > 5 args | tuple args | clones/1,000 | public | modules | arrows | layers | in cycles |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let root = match words {
        [] => repository::root(),
        [root] => Path::new(root),
        _ => return Err(Failure::new("`measure` takes at most the root of a checkout")),
    };
    say::line(&table(&Tree::read(root)?));
    Ok(())
}

/// The table, with a line for each package and one for all.
fn table(tree: &Tree) -> String {
    let mut text = HEAD.to_owned();
    let mut sum = Counts::default();
    for folder in tree.packages() {
        let counts = count(tree, folder);
        text.push('\n');
        text.push_str(&counts.line(folder.trim_start_matches("crates/parallel-llm-")));
        sum.add(counts);
    }
    text.push('\n');
    text.push_str(&sum.line("all"));
    text
}

/// The counts of one package.
#[derive(Debug, Default)]
struct Counts {
    files: usize,
    lines: usize,
    test_lines: usize,
    doc_lines: usize,
    /// Lines with a `//` comment.
    comment_lines: usize,
    clones: usize,
    functions: Vec<Function>,
    public_items: usize,
    shape: Shape,
}

/// The imports between the top-level modules of a package.
#[derive(Debug, Default, PartialEq)]
struct Shape {
    modules: usize,
    arrows: usize,
    layers: usize,
    in_cycles: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.test_lines += other.test_lines;
        self.doc_lines += other.doc_lines;
        self.comment_lines += other.comment_lines;
        self.clones += other.clones;
        self.functions.extend(other.functions);
        self.public_items += other.public_items;
        self.shape.modules += other.shape.modules;
        self.shape.arrows += other.shape.arrows;
        self.shape.layers = self.shape.layers.max(other.shape.layers);
        self.shape.in_cycles += other.shape.in_cycles;
    }

    fn line(&self, name: &str) -> String {
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        let mut lengths: Vec<usize> = self.functions.iter().map(|function| function.lines).collect();
        lengths.sort_unstable();
        let short = lengths.iter().filter(|lines| **lines < SHORT_LINES).count();
        let many = |function: &&Function| function.parameters.is_some_and(|count| count > PARAMETERS_MAX);
        let cells = [
            name.to_owned(),
            self.files.to_string(),
            self.lines.to_string(),
            self.test_lines.to_string(),
            format!("{:.0}", 100.0 * share(self.doc_lines, self.lines)),
            format!("{:.1}", 100.0 * share(self.comment_lines, self.lines)),
            [50, 95, 100].map(|part| percentile(&lengths, part).to_string()).join("/"),
            format!("{:.0}", 100.0 * share(short, lengths.len())),
            self.functions.iter().filter(many).count().to_string(),
            self.functions.iter().map(|function| function.tuples).sum::<usize>().to_string(),
            format!("{:.1}", 1000.0 * share(self.clones, self.lines)),
            self.public_items.to_string(),
            self.shape.modules.to_string(),
            self.shape.arrows.to_string(),
            self.shape.layers.to_string(),
            self.shape.in_cycles.to_string(),
        ];
        format!("| {} |", cells.join(" | "))
    }
}

fn count(tree: &Tree, folder: &str) -> Counts {
    let inside = format!("{folder}/");
    let mut counts = Counts { shape: shape(tree, folder), ..Counts::default() };
    for file in tree.rust.iter().filter(|file| file.path.starts_with(&inside)) {
        if !is_test_file(&file.path) {
            counts.files += 1;
            counts.public_items += public_items(&file.syntax);
            counts.functions.extend(functions(file).into_iter().filter(|function| !function.for_tests));
        }
        for (line, for_tests) in file.text.lines().zip(test_lines(file)) {
            if for_tests {
                counts.test_lines += 1;
                continue;
            }
            let line = line.trim_start();
            let is_doc = line.starts_with("///") || line.starts_with("//!");
            counts.lines += 1;
            counts.doc_lines += usize::from(is_doc);
            counts.comment_lines += usize::from(!is_doc && (line.starts_with("//") || line.contains(" // ")));
            counts.clones += line.matches(".clone()").count();
        }
    }
    counts
}

/// For each line of the file, whether it is compiled for tests only.
fn test_lines(file: &RustFile) -> Vec<bool> {
    let mut lines = vec![is_test_file(&file.path); file.text.lines().count()];
    for item in file.syntax.items.iter().filter(|item| only_tests(attributes(item))) {
        if let (syn::Item::Mod(syn::ItemMod { content: Some((brace, _)), mod_token, .. }), attributes) =
            (item, attributes(item))
        {
            let first = attributes.first().map_or(mod_token.span, |attribute| attribute.pound_token.span);
            let last = brace.span.close().end().line;
            lines[first.start().line - 1..last].fill(true);
        }
    }
    lines
}

/// The smallest of the sorted `values` that is not exceeded by `share` percent of them; 0 if there are none.
fn percentile(values: &[usize], share: usize) -> usize {
    let place = (values.len() * share).div_ceil(100).saturating_sub(1);
    values.get(place).copied().unwrap_or(0)
}

/// The number of `pub` items and methods outside tests, without re-exports and modules.
fn public_items(file: &syn::File) -> usize {
    let mut visitor = PublicItems(0);
    visitor.visit_file(file);
    visitor.0
}

struct PublicItems(usize);

impl<'ast> Visit<'ast> for PublicItems {
    fn visit_item(&mut self, item: &'ast Item) {
        if only_tests(attributes(item)) {
            return;
        }
        let visibility = match item {
            Item::Const(item) => Some(&item.vis),
            Item::Enum(item) => Some(&item.vis),
            Item::Fn(item) => Some(&item.vis),
            Item::Static(item) => Some(&item.vis),
            Item::Struct(item) => Some(&item.vis),
            Item::Trait(item) => Some(&item.vis),
            Item::Type(item) => Some(&item.vis),
            _ => None,
        };
        self.0 += usize::from(matches!(visibility, Some(Visibility::Public(_))));
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let visibility = match item {
            ImplItem::Const(item) => Some(&item.vis),
            ImplItem::Fn(item) => Some(&item.vis),
            _ => None,
        };
        let is_public = matches!(visibility, Some(Visibility::Public(_)));
        self.0 += usize::from(is_public && !only_tests(impl_attributes(item)));
    }
}

fn shape(tree: &Tree, folder: &str) -> Shape {
    let pairs: BTreeSet<(String, String)> =
        arrows(tree, folder).into_iter().map(|arrow| (arrow.from, arrow.to)).collect();
    let mut reaches: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in &pairs {
        reaches.entry(from).or_default().insert(to);
    }
    let mut layers: BTreeMap<&str, usize> = BTreeMap::new();
    // Each turn extends the paths by a step. A path without a cycle has at most as many steps as there are modules.
    for _ in 0..reaches.len() {
        let before = reaches.clone();
        for (from, to) in &pairs {
            let indirect = before.get(to.as_str()).into_iter().flatten().copied();
            reaches.entry(from).or_default().extend(indirect);
        }
    }
    let is_cycle = |from: &str, to: &str| reaches.get(to).is_some_and(|all| all.contains(from));
    for _ in 0..reaches.len() {
        for (from, to) in pairs.iter().filter(|(from, to)| !is_cycle(from, to)) {
            let below = layers.get(to.as_str()).copied().unwrap_or(1);
            let layer = layers.entry(from).or_insert(2);
            *layer = (*layer).max(below + 1);
        }
    }
    let modules = top_modules(tree, folder);
    Shape {
        modules,
        arrows: pairs.len(),
        layers: layers.into_values().max().unwrap_or(modules.min(1)),
        in_cycles: pairs.iter().filter(|(from, to)| is_cycle(from, to)).count(),
    }
}

/// The number of top-level modules, without those for tests.
fn top_modules(tree: &Tree, folder: &str) -> usize {
    let roots = ["lib.rs", "main.rs"].map(|name| format!("{folder}/src/{name}"));
    let items =
        tree.rust.iter().filter(|file| roots.contains(&file.path)).flat_map(|file| &file.syntax.items);
    items.filter(|item| matches!(item, Item::Mod(_)) && !only_tests(attributes(item))).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_a_package() {
        let code = "//! Doc.\npub fn f((a, b): (A, B)) {\n    // Why.\n    x.clone()\n}\n#[cfg(test)]\nmod tests {\n    fn g() { y.clone() }\n}\n";
        let tree = Tree::of(&[("a/Cargo.toml", ""), ("a/src/lib.rs", code), ("a/tests/b.rs", "//! Doc.\n")]);
        let expected = "| 1 | 5 | 5 | 20 | 20.0 | 3/3/3 | 100 | 0 | 1 | 200.0 | 1 | 0 | 0 | 0 | 0 |";
        assert_eq!(table(&tree), format!("{HEAD}\n| a {expected}\n| all {expected}"));
    }

    #[test]
    fn modules_are_in_layers_or_in_cycles() {
        let root = ("a/src/lib.rs", "mod one; mod two; mod three; mod four; #[cfg(test)] mod tests;");
        let one = ("a/src/one.rs", "use crate::two; use crate::three;");
        let two = ("a/src/two.rs", "use crate::three;");
        let check = |three: &str, expected| {
            let tree = Tree::of(&[root, one, two, ("a/src/three.rs", three), ("a/src/four.rs", "")]);
            assert_eq!(shape(&tree, "a"), expected);
        };
        check("", Shape { modules: 4, arrows: 3, layers: 3, in_cycles: 0 });
        check("use crate::two;", Shape { modules: 4, arrows: 4, layers: 2, in_cycles: 2 });
    }

    #[test]
    fn percentiles() {
        let values: Vec<usize> = (1..=100).collect();
        assert_eq!([50, 95, 100].map(|share| percentile(&values, share)), [50, 95, 100]);
        assert_eq!(percentile(&[], 50), 0);
        assert_eq!(percentile(&[7], 50), 7);
    }
}
