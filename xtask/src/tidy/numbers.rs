//! The numbers to watch: a table for people, with no verdict. What must not happen is a rule; this shows where things drift.

use super::functions::functions;
use super::syntax::{attributes, is_test_file, only_tests};
use super::tree::{RustFile, Tree};

/// What is counted of one package.
#[derive(Debug, Default)]
struct Counts {
    product_lines: usize,
    test_lines: usize,
    doc_lines: usize,
    clones: usize,
    /// Lines of each function, tests among them.
    functions: Vec<usize>,
}

/// One line for each package.
pub(super) fn table(tree: &Tree) -> String {
    let mut text = format!(
        "{:<34} {:>7} {:>7} {:>17} {:>12} {:>6}",
        "package", "lines", "tests", "function 50/95/max", "clones/1,000", "docs %"
    );
    for folder in tree.packages() {
        text.push('\n');
        text.push_str(&line(folder, count(tree, folder)));
    }
    text
}

fn line(folder: &str, mut counts: Counts) -> String {
    counts.functions.sort_unstable();
    let Counts { product_lines, test_lines, doc_lines, clones, functions } = counts;
    let lengths = format!(
        "{}/{}/{}",
        percentile(&functions, 50),
        percentile(&functions, 95),
        percentile(&functions, 100)
    );
    let share = |part: usize, unit: f64| unit * part as f64 / product_lines.max(1) as f64;
    format!(
        "{folder:<34} {product_lines:>7} {test_lines:>7} {lengths:>18} {:>12.1} {:>6.0}",
        share(clones, 1000.0),
        share(doc_lines, 100.0)
    )
}

fn count(tree: &Tree, folder: &str) -> Counts {
    let inside = format!("{folder}/");
    let mut counts = Counts::default();
    for file in tree.rust.iter().filter(|file| file.path.starts_with(&inside)) {
        counts.functions.extend(functions(file).iter().map(|function| function.lines));
        for (line, for_tests) in file.text.lines().zip(test_lines(file)) {
            if for_tests {
                counts.test_lines += 1;
                continue;
            }
            let line = line.trim_start();
            counts.product_lines += 1;
            counts.doc_lines += usize::from(line.starts_with("///") || line.starts_with("//!"));
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

/// The smallest of the sorted `values` that `share` percent of them do not exceed; 0 of none.
fn percentile(values: &[usize], share: usize) -> usize {
    let place = (values.len() * share).div_ceil(100).saturating_sub(1);
    values.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted() {
        let code =
            "//! Doc.\nfn f() {\n    x.clone()\n}\n#[cfg(test)]\nmod tests {\n    fn g() { y.clone() }\n}\n";
        let tree = Tree::of(&[("a/Cargo.toml", ""), ("a/src/lib.rs", code), ("a/tests/b.rs", "//! Doc.\n")]);
        let counts = count(&tree, "a");
        assert_eq!((counts.product_lines, counts.test_lines, counts.doc_lines, counts.clones), (4, 5, 1, 1));
        assert_eq!(counts.functions, [3, 1]);
        assert_eq!(table(&tree).lines().count(), 2);
    }

    #[test]
    fn percentiles() {
        let values: Vec<usize> = (1..=100).collect();
        assert_eq!([50, 95, 100].map(|share| percentile(&values, share)), [50, 95, 100]);
        assert_eq!(percentile(&[], 50), 0);
        assert_eq!(percentile(&[7], 50), 7);
    }
}
