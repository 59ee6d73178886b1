//! The stage `library`: it compiles without the program, and its surface keeps the promise of its version.
//!
//! It would have caught a line of the library that needs the command line, and an item that a minor version takes away. The
//! surface is the page that `codegen` writes; it is compared with the page of the newest release, which a tag marks.

use std::collections::BTreeSet;

use super::report::Verdict;
use crate::failure::Failure;
use crate::program::Program;
use crate::tidy::surface;
use crate::{repository, say};

/// Whose structs get fields in any version, as the guide says: nobody but a panel makes them.
const GROWING: [&str; 3] =
    ["parallel_llm_mcp::report::", "parallel_llm_mcp::event::", "parallel_llm_mcp::Report"];

pub(super) fn run() -> Result<Verdict, Failure> {
    Program::cargo("check -p parallel-llm-mcp --lib --no-default-features --locked").run()?;
    Program::cargo("check -p parallel-llm-mcp --examples --features examples --locked").run()?;
    let tags = Program::new("git").arguments(["tag", "--list", "v*", "--sort=-v:refname"]).output();
    let Some(tag) = tags.unwrap_or_default().lines().next().map(str::to_owned) else {
        say::note("no version is released yet, so no promise can be broken");
        return Ok(Verdict::Passed);
    };
    let released = Program::new("git").arguments(["show", &format!("{tag}:{}", surface::PATH)]).output()?;
    compare(&released, &surface::page(repository::root())?, (&tag, &version()?))?;
    Ok(Verdict::Passed)
}

/// The version of the workspace.
fn version() -> Result<String, Failure> {
    let manifest = std::fs::read_to_string(repository::root().join("Cargo.toml")).unwrap_or_default();
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version.map(str::to_owned).ok_or_else(|| Failure::new("`Cargo.toml` has no version"))
}

/// Fails if the surface breaks code that uses the released one, and the version does not say so. Before 1.0.0 a minor
/// version may do that.
fn compare(released: &str, now: &str, (before, after): (&str, &str)) -> Result<(), Failure> {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (released.lines().collect(), now.lines().collect());
    let gone = old.difference(&new).map(|line| format!("gone or changed: {line}"));
    let grown = new.difference(&old).filter(|line| breaks(line, &old)).map(|line| format!("new: {line}"));
    let broken: Vec<String> = gone.chain(grown).collect();
    if broken.is_empty() || epoch(before) != epoch(after) {
        return Ok(());
    }
    let why = format!("{} changes break code for {before}, and the version is {after}", broken.len());
    Err(Failure::new(format!("{why}:\n{}", broken.join("\n"))))
}

/// Whether a new line breaks code for the old ones: patterns and literals of a type that could be written out in full.
fn breaks(line: &str, old: &BTreeSet<&str>) -> bool {
    let knows = |kind: &str, path: &str| old.contains(format!("{kind} {path}").as_str());
    let is_closed = |kind: &str, path: &str| knows(kind, path) && !knows("#[non_exhaustive]", path);
    let Some((kind, item)) = line.split_once(' ') else { return false };
    let owner =
        || item.split(['(', ' ']).next().and_then(|path| path.trim_end_matches(':').rsplit_once("::"));
    match (kind, owner()) {
        ("#[non_exhaustive]", _) => knows("struct", item) || knows("enum", item),
        ("variant", Some((owner, _))) => is_closed("enum", owner),
        ("field", Some((owner, _))) => {
            is_closed("struct", owner) && !GROWING.iter().any(|part| owner.starts_with(part))
        }
        _ => false,
    }
}

/// The part of a version within which nothing is taken away: `0.3` of `0.3.1`, `2` of `2.4.0`.
fn epoch(version: &str) -> Vec<&str> {
    let parts: Vec<&str> = version.trim_start_matches('v').split('.').collect();
    let kept = if parts.first() == Some(&"0") { 2 } else { 1 };
    parts.into_iter().take(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_breaking_version_takes_items_away() {
        let check =
            |now: &str, versions| compare("fn a()\nfn b()\n", now, versions).map_err(|it| it.to_string());
        assert_eq!(check("fn a()\nfn b()\nfn c()\n", ("v0.1.0", "0.1.1")), Ok(()));
        assert_eq!(check("fn a()\n", ("v0.1.9", "0.2.0")), Ok(()));
        assert_eq!(check("fn a()\n", ("v1.9.0", "2.0.0")), Ok(()));
        let refused = "1 changes break code for v0.1.0, and the version is 0.1.5:\ngone or changed: fn b()";
        assert_eq!(check("fn a()\n", ("v0.1.0", "0.1.5")), Err(refused.to_owned()));
        assert!(check("fn a(u8)\nfn b()\n", ("v1.0.0", "1.1.0")).is_err());
    }
    #[test]
    fn a_type_that_can_be_written_out_in_full_does_not_grow() {
        let old = "#[non_exhaustive] a::Open\nenum a::Closed\nenum a::Open\nfield a::Made::x: u8\nstruct a::Made\n\
                   struct parallel_llm_mcp::report::SeatReport\nvariant a::Closed::One\n";
        let grows = |line: &str| compare(old, &format!("{old}{line}\n"), ("v0.1.0", "0.1.1")).is_err();
        let lines = [
            ("variant a::Closed::Two(u8)", true),
            ("variant a::Open::Two { x: u8 }", false),
            ("variant a::New::One", false),
            ("field a::Made::y: std::time::Duration", true),
            ("field parallel_llm_mcp::report::SeatReport::y: u8", false),
            ("#[non_exhaustive] a::Made", true),
            ("#[non_exhaustive] a::New", false),
        ];
        for (line, breaks) in lines {
            assert_eq!(grows(line), breaks, "{line}");
        }
    }
}
