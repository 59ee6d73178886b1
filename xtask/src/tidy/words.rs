//! No document contains an unfilled placeholder.

use super::Finding;
use super::tree::Tree;

const PLACEHOLDERS: [&str; 4] = ["<repository-url>", "example.invalid", "your-org", "lorem"];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (index, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            let unfilled = PLACEHOLDERS.iter().filter(|placeholder| line.contains(*placeholder));
            findings.extend(
                unfilled.map(|placeholder| Finding::new(path, index + 1, format!("fill in `{placeholder}`"))),
            );
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_placeholder_is_found() {
        let page = "# Install\n\ngit clone <repository-url>\nLorem ipsum\n";
        assert_eq!(
            found(rule, &[("a.md", page)]),
            ["a.md:3 fill in `<repository-url>`", "a.md:4 fill in `lorem`"]
        );
        assert_eq!(found(rule, &[("a.md", "# Install\n"), ("a.rs", page)]), [""; 0]);
    }
}
