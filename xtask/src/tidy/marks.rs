//! A mark for later work names its issue.

use super::Finding;
use super::tree::Tree;

/// Written in halves, so that this file does not match.
const MARKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// The start of a comment by file extension.
const COMMENTS: [(&str, &str); 3] = [(".rs", "//"), (".toml", "#"), (".sql", "--")];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ending, comment) in COMMENTS {
        for (path, text) in tree.ending(ending) {
            let lines = text.lines().enumerate().filter(|(_, line)| lacks_issue(line, comment));
            findings.extend(lines.map(|(index, _)| {
                Finding::new(
                    path,
                    index + 1,
                    "a mark for later without an issue number: add `#<number>` or do it now",
                )
            }));
        }
    }
    findings
}

/// Whether the comment of this line has a mark without an issue number.
fn lacks_issue(line: &str, comment: &str) -> bool {
    let Some((_, comment)) = line.split_once(comment) else { return false };
    MARKS.iter().any(|mark| comment.contains(mark)) && !has_issue(comment)
}

fn has_issue(comment: &str) -> bool {
    comment.split('#').skip(1).any(|after| after.starts_with(|letter: char| letter.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_mark_without_a_number_is_found() {
        let check = |ending: &str, line: &str, expected: bool| {
            let text = line.replace("MARK", MARKS[0]);
            assert_eq!(!found(rule, &[(&format!("a{ending}"), &text)]).is_empty(), expected, "{text}");
        };
        check(".rs", "// MARK: sort", true);
        check(".rs", "sort(); // MARK(#12): sort faster", false);
        check(".rs", "let word = \"MARK\";", false);
        check(".toml", "x = 1 # MARK", true);
        check(".sql", "-- MARK #x", true);
        check(".md", "MARK", false);
    }
}
