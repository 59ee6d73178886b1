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

/// Fails if items of the released surface are gone or changed, and the version does not say so. Before 1.0.0 a minor
/// version may do that.
fn compare(released: &str, now: &str, (before, after): (&str, &str)) -> Result<(), Failure> {
    let kept: BTreeSet<&str> = now.lines().collect();
    let gone: Vec<&str> = released.lines().filter(|line| !kept.contains(line)).collect();
    if gone.is_empty() || epoch(before) != epoch(after) {
        return Ok(());
    }
    let why = format!("{} items of {before} are gone or changed, and the version is {after}", gone.len());
    Err(Failure::new(format!("{why}:\n{}", gone.join("\n"))))
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
        let refused = "1 items of v0.1.0 are gone or changed, and the version is 0.1.5:\nfn b()";
        assert_eq!(check("fn a()\n", ("v0.1.0", "0.1.5")), Err(refused.to_owned()));
        assert!(check("fn a(u8)\nfn b()\n", ("v1.0.0", "1.1.0")).is_err());
    }
}
