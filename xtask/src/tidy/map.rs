//! Generates `docs/reference/map.md`: every source file with the first sentence of its `//!` comment.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::tree::Tree;
use crate::failure::Failure;

const HEAD: &str = "# Map\n\nEvery source file with the first sentence of its `//!` comment; generated. The big picture is in \
                    [ARCHITECTURE.md](../../ARCHITECTURE.md).\n";

/// The page of the repository at `root`.
pub(crate) fn page(root: &Path) -> Result<String, Failure> {
    let tree = Tree::read(root)?;
    let mut folders = BTreeMap::<&str, Vec<(&str, String)>>::new();
    for (path, text) in tree.ending(".rs").filter(|(path, _)| is_product(path)) {
        let Some((folder, name)) = path.rsplit_once('/') else { continue };
        folders.entry(folder).or_default().push((name, first_sentence(text)));
    }
    let mut page = HEAD.to_owned();
    for (folder, files) in &folders {
        let _ = write!(page, "\n## {folder}\n\n");
        for (name, sentence) in files {
            let _ = writeln!(page, "- `{name}`: {sentence}");
        }
    }
    Ok(page)
}

fn is_product(path: &str) -> bool {
    path.contains("/src/") && !path.contains("/tests/") && !path.ends_with("/tests.rs")
}

/// The first sentence of a file's `//!` comment.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    // A path or a number may contain a period, but not before a space.
    match paragraph.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => paragraph,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_described_by_its_first_sentence() {
        assert_eq!(
            first_sentence("//! Reads `a.rs`,\n//! once. And more.\n//!\n//! More.\n"),
            "Reads `a.rs`, once."
        );
        assert_eq!(first_sentence("//! One line\n\nfn main() {}\n"), "One line");
        assert_eq!(first_sentence("fn main() {}\n"), "");
    }
}
