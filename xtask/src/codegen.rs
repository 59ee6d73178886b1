//! `cargo xtask codegen`: the pages and schemas of `docs/` that are written by the program, and the map of its files.
//!
//! The program says what it knows (`parallel-llm-mcp generate <what>`, a hidden command); this file knows only where each
//! answer belongs. `--check` writes nothing and fails where a page on disk is not what the program says.

use std::path::Path;

use crate::failure::Failure;
use crate::program::Program;
use crate::tidy::map;
use crate::{built, repository, say};

/// A generated file: where its text comes from, and where it lies.
struct Page {
    source: Source,
    path: &'static str,
    part: Part,
}

/// Who writes a page.
enum Source {
    /// The program, asked for this.
    Program(&'static str),
    /// The files of the repository.
    Map,
}

/// How much of a file is generated.
enum Part {
    /// All of it.
    Whole,
    /// What stands between two lines of their own.
    Between(&'static str, &'static str),
    /// The first block of code that begins with this line.
    Block(&'static str),
}

const PAGES: &[Page] = &[
    Page { source: Source::Program("configuration"), path: "docs/configuration.md", part: Part::Whole },
    Page { source: Source::Program("cli"), path: "docs/cli.md", part: Part::Whole },
    Page { source: Source::Program("errors"), path: "docs/errors.md", part: Part::Whole },
    Page { source: Source::Program("report-schema"), path: "docs/report.schema.json", part: Part::Whole },
    Page { source: Source::Program("event-schema"), path: "docs/event.schema.json", part: Part::Whole },
    Page {
        source: Source::Program("clients"),
        path: "docs/mcp.md",
        part: Part::Between(
            "<!-- Generated from the program, up to the end of clients. -->",
            "<!-- The end of clients. -->",
        ),
    },
    Page { source: Source::Program("mcp-config"), path: "examples/mcp_config.json", part: Part::Whole },
    Page { source: Source::Program("mcp-config"), path: "README.md", part: Part::Block("```json") },
    Page { source: Source::Map, path: "docs/reference/map.md", part: Part::Whole },
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
        let written = on_disk(page);
        let fresh = page.part.laid_into(&written, &page.source.text(binary)?, page.path)?;
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
        let fresh = page.part.laid_into(&on_disk(page), &page.source.text(binary)?, page.path)?;
        let path = repository::root().join(page.path);
        let folder = path.parent().unwrap_or(repository::root());
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, fresh))
            .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", page.path)))?;
        say::line(page.path);
    }
    Ok(())
}

/// The page as it is. One that cannot be read differs from any page.
fn on_disk(page: &Page) -> String {
    std::fs::read_to_string(repository::root().join(page.path)).unwrap_or_default()
}

impl Part {
    /// The file with what was generated in its place.
    fn laid_into(&self, written: &str, fresh: &str, path: &str) -> Result<String, Failure> {
        let (open, close, gap) = match self {
            Self::Whole => return Ok(fresh.to_owned()),
            Self::Between(open, close) => (open, *close, "\n"),
            Self::Block(open) => (open, "```", ""),
        };
        let missing = || Failure::new(format!("`{path}` has no part from `{open}` to `{close}`"));
        let start = written.find(&format!("{open}\n")).ok_or_else(missing)? + open.len() + 1;
        let end = written[start..].find(&format!("\n{close}\n")).ok_or_else(missing)? + start + 1;
        Ok(format!("{}{gap}{fresh}{gap}{}", &written[..start], &written[end..]))
    }
}

impl Source {
    fn text(&self, binary: &Path) -> Result<String, Failure> {
        match self {
            Self::Program(what) => generate(binary, what),
            Self::Map => map::page(repository::root()),
        }
    }
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
    fn a_part_is_laid_into_its_page() {
        let laid = |part: Part, written| {
            part.laid_into(written, "new\n", "a.md").map_err(|failure| failure.to_string())
        };
        assert_eq!(laid(Part::Whole, "old"), Ok("new\n".to_owned()));
        let block = "a\n```json\nold\n```\nb\n```json\nother\n```\n";
        assert_eq!(laid(Part::Block("```json"), block), Ok(block.replacen("old", "new", 1)));
        let between = "a\n<!-- x -->\n\nold\n\n<!-- y -->\nb\n";
        assert_eq!(
            laid(Part::Between("<!-- x -->", "<!-- y -->"), between),
            Ok(between.replace("old", "new"))
        );
        assert_eq!(
            laid(Part::Block("```toml"), block),
            Err("`a.md` has no part from ````toml` to `````".to_owned())
        );
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
