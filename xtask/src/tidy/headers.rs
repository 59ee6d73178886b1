//! Every Rust file begins with a `//!` comment.

use super::Finding;
use super::tree::Tree;

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let bare = tree.ending(".rs").filter(|(_, text)| !text.starts_with("//!"));
    bare.map(|(path, _)| Finding::new(path, 1, "the file must begin with `//!` and its purpose")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        let files =
            [("a.rs", "//! Its purpose.\n"), ("b.rs", "\n//! Late.\n"), ("c.rs", "use x;\n"), ("d.md", "x")];
        let message = "the file must begin with `//!` and its purpose";
        assert_eq!(found(rule, &files), [format!("b.rs:1 {message}"), format!("c.rs:1 {message}")]);
    }
}
