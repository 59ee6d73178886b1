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
use parallel_llm_engine::text::maths::{Piece, SHIELD, Shielded};
use parallel_llm_engine::value::invisible;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// The longest text shown as Markdown, in bytes. A longer one is cut here; the whole is a file beside the page.
pub(crate) const SHOWN_BYTES_MAX: usize = 256 * 1024;
/// The deepest nesting of quotes and lists. What is deeper is shown at this depth.
const DEPTH_MAX: usize = 12;
/// The longest words that wait for the end of their mark, in bytes: some that are bold or a link's.
const HELD_BYTES_MAX: usize = 80;
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

/// What the sanitiser lets through. Classes, `tabindex` and directions are set here, never taken from the text.
static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(ELEMENTS.into_iter().collect::<HashSet<_>>())
        .add_tag_attributes("ol", ["start"])
        .add_allowed_classes("div", ["wide"])
        .add_allowed_classes("span", ["target", "maths"])
        // Code and maths are written from left to right, whatever the words around them are. An element has one attribute that is
        // set, because several would come in any order; the style gives `pre` its direction.
        .set_tag_attribute_value("code", "dir", "ltr")
        .set_tag_attribute_value("span", "dir", "ltr")
        // A box that scrolls must be reachable with the keyboard.
        .set_tag_attribute_value("pre", "tabindex", "0")
        .set_tag_attribute_value("div", "tabindex", "0")
        .clean_content_tags(HashSet::new());
    builder
});

/// A place in a text where a block begins that is inside of no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockStart {
    /// Its byte.
    pub(crate) at: usize,
    /// The level of the heading before it; 0 without one.
    heading: usize,
}

/// A block of a text that is still written.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenBlock {
    /// As the parser gives it: a block that it gives again need not be made safe again.
    raw: String,
    /// Its safe HTML.
    pub(crate) html: String,
}

impl OpenBlock {
    /// A block that has ended.
    pub(crate) const fn of(html: String) -> Self {
        Self { raw: String::new(), html }
    }
}

/// A text that is still written, from a place on.
#[derive(Debug)]
pub(crate) struct Growing {
    /// Its blocks from that place on.
    pub(crate) blocks: Vec<OpenBlock>,
    /// How many of them no further text can change.
    pub(crate) finished: usize,
    /// Where the others begin.
    pub(crate) next: BlockStart,
}

/// The whole text as safe HTML, with headings below this level.
pub(crate) fn render(text: &str, heading: usize) -> String {
    blocks(text, heading).concat()
}

/// The blocks of a text as safe HTML, in order, with headings below this level. Items of a list are blocks of their own.
pub(crate) fn blocks(text: &str, heading: usize) -> Vec<String> {
    let shielded = Shielded::new(text);
    let pieces = split(&shielded, &mut Headings::below(heading)).into_iter();
    pieces.map(|piece| safe(&piece.raw())).collect()
}

/// The blocks of a text that is still written, from this place on. Those of `known` were made of it before.
pub(crate) fn growing(text: &str, from: BlockStart, heading: usize, known: &[OpenBlock]) -> Growing {
    let text = held(&text[from.at..]);
    let shielded = Shielded::growing(text);
    let mut headings = Headings::below(heading);
    headings.last = headings.last.max(from.heading);
    let pieces = split(&shielded, &mut headings);
    let last = pieces.last().map(|piece| piece.outer);
    let finished = pieces.iter().take_while(|piece| Some(piece.outer) != last).count();
    let next = pieces
        .get(finished)
        .map_or(from, |piece| BlockStart { at: from.at + piece.outer, heading: piece.heading });
    let block = |(index, piece): (usize, BlockEvents<'_>)| {
        let raw = piece.raw();
        let is_known = |known: &&OpenBlock| known.raw == raw;
        known.get(index).filter(is_known).cloned().unwrap_or_else(|| OpenBlock { html: safe(&raw), raw })
    };
    Growing { blocks: pieces.into_iter().enumerate().map(block).collect(), finished, next }
}

/// The place behind a text that ends with a block.
pub(crate) fn place_behind(text: &str, heading: usize) -> BlockStart {
    let mut headings = Headings::below(heading);
    split(&Shielded::new(text), &mut headings);
    BlockStart { at: text.len(), heading: headings.last }
}

