//! `cargo xtask codegen`: the pages and schemas of `docs/` that the program writes about itself.
//!
//! The program says what it knows (`parallel-llm-mcp generate <what>`, a hidden command); this file knows only where each
//! answer belongs. `--check` writes nothing and fails where a page on disk is not what the program says.

use std::path::Path;

use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository, say};

/// A generated file: what the program is asked for, and where the answer lies.
struct Page {
    what: &'static str,
    path: &'static str,
}

const PAGES: &[Page] = &[
    Page { what: "configuration", path: "docs/configuration.md" },
    Page { what: "cli", path: "docs/cli.md" },
    Page { what: "errors", path: "docs/errors.md" },
    Page { what: "report-schema", path: "docs/report.schema.json" },
];

pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let check = match words {
        [] => false,
        [word] if word == "--check" => true,
        _ => return Err(Failure::new("`codegen` takes only `--check`")),
    };
    Program::cargo("build --locked -p parallel-llm-mcp").run()?;
    let binary = built::binary("debug")?;
    if check { self::check(&binary) } else { write(&binary) }
}

/// Fails, with every stale page named, where the pages on disk are not what `binary` says.
///
/// The comparison is with the disk and not with the last commit: a page that was regenerated but not yet committed is
/// in order, and a page that was never added is seen, which a diff against the commit would miss.
pub(crate) fn check(binary: &Path) -> Result<(), Failure> {
    let mut stale = Vec::new();
    for page in PAGES {
        let fresh = generate(binary, page.what)?;
        // A page that cannot be read differs from any page.
        let written = std::fs::read_to_string(repository::root().join(page.path)).unwrap_or_default();
        if let Some(line) = first_difference(&written, &fresh) {
            stale.push(format!("{}:{line}", page.path));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("not what the program says: {}; run `cargo xtask codegen`", stale.join(", "))))
}

fn write(binary: &Path) -> Result<(), Failure> {
    for page in PAGES {
        let fresh = generate(binary, page.what)?;
        let path = repository::root().join(page.path);
        let folder = path.parent().unwrap_or(repository::root());
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, fresh))
            .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", page.path)))?;
        say::line(page.path);
    }
    Ok(())
}

/// What the program answers, in an environment that cannot colour it.
fn generate(binary: &Path, what: &str) -> Result<String, Failure> {
    let home = built::home()?;
    let asked = Program::new(binary).scrubbed(&home).arguments(["generate", what]);
    let text = asked.output().map_err(|failure| {
        Failure::new(format!("the program cannot generate `{what}`; does it know `generate` yet? {failure}"))
    })?;
    if text.trim().is_empty() {
        let why = "it printed nothing; does it know `generate` yet?";
        return Err(Failure::new(format!("the program cannot generate `{what}`: {why}")));
    }
    Ok(text.trim_end().to_owned() + "\n")
}

/// The first line, counted from 1, on which two texts differ.
fn first_difference(written: &str, fresh: &str) -> Option<usize> {
    if written == fresh {
        return None;
    }
    let same = written.lines().zip(fresh.lines()).take_while(|(left, right)| left == right).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_a_line() {
        let check = |written, fresh, expected| assert_eq!(first_difference(written, fresh), expected);
        check("a\nb\n", "a\nb\n", None);
        check("", "a\n", Some(1));
        check("a\nb\n", "a\nc\n", Some(2));
        check("a\n", "a\nb\n", Some(2));
        check("a", "a\n", Some(2));
    }

    #[test]
    fn a_program_without_generate_is_told_plainly() {
        let failure = generate(Path::new("false"), "cli").unwrap_err().to_string();
        assert!(
            failure.starts_with("the program cannot generate `cli`; does it know `generate` yet?"),
            "{failure}"
        );
        let failure = generate(Path::new("true"), "cli").unwrap_err().to_string();
        assert!(failure.contains("it printed nothing"), "{failure}");
    }
}
