//! Every Rust file opens by saying what it is for.

use super::Finding;
use super::tree::Tree;

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let silent = tree.ending(".rs").filter(|(_, text)| !text.starts_with("//!"));
    silent
        .map(|(path, _)| Finding::new(path, 1, "the file must begin with `//!` and what it is for"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        let files = [
            ("a.rs", "//! What it is for.\n"),
            ("b.rs", "\n//! Late.\n"),
            ("c.rs", "use x;\n"),
            ("d.md", "x"),
        ];
        let said = "the file must begin with `//!` and what it is for";
        assert_eq!(found(rule, &files), [format!("b.rs:1 {said}"), format!("c.rs:1 {said}")]);
    }
}
