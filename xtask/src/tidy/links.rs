//! Links and paths in documents lead to files, and fragments to headings.
//!
//! Links to the network are not checked, because the rule runs without one. In code, only the source paths of ARCHITECTURE.md
//! are checked; they leave out the common prefix of our crates.

use super::Finding;
use super::tree::Tree;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// The prefix that paths in ARCHITECTURE.md leave out.
const CRATE_PREFIX: &str = "crates/parallel-llm-";

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (line, link) in links(text) {
            let (target, fragment) = link.split_once('#').unwrap_or((link, ""));
            let page =
                if target.is_empty() { path.to_owned() } else { resolved(path, target).unwrap_or_default() };
            if !leads_somewhere(tree, path, target) {
                findings.push(Finding::new(path, line, format!("the link to `{target}` leads to no file")));
            } else if !fragment.is_empty()
                && !tree.texts.get(&page).is_some_and(|text| has_heading(text, fragment))
            {
                findings.push(Finding::new(path, line, format!("the link to `{link}` leads to no heading")));
            }
        }
    }
    for (line, path) in tree.texts.get(ARCHITECTURE).into_iter().flat_map(|text| source_paths(text)) {
        let is_known = [path.to_owned(), format!("{CRATE_PREFIX}{path}")]
            .iter()
            .any(|path| leads_somewhere(tree, ARCHITECTURE, path));
        if !is_known {
            findings.push(Finding::new(ARCHITECTURE, line, format!("the path `{path}` leads to no file")));
        }
    }
    findings
}

/// The source paths in code of a page, with their lines.
fn source_paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let code = line.split('`').skip(1).step_by(2);
        let is_source = |path: &&str| ["/src/", "/tests/"].iter().any(|folder| path.contains(folder));
        code.filter(is_source).map(move |path| (index + 1, path))
    })
}

/// The relative link targets of a page with their lines, except in code.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            // Every second piece between backticks is code.
            let prose = line.split('`').step_by(2).flat_map(|piece| piece.split("](").skip(1));
            let defined =
                line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
            found.extend(prose.chain(defined).filter_map(target).map(|target| (index + 1, target)));
        }
    }
    found
}

/// The relative target of a link without its title; `None` if it is an address.
fn target(link: &str) -> Option<&str> {
    let target = link.split([')', ' ', '"']).next()?;
    (!target.is_empty() && !target.contains(':') && !target.starts_with('/')).then_some(target)
}

/// Whether a page has a heading with this fragment, in the form that GitHub gives it.
fn has_heading(text: &str, fragment: &str) -> bool {
    let mut in_block = false;
    text.lines().any(|line| {
        in_block ^= line.trim_start().starts_with("```");
        let heading =
            line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#') && !in_block);
        heading.is_some_and(|heading| slug(heading) == fragment)
    })
}

/// The fragment of a heading: lower case, without punctuation, with hyphens for spaces.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.map(|char| if char == ' ' { '-' } else { char }).collect()
}

/// The path in the repository that a page's relative target leads to; `None` if it leads out of it.
fn resolved(page: &str, target: &str) -> Option<String> {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    for step in target.split('/') {
        match step {
            ".." => drop(folders.pop()?),
            "" | "." => {}
            name => folders.push(name),
        }
    }
    Some(folders.join("/"))
}

fn leads_somewhere(tree: &Tree, page: &str, target: &str) -> bool {
    let Some(path) = resolved(page, target) else { return false };
    let inside = format!("{path}/");
    path.is_empty() || tree.paths.contains(&path) || tree.paths.iter().any(|file| file.starts_with(&inside))
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    fn check(page: &str, expected: &[&str]) {
        let files = [
            ("docs/mcp.md", page),
            ("README.md", ""),
            ("docs/usage.md", "## `keys`, and *files*"),
            ("bench/results/a.md", ""),
        ];
        assert_eq!(found(rule, &files), expected);
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        check(
            "See [usage](usage.md#keys-and-files), [home](../README.md) and [numbers](../bench/results).",
            &[],
        );
        check("\n[old](old.md \"Title\")", &["docs/mcp.md:2 the link to `old.md` leads to no file"]);
        check("![picture](../picture.png)", &["docs/mcp.md:1 the link to `../picture.png` leads to no file"]);
        check("[ref]: gone.md", &["docs/mcp.md:1 the link to `gone.md` leads to no file"]);
        check("[out](../../secret.md)", &["docs/mcp.md:1 the link to `../../secret.md` leads to no file"]);
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_found() {
        check("# Here\n[x](#here), [y](usage.md#keys-and-files)", &[]);
        let expected = "docs/mcp.md:1 the link to `usage.md#gone` leads to no heading";
        check("[x](usage.md#gone)", &[expected]);
        check("```sh\n# here\n```\n[x](#here)", &["docs/mcp.md:4 the link to `#here` leads to no heading"]);
    }

    #[test]
    fn a_wrong_path_in_the_architecture_is_found() {
        let page = "`run/` and `engine/src/run.rs`\n\n| `engine/src/`, `engine/src/old.rs` | `xtask/src/main.rs` |\n";
        let files =
            [(ARCHITECTURE, page), ("crates/parallel-llm-engine/src/run.rs", ""), ("xtask/src/main.rs", "")];
        assert_eq!(found(rule, &files), ["ARCHITECTURE.md:3 the path `engine/src/old.rs` leads to no file"]);
    }

    #[test]
    fn addresses_and_code_are_not_checked() {
        check("[site](https://host/docs) [mail](mailto:a@b) `[x](gone.md)`", &[]);
        check("```md\n[x](gone.md)\n```\n", &[]);
    }
}
