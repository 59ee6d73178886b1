//! The picture of a terminal, as SVG for the manual.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// The size of a cell and of the margin, in pixels.
const CELL_WIDTH: f32 = 8.4;
const LINE_HEIGHT: f32 = 18.0;
const MARGIN: f32 = 14.0;
const FONT_SIZE: f32 = 14.0;

/// The colours of the page, of plain text and of the eight basic colours.
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
const PALETTE: [&str; 8] =
    ["#3b4048", "#e06c75", "#8cc265", "#d6a656", "#61a8e8", "#c080d8", "#4fb8c4", "#d7dae0"];

/// Text in one style, from a column on.
#[derive(Default)]
struct Span {
    column: u16,
    columns: u16,
    style: String,
    text: String,
}

/// The picture of a screen.
pub(crate) fn svg(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let width = f32::from(columns.get()) * CELL_WIDTH + 2.0 * MARGIN;
    let height = f32::from(rows.get()) * LINE_HEIGHT + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"{FONT_SIZE}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..rows.get() {
        let y = MARGIN + (f32::from(row) + 0.75) * LINE_HEIGHT;
        for span in spans(screen, row, columns.get()) {
            let Span { column, columns, style, text } = span;
            let x = MARGIN + f32::from(column) * CELL_WIDTH;
            let length = f32::from(columns) * CELL_WIDTH;
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            // The length keeps columns aligned in every font.
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" xml:space=\"preserve\"{style}>{text}</text>"
            );
        }
    }
    svg + "</svg>\n"
}

/// The words of a row: a gap or another style begins a new span.
fn spans(screen: &Screen, row: u16, columns: u16) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut is_open = false;
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        if cell.contents().trim().is_empty() {
            is_open = false;
            continue;
        }
        let style = style(cell);
        if !is_open || spans.last().is_none_or(|span| span.style != style) {
            spans.push(Span { column, style, ..Span::default() });
            is_open = true;
        }
        if let Some(span) = spans.last_mut() {
            span.text.push_str(cell.contents());
            span.columns += if cell.is_wide() { 2 } else { 1 };
        }
    }
    spans
}

fn style(cell: &Cell) -> String {
    let colour = match cell.fgcolor() {
        Color::Default => FOREGROUND.to_owned(),
        Color::Idx(index) => PALETTE[usize::from(index) % PALETTE.len()].to_owned(),
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    };
    let mut style = format!(" fill=\"{colour}\"");
    for (is_set, attribute) in [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.dim(), " opacity=\"0.6\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
    ] {
        if is_set {
            style += attribute;
        }
    }
    style
}
