//! The styled words of a block.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{Event, Tag, TagEnd};

use super::{DIM, Span};

/// Rows of styled text. A hard line break begins a new one.
#[derive(Default)]
pub(super) struct Inline {
    rows: Vec<Vec<Span>>,
    /// The open styles, the innermost last, each combined with those around it.
    styles: Vec<Style>,
    /// The open links, the innermost last.
    links: Vec<Link>,
}

struct Link {
    address: String,
    text: String,
}

impl Inline {
    pub(super) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes the rows, leaving none.
    pub(super) fn take(&mut self) -> Vec<Vec<Span>> {
        std::mem::take(&mut self.rows)
    }

    /// Opens a style inside the open ones.
    pub(super) fn open(&mut self, style: Style) {
        let around = self.style();
        self.styles.push(
            style
                .fg_color(style.get_fg_color().or(around.get_fg_color()))
                .effects(style.get_effects() | around.get_effects()),
        );
    }

    /// Closes the innermost style.
    pub(super) fn close(&mut self) {
        self.styles.pop();
    }

    /// Adds an event that is not a block.
    pub(super) fn take_in(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.push(&text),
            Event::Code(code) => {
                self.open(Style::new().fg_color(Some(AnsiColor::Cyan.into())));
                self.push(&format!("`{code}`"));
                self.close();
            }
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.rows.push(Vec::new()),
            Event::TaskListMarker(is_done) => self.push(if is_done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]")),
            Event::Start(Tag::Strong) => self.open(Style::new().bold()),
            Event::Start(Tag::Emphasis) => self.open(Style::new().italic()),
            Event::Start(Tag::Strikethrough) => self.open(Style::new().strikethrough()),
            Event::End(TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough) => self.close(),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.links.push(Link { address: dest_url.into_string(), text: String::new() });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.end_link(),
            _ => {}
        }
    }

    /// Adds the address of a link, because its text could name another one.
    fn end_link(&mut self) {
        let Some(Link { address, text }) = self.links.pop() else { return };
        if text != address {
            self.open(DIM);
            self.push(&format!(" ({address})"));
            self.close();
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(text);
        }
        let style = self.style();
        // HTML may contain line ends, which are not line breaks.
        let span = Span::new(text.replace('\n', " "), style);
        match self.rows.last_mut() {
            Some(row) => row.push(span),
            None => self.rows.push(vec![span]),
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }
}
