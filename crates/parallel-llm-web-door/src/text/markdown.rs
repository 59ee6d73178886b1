//! Markdown of strangers as HTML that holds nothing of their choosing but words and their form.
//!
//! Invariants: no markup of the text itself survives, because raw HTML is shown as text; there is no link, no picture and
//! no attribute from the text, so a reader's browser asks no one for anything; each target of a link is shown beside its
//! words, so nothing is hidden. The library builds the HTML and the sanitiser rebuilds it from a list of allowed elements, so
//! that a defect of one is caught by the other.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use ammonia::Builder;
use parallel_llm_engine::value::invisible;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// The longest text shown as Markdown, in bytes. A longer one is cut here; the whole is a file beside the page.
pub(crate) const SHOWN_BYTES_MAX: usize = 256 * 1024;
/// The deepest nesting of quotes and lists. What is deeper is shown at this depth.
const DEPTH_MAX: usize = 12;
/// The elements that text may become.
const ELEMENTS: [&str; 24] = [
    "blockquote",
    "br",
    "code",
    "del",
    "div",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// What the sanitiser lets through. Classes and `tabindex` are set here, never taken from the text.
static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(ELEMENTS.into_iter().collect::<HashSet<_>>())
        .add_tag_attributes("ol", ["start"])
        .add_allowed_classes("div", ["wide"])
        .add_allowed_classes("span", ["target"])
        // A box that scrolls must be reachable with the keyboard.
        .set_tag_attribute_value("pre", "tabindex", "0")
        .set_tag_attribute_value("div", "tabindex", "0")
        .clean_content_tags(HashSet::new());
    builder
});

/// One block of a text: a paragraph, a list item, a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// Its source.
    pub(crate) source: &'a str,
    /// Its safe HTML.
    pub(crate) html: String,
}

/// The whole text as safe HTML, with headings below this level.
pub(crate) fn render(text: &str, heading: usize) -> String {
    blocks(text, heading).into_iter().map(|block| block.html).collect()
}

/// The blocks of a text as safe HTML, in order, with headings below this level. Items of a list are blocks of their own.
pub(crate) fn blocks(text: &str, heading: usize) -> Vec<Block<'_>> {
    let mut headings = Headings { base: heading, last: heading };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut splitter = Splitter::default();
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        splitter.add(event, range, &mut headings);
    }
    let rendered = |piece: BlockEvents<'_>| {
        let mut unsafe_html = String::new();
        html::push_html(&mut unsafe_html, piece.events.into_iter());
        Block { source: &text[piece.range], html: SANITISER.clean(&unsafe_html).to_string() }
    };
    splitter.pieces.into_iter().map(rendered).collect()
}

/// A text cut at [`SHOWN_BYTES_MAX`], and whether it was longer.
pub(crate) fn bounded(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(SHOWN_BYTES_MAX.min(text.len()));
    (&text[..end], end < text.len())
}

/// The events of one block and its place in the source.
struct BlockEvents<'a> {
    events: Vec<Event<'a>>,
    range: Range<usize>,
}

/// A list that is no part of another element.
#[derive(Default, PartialEq)]
enum OuterList {
    /// The outermost element is none.
    #[default]
    None,
    /// Without numbers.
    Bulleted,
    /// With the number of its next item.
    Numbered(u64),
}

/// Splits the events of a text into blocks.
#[derive(Default)]
struct Splitter<'a> {
    pieces: Vec<BlockEvents<'a>>,
    /// The open elements, and whether each is shown: what is nested too deeply is not.
    open: Vec<bool>,
    /// The outermost element, if it is a list.
    list: OuterList,
    /// The targets of the open links and pictures.
    targets: Vec<CowStr<'a>>,
}

