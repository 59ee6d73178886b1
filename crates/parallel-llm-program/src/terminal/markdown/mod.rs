//! Markdown for a terminal: headings, lists, quotes, tables, code in a frame, words wrapped at the width.
//!
//! The text must be sanitized already ([`parallel_llm_engine::text::safe::for_terminal`]). No line is wider than
//! requested, except lines of code, which stay whole so that they can be copied.

mod events;
mod inline;
mod table;

use anstyle::Style;
use parallel_llm_engine::text::maths::Shielded;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Tag, TagEnd};

use super::line::{Line, Span, wrap};
use events::Events;
use inline::Inline;
use table::Table;

/// The deepest indentation of nested lists and quotes. Deeper ones stay at this depth.
const DEPTH_MAX: usize = 12;
/// The least width of any block.
const WIDTH_MIN: usize = 12;
/// The least width at which a mark may be placed at the left: the number of an item takes eleven columns at most.
const NESTED_MIN: usize = 2 * WIDTH_MIN;
/// The longest rule: above and below code, or between sections.
const RULE_MAX: usize = 72;

/// The text as lines of at most this width.
pub fn lines(text: &str, columns: usize) -> Vec<Line> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let shielded = Shielded::new(text);
    let mut renderer = Renderer { events: Events::of(&shielded, options), depth: 0 };
    renderer.blocks(columns.max(WIDTH_MIN)).lines
}

const BULLET: &str = "• ";
const DIM: Style = Style::new().dimmed();

/// Blocks, one below the other.
#[derive(Default)]
struct Blocks {
    lines: Vec<Line>,
    /// Whether there are paragraphs: a list of those has empty lines between its items.
    has_paragraph: bool,
}

impl Blocks {
    fn push(&mut self, block: Vec<Line>) {
        if !self.lines.is_empty() && !block.is_empty() {
            self.lines.push(Line::default());
        }
        self.lines.extend(block);
    }

    fn paragraph(&mut self, inline: &mut Inline, width: usize) {
        let wrapped: Vec<Line> = inline.take().iter().flat_map(|row| wrap(row, width)).collect();
        self.push(wrapped);
    }
}

struct Renderer<'t> {
    events: Events<'t>,
    depth: usize,
}

impl Renderer<'_> {
    /// The blocks up to the end of the open one.
    fn blocks(&mut self, width: usize) -> Blocks {
        let mut blocks = Blocks::default();
        let mut inline = Inline::default();
        // Open blocks that are not indented.
        let mut plain = 0_usize;
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(Tag::Paragraph) => blocks.has_paragraph = true,
                Event::Start(Tag::Heading { level, .. }) => inline.open(heading(level)),
                Event::End(TagEnd::Paragraph) => blocks.paragraph(&mut inline, width),
                Event::End(TagEnd::Heading(_)) => {
                    inline.close();
                    blocks.paragraph(&mut inline, width);
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    blocks.paragraph(&mut inline, width);
                    blocks.push(self.code(&kind, width));
                }
                Event::Start(Tag::Table(alignments)) => {
                    blocks.paragraph(&mut inline, width);
                    blocks.push(Table::read(&mut self.events, alignments).lines(width));
                }
                Event::Start(Tag::List(first)) if self.may_indent(width) => {
                    let was_empty = inline.is_empty();
                    blocks.paragraph(&mut inline, width);
                    let list = self.list(first, width);
                    // Right below the words of its item.
                    if was_empty { blocks.push(list) } else { blocks.lines.extend(list) }
                }
                Event::Start(Tag::BlockQuote(_)) if self.may_indent(width) => {
                    blocks.paragraph(&mut inline, width);
                    let quote = self.inside(width, 2);
                    blocks.push(quote.lines.into_iter().map(|line| line.prefixed("│ ", DIM)).collect());
                }
                Event::Start(Tag::Item) => {
                    plain += 1;
                    inline.take_in(Event::Text(BULLET.into()));
                }
                Event::Start(
                    Tag::List(_) | Tag::BlockQuote(_) | Tag::HtmlBlock | Tag::FootnoteDefinition(_),
                ) => {
                    blocks.paragraph(&mut inline, width);
                    plain += 1;
                }
                Event::End(
                    TagEnd::List(_)
                    | TagEnd::BlockQuote(_)
                    | TagEnd::Item
                    | TagEnd::HtmlBlock
                    | TagEnd::FootnoteDefinition,
                ) => {
                    blocks.paragraph(&mut inline, width);
                    if plain == 0 {
                        return blocks;
                    }
                    plain -= 1;
                }
                Event::Rule => blocks.push(vec![Line::of("─".repeat(width.min(RULE_MAX)), DIM)]),
                event => inline.take_in(event),
            }
        }
        blocks.paragraph(&mut inline, width);
        blocks
    }

    const fn may_indent(&self, width: usize) -> bool {
        self.depth < DEPTH_MAX && width >= NESTED_MIN
    }

    /// The blocks inside one that takes columns at the left.
    fn inside(&mut self, width: usize, taken: usize) -> Blocks {
        self.depth += 1;
        let blocks = self.blocks(width.saturating_sub(taken).max(WIDTH_MIN));
        self.depth -= 1;
        blocks
    }

    fn list(&mut self, first: Option<u64>, width: usize) -> Vec<Line> {
        let mut items = Vec::new();
        let mut is_apart = false;
        let mut number = first;
        while let Some(Event::Start(Tag::Item)) = self.events.next() {
            let mark = number.map_or_else(|| BULLET.to_owned(), |number| format!("{number}. "));
            number = number.map(|number| number.saturating_add(1));
            let indent = mark.chars().count();
            let item = self.inside(width, indent);
            is_apart |= item.has_paragraph;
            items.push(marked(item.lines, &mark, indent));
        }
        let gap = if is_apart { vec![Line::default()] } else { Vec::new() };
        items.join(gap.as_slice())
    }

    /// Code between two rules. Its lines are not wrapped.
    fn code(&mut self, kind: &CodeBlockKind<'_>, width: usize) -> Vec<Line> {
        let mut code = String::new();
        for event in self.events.by_ref() {
            match event {
                Event::Text(text) => code.push_str(&text),
                Event::End(TagEnd::CodeBlock) => break,
                _ => {}
            }
        }
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let rule = width.min(RULE_MAX);
        let head = if language.is_empty() { String::new() } else { format!("─ {language} ") };
        let head_width = head.chars().count();
        let head =
            if head_width < rule { head + &"─".repeat(rule - head_width) } else { "─".repeat(rule) };
        let code = code.lines().map(|line| Line::of(line, Style::new()));
        let foot = Line::of("─".repeat(rule), DIM);
        std::iter::once(Line::of(head, DIM)).chain(code).chain([foot]).collect()
    }
}

