//! Length limits for the pages that everyone reads.

use super::Finding;
use super::tree::Tree;

/// A quarter of an hour for the architecture; a glance for the front page.
const PAGES: [(&str, usize); 2] = [("ARCHITECTURE.md", 250), ("README.md", 150)];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let long = PAGES.iter().filter_map(|(page, lines_max)| {
        let lines = tree.texts.get(*page)?.lines().count();
        (lines > *lines_max).then(|| {
            Finding::new(page, 0, format!("{lines} lines; at most {lines_max}: move a part to docs/"))
        })
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_long_page_is_found() {
        assert_eq!(
            found(rule, &[("README.md", &"x\n".repeat(150)), ("docs/README.md", &"x\n".repeat(200))]),
            [""; 0]
        );
        let long = "README.md:0 151 lines; at most 150: move a part to docs/";
        assert_eq!(found(rule, &[("README.md", &"x\n".repeat(151))]), [long]);
    }
}