impl<'a> Splitter<'a> {
    fn add(&mut self, event: Event<'a>, range: Range<usize>, headings: &mut Headings) {
        match event {
            Event::Start(tag) => self.start(tag, range, headings),
            Event::End(tag) => self.end(tag, headings),
            // Raw HTML is text like any other.
            Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => {
                self.put(Event::Text(seen(text)), range);
            }
            Event::Code(text) => self.put(Event::Code(seen(text)), range),
            Event::SoftBreak | Event::HardBreak | Event::Rule => self.put(event, range),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.put(Event::Text(seen(text)), range),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'a>, range: Range<usize>, headings: &mut Headings) {
        if let (Tag::List(first), true) = (&tag, self.open.is_empty()) {
            self.list = first.map_or(OuterList::Bulleted, OuterList::Numbered);
            return self.open.push(false);
        }
        let is_shown = self.open.iter().filter(|shown| **shown).count() < DEPTH_MAX;
        match tag {
            Tag::Item if self.open.len() == 1 && self.list != OuterList::None => {
                // Each item is a list of its own, so that it can be marked.
                let first = match &mut self.list {
                    OuterList::Numbered(next) => Some(std::mem::replace(next, next.saturating_add(1))),
                    OuterList::None | OuterList::Bulleted => None,
                };
                self.begin(range);
                self.push(Event::Start(Tag::List(first)));
                self.push(Event::Start(Tag::Item));
                self.open.push(true);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.targets.push(dest_url);
                self.open.push(false);
            }
            Tag::Heading { level, .. } => {
                self.opening(is_shown, Event::Start(heading_start(headings.enter(level))), range);
            }
            Tag::Table(columns) => {
                if self.open.is_empty() {
                    self.begin(range.clone());
                }
                self.push(Event::Html("<div class=\"wide\">".into()));
                // Columns have no alignment: it would need a style.
                let columns = vec![pulldown_cmark::Alignment::None; columns.len()];
                if is_shown {
                    self.push(Event::Start(Tag::Table(columns)));
                }
                self.open.push(is_shown);
            }
            Tag::CodeBlock(_) => {
                let plain = pulldown_cmark::CodeBlockKind::Indented;
                self.opening(is_shown, Event::Start(Tag::CodeBlock(plain)), range);
            }
            Tag::HtmlBlock => self.opening(is_shown, Event::Start(Tag::Paragraph), range),
            Tag::BlockQuote(_) => self.opening(is_shown, Event::Start(Tag::BlockQuote(None)), range),
            tag => self.opening(is_shown, Event::Start(tag), range),
        }
    }

    fn end(&mut self, tag: TagEnd, headings: &Headings) {
        let was_shown = self.open.pop().unwrap_or_default();
        match tag {
            TagEnd::List(_) if self.open.is_empty() => self.list = OuterList::None,
            TagEnd::Item if self.open.len() == 1 && self.list != OuterList::None => {
                self.push(Event::End(TagEnd::Item));
                let is_numbered = matches!(self.list, OuterList::Numbered(_));
                self.push(Event::End(TagEnd::List(is_numbered)));
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(target) = self.targets.pop() {
                    self.push(Event::Html("<span class=\"target\">".into()));
                    self.push(Event::Text(format!(" ({})", invisible::seen(&target)).into()));
                    self.push(Event::Html("</span>".into()));
                }
            }
            TagEnd::Table => {
                if was_shown {
                    self.push(Event::End(TagEnd::Table));
                }
                self.push(Event::Html("</div>".into()));
            }
            TagEnd::Heading(_) if was_shown => {
                self.push(Event::End(TagEnd::Heading(level_of(headings.last))));
            }
            TagEnd::HtmlBlock if was_shown => self.push(Event::End(TagEnd::Paragraph)),
            TagEnd::BlockQuote(_) if was_shown => self.push(Event::End(TagEnd::BlockQuote(None))),
            tag if was_shown => self.push(Event::End(tag)),
            _ => {}
        }
    }

    fn opening(&mut self, is_shown: bool, event: Event<'a>, range: Range<usize>) {
        if is_shown {
            self.put(event, range);
        }
        self.open.push(is_shown);
    }

    /// Adds an event, and begins a block if none is open.
    fn put(&mut self, event: Event<'a>, range: Range<usize>) {
        if self.open.is_empty() {
            self.begin(range);
        }
        self.push(event);
    }

    fn begin(&mut self, range: Range<usize>) {
        self.pieces.push(BlockEvents { events: Vec::new(), range });
    }

    fn push(&mut self, event: Event<'a>) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.events.push(event);
        }
    }
}

/// The levels of headings: below that of the page's own, and without gaps.
struct Headings {
    base: usize,
    last: usize,
}

impl Headings {
    fn enter(&mut self, level: HeadingLevel) -> usize {
        self.last = (self.base + level as usize).min(self.last + 1).min(6);
        self.last
    }
}

fn heading_start(level: usize) -> Tag<'static> {
    Tag::Heading { level: level_of(level), id: None, classes: Vec::new(), attrs: Vec::new() }
}

fn level_of(level: usize) -> HeadingLevel {
    HeadingLevel::try_from(level).unwrap_or(HeadingLevel::H6)
}

fn seen(text: CowStr<'_>) -> CowStr<'_> {
    match invisible::seen(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(seen) => seen.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(render(text, 3).replace('\n', ""), expected, "{text}");
    }

    #[test]
    fn the_form_of_a_text_is_kept() {
        check(
            "# A\n\n#### B\n\n*c* **d** `e` ~~f~~",
            "<h4>A</h4><h5>B</h5><p><em>c</em> <strong>d</strong> <code>e</code> <del>f</del></p>",
        );
        check("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li></ul><ul><li>c</li></ul>");
        check("3. a\n4. b", "<ol start=\"3\"><li>a</li></ol><ol start=\"4\"><li>b</li></ol>");
        check("```html\n<b>\n```", "<pre tabindex=\"0\"><code>&lt;b&gt;</code></pre>");
        check(
            "| a |\n|--:|\n| b |",
            "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table></div>",
        );
    }

    #[test]
    fn nothing_of_a_texts_own_choosing_gets_into_the_page() {
        check("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
        check("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>");
        check("[go](javascript:alert(1))", "<p>go<span class=\"target\"> (javascript:alert(1))</span></p>");
        check(
            "![pixel](https://evil.example/?q=1 \"t\")",
            "<p>pixel<span class=\"target\"> (https://evil.example/?q=1)</span></p>",
        );
        check(
            "<https://evil.example>",
            "<p>https://evil.example<span class=\"target\"> (https://evil.example)</span></p>",
        );
        check(
            "<div class=\"wide\" style=\"position:fixed\">x</div>",
            "<p>&lt;div class=\"wide\" style=\"position:fixed\"&gt;x&lt;/div&gt;</p>",
        );
        check("a\u{202e}b\u{200b}c", "<p>abc</p>");
    }

    #[test]
    fn deep_nesting_is_flattened() {
        let html = render(&format!("{} deep", "> ".repeat(5_000)), 3);
        assert_eq!(html.matches("<blockquote>").count(), DEPTH_MAX);
        assert!(html.contains("deep"), "{html}");
        let html = render(&format!("{}deep", "- ".repeat(5_000)), 3);
        assert!(html.matches("<ul>").count() <= DEPTH_MAX && html.contains("deep"), "{html}");
    }

    #[test]
    fn blocks_hold_their_source() {
        let sources: Vec<&str> =
            blocks("One.\n\n- two\n- three\n\n# Four", 3).iter().map(|block| block.source.trim()).collect();
        assert_eq!(sources, ["One.", "- two", "- three", "# Four"]);
    }
}
