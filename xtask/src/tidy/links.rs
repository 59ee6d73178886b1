//! A link from a document to a file leads to a file.
//!
//! Addresses on the network are not followed: the check runs without one.

use super::Finding;
use super::tree::Tree;

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (line, target) in links(text) {
            if !leads_somewhere(tree, path, target) {
                findings.push(Finding::new(path, line, format!("the link to `{target}` leads to no file")));
            }
        }
    }
    findings
}

/// The relative targets of a page with their lines; code is not looked into.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            // Every second piece between back-ticks is code.
            let prose = line.split('`').step_by(2).flat_map(|piece| piece.split("](").skip(1));
            let defined =
                line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
            found.extend(prose.chain(defined).filter_map(target).map(|target| (index + 1, target)));
        }
    }
    found
}

/// The file a link names, when it names one: without title and fragment, not an address.
fn target(link: &str) -> Option<&str> {
    let target = link.split([')', ' ', '"']).next()?;
    let target = target.split('#').next()?;
    (!target.is_empty() && !target.contains(':') && !target.starts_with('/')).then_some(target)
}

fn leads_somewhere(tree: &Tree, page: &str, target: &str) -> bool {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    for step in target.split('/') {
        match step {
            ".." if folders.pop().is_none() => return false,
            "" | "." | ".." => {}
            name => folders.push(name),
        }
    }
    let path = folders.join("/");
    let inside = format!("{path}/");
    path.is_empty() || tree.paths.contains(&path) || tree.paths.iter().any(|file| file.starts_with(&inside))
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(page: &str, expected: &[&str]) {
        let files =
            [("docs/mcp.md", page), ("README.md", ""), ("docs/usage.md", ""), ("bench/results/a.md", "")];
        assert_eq!(found(rule, &files), expected);
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        check("See [usage](usage.md#files), [home](../README.md) and [numbers](../bench/results).", &[]);
        check("\n[old](old.md \"Title\")", &["docs/mcp.md:2 the link to `old.md` leads to no file"]);
        check("![picture](../picture.png)", &["docs/mcp.md:1 the link to `../picture.png` leads to no file"]);
        check("[ref]: gone.md", &["docs/mcp.md:1 the link to `gone.md` leads to no file"]);
        check("[out](../../secret.md)", &["docs/mcp.md:1 the link to `../../secret.md` leads to no file"]);
    }

    #[test]
    fn addresses_fragments_and_code_are_left_alone() {
        check("[site](https://host/docs) [mail](mailto:a@b) [here](#here) `[x](gone.md)`", &[]);
        check("```md\n[x](gone.md)\n```\n", &[]);
    }
}