/// A text without the marks at its end that mean nothing yet: after a line, `-` would make a heading of it. What an open mark
/// begins waits for its end, too, if it is short, so that it need not change its form.
fn held(text: &str) -> &str {
    let bare = text.trim_end_matches(['*', '_', '`', '~', '\\', '$', '[', '!']);
    let line = bare.rfind('\n').map_or(0, |end| end + 1);
    let open = open_mark(&bare[line..]).filter(|at| bare.len() - line - at <= HELD_BYTES_MAX);
    let bare = &bare[..open.map_or(bare.len(), |at| line + at)];
    let is_mark = |character: char| {
        matches!(character, '-' | '=' | '+' | '#' | '>' | '|' | ':' | '.' | ' ' | '\t' | '0'..='9')
    };
    if bare[line..].chars().all(is_mark) { &bare[..line] } else { bare }
}

/// Where the last mark of a line begins that is open at its end.
fn open_mark(line: &str) -> Option<usize> {
    let at = line.rfind(['`', '*', '['])?;
    match line.as_bytes()[at] {
        b'`' => (line.matches('`').count() % 2 == 1).then_some(at),
        b'[' => (!line[at..].contains(']')).then_some(at),
        _ => {
            let start = line[..at].trim_end_matches('*').len();
            let touches = |near: Option<char>| near.is_some_and(|near| !near.is_whitespace());
            let begins =
                !touches(line[..start].chars().next_back()) && touches(line[at + 1..].chars().next());
            begins.then_some(start)
        }
    }
}

fn safe(raw: &str) -> String {
    SANITISER.clean(raw).to_string()
}

fn split<'a>(shielded: &'a Shielded<'a>, headings: &mut Headings) -> Vec<BlockEvents<'a>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut splitter = Splitter::new(shielded);
    for (event, range) in Parser::new_ext(shielded.text(), options).into_offset_iter() {
        splitter.add(event, range, headings);
    }
    splitter.pieces
}

/// A text cut at [`SHOWN_BYTES_MAX`], and whether it was longer.
pub(crate) fn bounded(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(SHOWN_BYTES_MAX.min(text.len()));
    (&text[..end], end < text.len())
}

/// The events of one block.
struct BlockEvents<'a> {
    events: Vec<Event<'a>>,
    /// Where the element begins that is inside of no other: for an item, that of its list.
    outer: usize,
    /// The level of the heading before it.
    heading: usize,
}

impl BlockEvents<'_> {
    /// As HTML that is not safe yet.
    fn raw(self) -> String {
        let mut raw = String::new();
        html::push_html(&mut raw, self.events.into_iter());
        raw
    }
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
struct Splitter<'a> {
    /// The text, with its maths hidden from the parser.
    shielded: &'a Shielded<'a>,
    pieces: Vec<BlockEvents<'a>>,
    /// The open elements, and whether each is shown: what is nested too deeply is not.
    open: Vec<bool>,
    /// The outermost element, if it is a list.
    list: OuterList,
    /// Where it begins.
    list_start: usize,
    /// The targets of the open links and pictures.
    targets: Vec<CowStr<'a>>,
}

impl<'a> Splitter<'a> {
    const fn new(shielded: &'a Shielded<'a>) -> Self {
        Self {
            shielded,
            pieces: Vec::new(),
            open: Vec::new(),
            list: OuterList::None,
            list_start: 0,
            targets: Vec::new(),
        }
    }

    fn add(&mut self, event: Event<'a>, range: Range<usize>, headings: &mut Headings) {
        match event {
            Event::Start(tag) => self.start(tag, range, headings),
            Event::End(tag) => self.end(tag, headings),
            // Raw HTML is text like any other.
            Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => {
                self.words(text, range, headings);
            }
            Event::Code(_) if self.shielded.has_maths(&range) => self.words("".into(), range, headings),
            Event::Code(text) => self.put(Event::Code(seen(text)), range, headings),
            Event::SoftBreak | Event::HardBreak | Event::Rule => self.put(event, range, headings),
            // These forms are not read; maths is found before.
            Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => {}
        }
    }

    /// Adds words, and the maths among them as it is written.
    fn words(&mut self, text: CowStr<'a>, range: Range<usize>, headings: &Headings) {
        if !self.shielded.has_maths(&range) {
            return self.put(Event::Text(seen(text)), range, headings);
        }
        for piece in self.shielded.pieces(range.clone()) {
            match piece {
                Piece::Words(words) => self.put(Event::Text(seen(words.into())), range.clone(), headings),
                Piece::Maths(maths) => {
                    self.put(Event::Html("<span class=\"maths\">".into()), range.clone(), headings);
                    self.push(Event::Text(seen(maths.into())));
                    self.push(Event::Html("</span>".into()));
                }
            }
        }
    }

