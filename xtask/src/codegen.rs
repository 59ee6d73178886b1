//! `cargo xtask codegen`: generates the pages and schemas of `docs/`.
//!
//! The program prints the content of a page (`parallel-llm-mcp generate <page>`, a hidden command); this file only knows where
//! it belongs. `--check` writes nothing and fails if a page on disk differs.

use std::path::Path;

use crate::failure::Failure;
use crate::program::Program;
use crate::tidy::surface;
use crate::{built, repository, say};

/// A generated file: the source of its text, and its path.
struct Page {
    source: Source,
    path: &'static str,
    part: Part,
}

/// The source of a page.
enum Source {
    /// `generate` of the program, with this argument.
    Program(&'static str),
    /// The public items of the library.
    Surface,
}

/// How much of a file is generated.
enum Part {
    /// All of it.
    Whole,
    /// The part between two marker lines.
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
    Page { source: Source::Program("openapi"), path: "docs/openapi.json", part: Part::Whole },
    Page {
        source: Source::Program("clients"),
        path: "docs/mcp.md",
        part: Part::Between(
            "<!-- Generated from the program, up to the end of clients. -->",
            "<!-- The end of clients. -->",
        ),
    },
    Page {
        source: Source::Program("figures"),
        path: "docs/operations.md",
        part: Part::Between(
            "<!-- Generated from the program, up to the end of figures. -->",
            "<!-- The end of figures. -->",
        ),
    },
    Page { source: Source::Program("mcp-config"), path: "examples/mcp_config.json", part: Part::Whole },
    Page { source: Source::Program("mcp-config"), path: "README.md", part: Part::Block("```json") },
    Page { source: Source::Surface, path: surface::PATH, part: Part::Whole },
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

/// Fails if pages on disk differ from what `binary` generates, and names them.
///
/// Compares with the disk and not with the last commit: a regenerated page that is not committed yet is in order, and a page
/// that was never added is found, which a diff against the commit would miss.
pub(crate) fn check(binary: &Path) -> Result<(), Failure> {
    let mut stale = Vec::new();
    for page in PAGES {
        let written = on_disk(page);
        let fresh = page.part.insert_into(&written, &page.source.text(binary)?, page.path)?;
        if let Some(line) = first_difference(&written, &fresh) {
            stale.push(format!("{}:{line}", page.path));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("out of date: {}; run `cargo xtask codegen`", stale.join(", "))))
}

fn write(binary: &Path) -> Result<(), Failure> {
    for page in PAGES {
        let fresh = page.part.insert_into(&on_disk(page), &page.source.text(binary)?, page.path)?;
        let path = repository::root().join(page.path);
        let folder = path.parent().unwrap_or(repository::root());
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, fresh))
            .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", page.path)))?;
        say::line(page.path);
    }
    Ok(())
}

/// The page on disk; empty if it cannot be read, so that it differs from any page.
fn on_disk(page: &Page) -> String {
    std::fs::read_to_string(repository::root().join(page.path)).unwrap_or_default()
}

impl Part {
    /// The file with the generated part inserted.
    fn insert_into(&self, written: &str, fresh: &str, path: &str) -> Result<String, Failure> {
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
            Self::Program(page) => generate(binary, page),
            Self::Surface => surface::page(repository::root()),
        }
    }
}

/// The output of the program's `generate`, in an environment without colours.
fn generate(binary: &Path, page: &str) -> Result<String, Failure> {
    let home = built::home()?;
    let generating = Program::new(binary).scrubbed(&home).arguments(["generate", page]);
    let text = generating.output().map_err(|failure| {
        Failure::new(format!("the program cannot generate `{page}`; does it know `generate` yet? {failure}"))
    })?;
    if text.trim().is_empty() {
        let why = "it printed nothing; does it know `generate` yet?";
        return Err(Failure::new(format!("the program cannot generate `{page}`: {why}")));
    }
    Ok(text.trim_end().to_owned() + "\n")
}

/// The number of the first line on which two texts differ, from 1.
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
    fn a_part_is_inserted_into_its_page() {
        let inserted = |part: Part, written| {
            part.insert_into(written, "new\n", "a.md").map_err(|failure| failure.to_string())
        };
        assert_eq!(inserted(Part::Whole, "old"), Ok("new\n".to_owned()));
        let block = "a\n```json\nold\n```\nb\n```json\nother\n```\n";
        assert_eq!(inserted(Part::Block("```json"), block), Ok(block.replacen("old", "new", 1)));
        let between = "a\n<!-- x -->\n\nold\n\n<!-- y -->\nb\n";
        assert_eq!(
            inserted(Part::Between("<!-- x -->", "<!-- y -->"), between),
            Ok(between.replace("old", "new"))
        );
        assert_eq!(
            inserted(Part::Block("```toml"), block),
            Err("`a.md` has no part from ````toml` to `````".to_owned())
        );
    }

    #[test]
    fn a_program_without_generate_is_reported() {
        let failure = generate(Path::new("false"), "cli").unwrap_err().to_string();
        assert!(
            failure.starts_with("the program cannot generate `cli`; does it know `generate` yet?"),
            "{failure}"
        );
        let failure = generate(Path::new("true"), "cli").unwrap_err().to_string();
        assert!(failure.contains("it printed nothing"), "{failure}");
    }
}
