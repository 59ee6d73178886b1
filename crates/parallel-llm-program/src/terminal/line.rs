//! Lines of styled text, and the wrapping of words into such lines.

use anstyle::Style;
use textwrap::WordSeparator;
use textwrap::core::{Fragment, Word};
use textwrap::wrap_algorithms::wrap_first_fit;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The text, without line ends.
    pub text: String,
    /// Its style.
    pub style: Style,
}

impl Span {
    /// Text in this style.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its text, from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// A line in one style.
    pub fn of(text: impl Into<String>, style: Style) -> Self {
        Self { spans: vec![Span::new(text, style)] }
    }

    /// Its width in columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The line as sent to a terminal, with or without colours.
    pub fn render(&self, is_coloured: bool) -> String {
        let text = |span: &Span| match span.style {
            style if is_coloured && !style.is_plain() => format!("{style}{}{style:#}", span.text),
            _ => span.text.clone(),
        };
        self.spans.iter().map(text).collect::<String>().trim_end().to_owned()
    }

    /// The line with a prefix.
    #[must_use]
    pub fn prefixed(mut self, prefix: &str, style: Style) -> Self {
        self.spans.insert(0, Span::new(prefix, style));
        self
    }

    /// The line, filled with spaces up to this width.
    #[must_use]
    pub fn padded(mut self, width: usize) -> Self {
        let room = width.saturating_sub(self.width());
        self.spans.push(Span::new(" ".repeat(room), Style::new()));
        self
    }

    /// The line cut into pieces of at most this width, even within words.
    pub fn split(self, width: usize) -> Vec<Self> {
        if self.width() <= width {
            return vec![self];
        }
        let mut lines = Vec::new();
        let (mut line, mut used) = (Self::default(), 0);
        for Span { text, style } in self.spans {
            let mut piece = String::new();
            for character in text.chars() {
                let columns = character.width().unwrap_or(0);
                if used + columns > width && used > 0 {
                    line.spans.push(Span::new(std::mem::take(&mut piece), style));
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                }
                piece.push(character);
                used += columns;
            }
            line.spans.push(Span::new(piece, style));
        }
        lines.push(line);
        lines
    }
}

/// A word, which may have several styles, and the spaces after it.
#[derive(Clone, Debug, Default)]
struct StyledWord {
    line: Line,
    width: usize,
    blanks: usize,
}

impl Fragment for StyledWord {
    #[expect(clippy::cast_precision_loss, reason = "a terminal's line is far shorter than a float is exact")]
    fn width(&self) -> f64 {
        self.width as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "a terminal's line is far shorter than a float is exact")]
    fn whitespace_width(&self) -> f64 {
        self.blanks as f64
    }

    fn penalty_width(&self) -> f64 {
        0.0
    }
}

/// Wraps words at this width. Words wider than a line are cut.
#[expect(clippy::cast_precision_loss, reason = "a terminal's line is far shorter than a float is exact")]
pub fn wrap(spans: &[Span], width: usize) -> Vec<Line> {
    let fragments = fragments(spans, width);
    wrap_first_fit(&fragments, &[width as f64]).into_iter().map(joined).collect()
}

fn joined(fragments: &[StyledWord]) -> Line {
    let mut line = Line::default();
    for (index, fragment) in fragments.iter().enumerate() {
        line.spans.extend(fragment.line.spans.iter().cloned());
        if fragment.blanks > 0 && index + 1 < fragments.len() {
            let style = fragment.line.spans.last().map_or_else(Style::new, |span| span.style);
            line.spans.push(Span::new(" ".repeat(fragment.blanks), style));
        }
    }
    line
}

fn fragments(spans: &[Span], width: usize) -> Vec<StyledWord> {
    let mut fragments: Vec<StyledWord> = Vec::new();
    for span in spans {
        for (index, word) in WordSeparator::new().find_words(&span.text).enumerate() {
            let piece = Span::new(word.word, span.style);
            match fragments.last_mut().filter(|last| index == 0 && last.blanks == 0) {
                // The same word goes on in another style.
                Some(last) => last.line.spans.push(piece),
                None => fragments.push(StyledWord { line: Line { spans: vec![piece] }, width: 0, blanks: 0 }),
            }
            if let Some(last) = fragments.last_mut() {
                last.blanks = blanks(&word);
            }
        }
    }
    fragments.into_iter().flat_map(|fragment| cut(fragment, width)).collect()
}

fn blanks(word: &Word<'_>) -> usize {
    usize::from(!word.whitespace.is_empty())
}

/// The word, cut into pieces that fit into a line.
fn cut(fragment: StyledWord, width: usize) -> Vec<StyledWord> {
    let blanks = fragment.blanks;
    let pieces = fragment.line.split(width).into_iter();
    let mut pieces: Vec<StyledWord> =
        pieces.map(|line| StyledWord { width: line.width(), line, blanks: 0 }).collect();
    if let Some(last) = pieces.last_mut() {
        last.blanks = blanks;
    }
    pieces
}
