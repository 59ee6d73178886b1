//! A picture with a row for each model: its name, its marks and a note, above one scale.

use super::canvas::{Anchor, Canvas, FAINT, INK, LINE, picture, short};
use super::scale::Scale;

/// The columns of the marks.
pub(super) const MARKS: (i32, i32) = (250, 690);
/// Where the notes begin.
const NOTES_LEFT: i32 = 712;
const ROW_HEIGHT: i32 = 26;
/// The room for a legend above the rows, and for the scale below them.
const TOP: i32 = 30;
const BOTTOM: i32 = 24;
/// As many letters as fit beside the marks.
const NAME_LETTERS_MAX: usize = 33;

/// The name and the note of a row.
pub(super) struct ChartRow {
    pub(super) name: String,
    pub(super) note: String,
}

/// The scale below the rows.
pub(super) struct Axis<'a> {
    pub(super) scale: &'a Scale,
    /// A value as text.
    pub(super) text: fn(f64) -> String,
}

/// What is around the rows.
pub(super) struct Frame<'a> {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) axis: Option<Axis<'a>>,
    /// Draws the legend; its baseline is 12 pixels from the top.
    pub(super) legend: fn(&Canvas<'_>),
}

/// The name of a line of the figures; those without one are all further models.
pub(super) fn name_of(model: Option<&str>) -> String {
    model.unwrap_or("all others").to_owned()
}

/// The picture of these lines; `paint` draws the marks of one around the height of its middle. `None` without lines.
pub(super) fn picture_of<Line>(
    frame: &Frame<'_>,
    lines: &[Line],
    row: impl Fn(&Line) -> ChartRow,
    paint: impl Fn(&Canvas<'_>, &Line, i32),
) -> Option<String> {
    let bottom = TOP + ROW_HEIGHT * i32::try_from(lines.len()).unwrap_or(i32::MAX / ROW_HEIGHT / 2);
    let svg = picture(frame.id, frame.title, bottom + BOTTOM, |canvas| {
        (frame.legend)(canvas);
        if let Some(Axis { scale, text }) = &frame.axis {
            for line in scale.lines() {
                let x = scale.at(line);
                canvas.path(vec![(x, TOP), (x, bottom)], LINE, 1);
                canvas.text(&text(line), (x, bottom + 12), FAINT, Anchor::Middle);
            }
        }
        for (line, index) in lines.iter().zip(0..) {
            let middle = TOP + ROW_HEIGHT * index + ROW_HEIGHT / 2;
            let ChartRow { name, note } = row(line);
            canvas.text(&short(&name, NAME_LETTERS_MAX), (MARKS.0 - 12, middle), INK, Anchor::End);
            canvas.text(&note, (NOTES_LEFT, middle), FAINT, Anchor::Start);
            paint(canvas, line, middle);
        }
    });
    (!lines.is_empty()).then_some(svg)
}
