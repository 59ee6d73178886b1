//! Tables: each column as wide as its widest cell or as the terminal allows, with words wrapped.

use anstyle::Style;
use pulldown_cmark::{Alignment, Event, Tag, TagEnd};

use super::super::line::{Line, Span, wrap};
use super::events::Events;
use super::inline::Inline;
use super::{DIM, WIDTH_MIN};

/// The separator of two columns.
const GAP: &str = " │ ";
/// The narrowest column; below it the table is shown row by row.
const COLUMN_MIN: usize = 6;

pub(super) struct Table {
    alignments: Vec<Alignment>,
    /// The first row is the head.
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    /// Reads to the end of the table.
    pub(super) fn read(events: &mut Events<'_>, alignments: Vec<Alignment>) -> Self {
        let mut rows: Vec<Vec<Vec<Span>>> = Vec::new();
        let mut inline = Inline::default();
        for event in events.by_ref() {
            match event {
                Event::End(TagEnd::Table) => break,
                Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
                Event::End(TagEnd::TableCell) => {
                    let cell = inline.take().into_iter().flatten().collect();
                    if let Some(row) = rows.last_mut() {
                        row.push(cell);
                    }
                }
                event => inline.take_in(event),
            }
        }
        Self { alignments, rows }
    }

    pub(super) fn lines(&self, width: usize) -> Vec<Line> {
        let Some(widths) = self.widths(width) else { return self.row_by_row(width) };
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let row: Vec<Vec<Span>> =
                if index == 0 { row.iter().map(|cell| bold(cell)).collect() } else { row.clone() };
            lines.extend(self.side_by_side(&row, &widths));
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::of(rule.join("─┼─"), DIM));
            }
        }
        lines
    }

    /// The width of each column so that all fit; `None` if they cannot.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let columns = self.alignments.len();
        let gaps = GAP.chars().count() * columns.saturating_sub(1);
        let room = width.checked_sub(gaps).filter(|room| *room >= columns * COLUMN_MIN)?;
        let widest = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| cell_width(cell)).max().unwrap_or(0).max(1)
        };
        let wanted: Vec<usize> = (0..columns).map(widest).collect();
        // Columns wider than this level are cut to it, so that narrow ones keep their width.
        let fits = |level: usize| wanted.iter().map(|width| (*width).min(level)).sum::<usize>() <= room;
        let level = (COLUMN_MIN..=room).rev().find(|level| fits(*level)).unwrap_or(COLUMN_MIN);
        Some(wanted.into_iter().map(|width| width.min(level)).collect())
    }

    fn side_by_side(&self, row: &[Vec<Span>], widths: &[usize]) -> Vec<Line> {
        let cells: Vec<Vec<Line>> =
            widths.iter().enumerate().map(|(index, width)| self.cell(row, index, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let mut line = Line::default();
            for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if index > 0 {
                    line.spans.push(Span::new(GAP, DIM));
                }
                let piece = cell.get(number).cloned().unwrap_or_default();
                line.spans.extend(piece.padded(*width).spans);
            }
            line
        };
        (0..height).map(line).collect()
    }

    fn cell(&self, row: &[Vec<Span>], index: usize, width: usize) -> Vec<Line> {
        let lines = row.get(index).map(|cell| wrap(cell, width)).unwrap_or_default();
        let is_right = self.alignments.get(index) == Some(&Alignment::Right);
        let aligned = |line: Line| match width.saturating_sub(line.width()) {
            room if is_right && room > 0 => line.prefixed(&" ".repeat(room), Style::new()),
            _ => line,
        };
        lines.into_iter().map(aligned).collect()
    }

    /// Each row as lines of `title: cell`, for columns that do not fit next to each other.
    fn row_by_row(&self, width: usize) -> Vec<Line> {
        let Some((head, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            for (title, cell) in head.iter().zip(row) {
                let mut spans = bold(title);
                spans.push(Span::new(": ", Style::new()));
                spans.extend(cell.iter().cloned());
                lines.extend(wrap(&spans, width.max(WIDTH_MIN)));
            }
        }
        lines
    }
}

fn cell_width(cell: &[Span]) -> usize {
    Line { spans: cell.to_vec() }.width()
}

fn bold(cell: &[Span]) -> Vec<Span> {
    cell.iter().map(|span| Span::new(span.text.clone(), span.style.bold())).collect()
}