const fn heading(level: HeadingLevel) -> Style {
    match level {
        HeadingLevel::H1 => Style::new().bold().underline(),
        _ => Style::new().bold(),
    }
}

/// The lines of an item after its mark.
fn marked(lines: Vec<Line>, mark: &str, indent: usize) -> Vec<Line> {
    let blanks = " ".repeat(indent);
    let lines = if lines.is_empty() { vec![Line::default()] } else { lines };
    let prefixed = |(index, line): (usize, Line)| match index {
        0 => line.prefixed(mark, DIM),
        _ if line.spans.is_empty() => line,
        _ => line.prefixed(&blanks, Style::new()),
    };
    lines.into_iter().enumerate().map(prefixed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, columns: usize) -> String {
        let lines: Vec<String> = lines(text, columns).iter().map(|line| line.render(false)).collect();
        lines.join("\n")
    }

    #[test]
    fn an_answer_is_laid_out() {
        let answer = "\
# Sharding\n\nUse **one row** for each *shard*, and sum them up; see [the manual](https://example.com/sum).\n\n\
1. Make `counter`:\n   ```sql\n   CREATE TABLE counter (shard INT);\n   ```\n2. Sum it\n   - hourly\n   - or on read\n\n\
> It holds,\n> mostly.\n\n| shard | value |\n|---|--:|\n| one | 12 |\n| the second one | 3 |\n\n---\nDone.";
        insta::assert_snapshot!(shown(answer, 40), @"
    Sharding

    Use one row for each shard, and sum them
    up; see the manual (https://example.com/
    sum).

    1. Make `counter`:

       ─ sql ───────────────────────────────
       CREATE TABLE counter (shard INT);
       ─────────────────────────────────────
    2. Sum it
       • hourly
       • or on read

    │ It holds, mostly.

    shard          │ value
    ───────────────┼──────
    one            │    12
    the second one │     3

    ────────────────────────────────────────

    Done.
    ");
    }

    #[test]
    fn maths_is_shown_as_it_is_written() {
        let text = "So \\(a_1\\,b_1\\) and $x*y*z^2$, or:\n\n\\[\na &= b \\\\\n- c\n\\]\n\n> $$\n> \\frac{a}{b}\n> $$\n\nIt costs $5 and \\$6.";
        insta::assert_snapshot!(shown(text, 60), @r"
        So \(a_1\,b_1\) and $x*y*z^2$, or:

        \[
        a &= b \\
        - c
        \]

        │ $$
        │ \frac{a}{b}
        │ $$

        It costs $5 and $6.
        ");
    }

    #[test]
    fn a_table_that_does_not_fit_is_shown_row_by_row() {
        let table = "| model | what it says | price |\n|---|---|---|\n| one | a long sentence about nothing | 1 |\n| two | short | 2 |";
        insta::assert_snapshot!(shown(table, 36), @"
        model │ what it says         │ price
        ──────┼──────────────────────┼──────
        one   │ a long sentence      │ 1
              │ about nothing        │
        two   │ short                │ 2
        ");
        insta::assert_snapshot!(shown(table, 20), @"
        model: one
        what it says: a long
        sentence about
        nothing
        price: 1

        model: two
        what it says: short
        price: 2
        ");
    }

    #[test]
    fn no_line_but_code_is_wider_than_asked() {
        let texts = [
            "wordwordwordwordwordwordwordword **strong**ly `code code code code` 日本語日本語日本語日本語日本語",
            "> > > > > > > > > > > > > deep\n\n- a\n  - b\n    - c\n      - d\n        - e\n          - f word word",
            "| a | b |\n|---|---|\n| <br> | x **y** \\| z |",
            "<div>\nraw\n</div>\n\n![a picture](data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAA)",
        ];
        for text in texts {
            for columns in [12, 20, 33, 80] {
                let widest = lines(text, columns).iter().map(Line::width).max();
                assert!(widest.is_some_and(|widest| widest <= columns), "{widest:?} of {columns}: {text}");
            }
        }
    }

    #[test]
    fn nesting_without_end_is_read() {
        for text in [">".repeat(100_000), "- ".repeat(50_000), "[".repeat(50_000), "*a ".repeat(50_000)] {
            assert!(lines(&text, 40).len() <= text.len());
        }
    }
}