    fn start(&mut self, tag: Tag<'a>, range: Range<usize>, headings: &mut Headings) {
        if let (Tag::List(first), true) = (&tag, self.open.is_empty()) {
            self.list = first.map_or(OuterList::Bulleted, OuterList::Numbered);
            self.list_start = range.start;
            return self.open.push(false);
        }
        let depth = self.open.iter().filter(|shown| **shown).count();
        let is_shown = match tag {
            // Parts are shown with their whole, and a whole with its parts only: a list without items is none.
            Tag::Item | Tag::TableHead | Tag::TableRow | Tag::TableCell => self.open.last() == Some(&true),
            Tag::List(_) => depth + 1 < DEPTH_MAX,
            Tag::Table(_) => depth + 2 < DEPTH_MAX,
            _ => depth < DEPTH_MAX,
        };
        match tag {
            Tag::Item if self.open.len() == 1 && self.list != OuterList::None => {
                // Each item is a list of its own, so that it can be marked.
                let first = match &mut self.list {
                    OuterList::Numbered(next) => Some(std::mem::replace(next, next.saturating_add(1))),
                    OuterList::None | OuterList::Bulleted => None,
                };
                self.begin(range, headings);
                self.push(Event::Start(Tag::List(first)));
                self.push(Event::Start(Tag::Item));
                self.open.push(true);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let is_shielded = dest_url.contains(SHIELD);
                let written =
                    || self.shielded.pieces(range).into_iter().map(Piece::into_text).collect::<String>();
                self.targets.push(if is_shielded { written().into() } else { dest_url });
                self.open.push(false);
            }
            Tag::Heading { level, .. } => {
                let before = Headings { base: headings.base, last: headings.last };
                self.opening(is_shown, Event::Start(heading_start(headings.enter(level))), range, &before);
            }
            Tag::Table(columns) => {
                if self.open.is_empty() {
                    self.begin(range.clone(), headings);
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
                self.opening(is_shown, Event::Start(Tag::CodeBlock(plain)), range, headings);
            }
            Tag::HtmlBlock => self.opening(is_shown, Event::Start(Tag::Paragraph), range, headings),
            Tag::BlockQuote(_) => {
                self.opening(is_shown, Event::Start(Tag::BlockQuote(None)), range, headings);
            }
            tag => self.opening(is_shown, Event::Start(tag), range, headings),
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

    fn opening(&mut self, is_shown: bool, event: Event<'a>, range: Range<usize>, headings: &Headings) {
        if is_shown {
            self.put(event, range, headings);
        }
        self.open.push(is_shown);
    }

    /// Adds an event, and begins a block if none is open.
    fn put(&mut self, event: Event<'a>, range: Range<usize>, headings: &Headings) {
        if self.open.is_empty() {
            self.begin(range, headings);
        }
        self.push(event);
    }

    fn begin(&mut self, range: Range<usize>, headings: &Headings) {
        let outer = if self.list == OuterList::None { range.start } else { self.list_start };
        self.pieces.push(BlockEvents { events: Vec::new(), outer, heading: headings.last });
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
    const fn below(base: usize) -> Self {
        Self { base, last: base }
    }

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
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(render(text, 3).replace('\n', ""), expected, "{text}");
    }

    #[test]
    fn the_form_of_a_text_is_kept() {
        check(
            "# A\n\n#### B\n\n*c* **d** `e` ~~f~~",
            "<h4>A</h4><h5>B</h5><p><em>c</em> <strong>d</strong> <code dir=\"ltr\">e</code> <del>f</del></p>",
        );
        check("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li></ul><ul><li>c</li></ul>");
        check("3. a\n4. b", "<ol start=\"3\"><li>a</li></ol><ol start=\"4\"><li>b</li></ol>");
        check("```html\n<b>\n```", "<pre tabindex=\"0\"><code dir=\"ltr\">&lt;b&gt;</code></pre>");
        check(
            "| a |\n|--:|\n| b |",
            "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table></div>",
        );
    }

    #[test]
    fn nothing_of_a_texts_own_choosing_gets_into_the_page() {
        check("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
        check("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>");
        check(
            "[go](javascript:alert(1))",
            "<p>go<span class=\"target\" dir=\"ltr\"> (javascript:alert(1))</span></p>",
        );
        check(
            "![pixel](https://evil.example/?q=1 \"t\")",
            "<p>pixel<span class=\"target\" dir=\"ltr\"> (https://evil.example/?q=1)</span></p>",
        );
        check(
            "<https://evil.example>",
            "<p>https://evil.example<span class=\"target\" dir=\"ltr\"> (https://evil.example)</span></p>",
        );
        check(
            "<div class=\"wide\" style=\"position:fixed\">x</div>",
            "<p>&lt;div class=\"wide\" style=\"position:fixed\"&gt;x&lt;/div&gt;</p>",
        );
        check("a\u{202e}b\u{200b}c", "<p>abc</p>");
    }

    #[test]
    fn maths_is_shown_as_it_is_written() {
        let shown = |maths: &str| format!("<span class=\"maths\" dir=\"ltr\">{maths}</span>");
        check(r"So \(a_1\,b_1\) is *it*.", &format!("<p>So {} is <em>it</em>.</p>", shown(r"\(a_1\,b_1\)")));
        check(r"$$x \\ y$$ costs $5 and $6", &format!("<p>{} costs $5 and $6</p>", shown(r"$$x \\ y$$")));
        assert_eq!(
            render("\\[\na &= b \\\\\n- c\n= d\n\\]", 3).trim_end(),
            format!("<p>{}</p>", shown("\\[\na &amp;= b \\\\\n- c\n= d\n\\]"))
        );
        check(r"| \(a|b\) |", &format!("<p>| {} |</p>", shown(r"\(a|b\)")));
        check(r"`\(a\)`", "<p><code dir=\"ltr\">\\(a\\)</code></p>");
        check(r"\(<b>\)", &format!("<p>{}</p>", shown(r"\(&lt;b&gt;\)")));
    }

    /// The text of HTML.
    fn words(html: &str) -> String {
        let mut words = String::new();
        for (index, piece) in html.split('<').enumerate() {
            words.push_str(if index == 0 { piece } else { piece.split_once('>').unwrap().1 });
        }
        words
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&nbsp;", "\u{a0}")
            .replace("&amp;", "&")
    }

    /// Maths of every kind with what Markdown would read in it.
    fn maths() -> impl Strategy<Value = String> {
        let inside = prop::collection::vec(
            prop::sample::select(vec![
                "a", " ", "_", "*", "\\,", "\\\\", "\\{", "\\}", "^2", "|", "<", "&", "\n- b", "\n= c",
                "[x](y)", "\\le ", "**", "~~", "\n> d", "#",
            ]),
            1..12,
        );
        (0..4_usize, inside).prop_map(|(kind, inside)| {
            let inside = format!("x{}x", inside.concat());
            match kind {
                0 => format!("\\({inside}\\)"),
                1 => format!("\\[{inside}\\]"),
                2 => format!("$${inside}$$"),
                _ => format!("\\begin{{a}}{inside}\\end{{a}}"),
            }
        })
    }

    proptest! {
        #[test]
        fn maths_keeps_every_byte(maths in maths(), before in "[a-z ]{0,9}", after in "( [a-z* _`]{0,9})?") {
            let text = format!("{before}{maths}{after}");
            let shown = words(&render(&text, 3));
            prop_assert!(shown.contains(&maths), "{text:?} is shown as {shown:?}");
        }
    }

    #[test]
    fn deep_nesting_is_flattened() {
        let html = render(&format!("{} deep", "> ".repeat(5_000)), 3);
        assert_eq!(html.matches("<blockquote>").count(), DEPTH_MAX);
        assert!(html.contains("deep"), "{html}");
        let html = render(&format!("{}deep", "- ".repeat(5_000)), 3);
        assert!(html.matches("<ul>").count() <= DEPTH_MAX && html.contains("deep"), "{html}");
        assert_eq!(
            html.matches("<ul>").count(),
            html.matches("<li>").count(),
            "a list has items only: {html}"
        );
        let html = render(&format!("{}| a |\n{}|---|\n", "> ".repeat(11), "> ".repeat(11)), 3);
        assert!(!html.contains("<t") && html.contains('a'), "no table without room for its cells: {html}");
    }
}
