//! How often two models gave equal answers: a cell for each two.

use parallel_llm_service::{AgreementMatrix, Figures, PairAgreement};
use plotters::prelude::Color;

use super::canvas::{ACCENT, Anchor, Canvas, FAINT, INK, LINE, picture, short};
use super::figure::{Figure, counted};
use super::rows::MARKS;
use super::table::{Table, share};

const TITLE: &str = "Agreement";
/// The height of a row, and the widest column.
const ROW_HEIGHT: i32 = 26;
const COLUMN_WIDTH_MAX: i32 = 56;
/// The right edge of the last column.
const RIGHT: i32 = 872;
const TOP: i32 = 26;
/// The colour of a cell whose answers are always equal. Text on a fuller one is hard to read.
const FULL: f64 = 0.45;

pub(super) fn figure(figures: &Figures) -> Figure {
    let matrix = &figures.agreement;
    Figure {
        id: "agreement",
        title: TITLE,
        sentence: format!(
            "How often two models gave equal answers, in {} whose answers can be compared.",
            counted(matrix.runs, "run")
        ),
        reading: "The number in a cell is the share in percent; the stronger the colour, the more they agree. Answers can \
                  be compared if the question has a short answer or if two are equal word for word. A cell with a dot \
                  has too few runs.",
        svg: (!matrix.models.is_empty()).then(|| draw(matrix)),
        table: table(matrix),
        details: None,
    }
}

fn draw(matrix: &AgreementMatrix) -> String {
    let size = i32::try_from(matrix.models.len()).unwrap_or_default().max(1);
    let width = ((RIGHT - MARKS.0) / size).min(COLUMN_WIDTH_MAX);
    picture("agreement", TITLE, TOP + size * ROW_HEIGHT + 6, |canvas| {
        for (model, index) in matrix.models.iter().zip(0..) {
            let number = index + 1;
            let (x, y) = (MARKS.0 + index * width, TOP + index * ROW_HEIGHT);
            let name = format!("{} {number}", short(model, 30));
            canvas.text(&name, (MARKS.0 - 12, y + ROW_HEIGHT / 2), INK, Anchor::End);
            canvas.text(&number.to_string(), (x + width / 2, 12), FAINT, Anchor::Middle);
            canvas.block([(x, y), (x + width - 1, y + ROW_HEIGHT - 1)], LINE);
        }
        for pair in &matrix.pairs {
            for (row, column) in [(pair.one, pair.other), (pair.other, pair.one)] {
                let [row, column] = [row, column].map(|index| i32::try_from(index).unwrap_or_default());
                draw_pair(canvas, pair, (MARKS.0 + column * width, TOP + row * ROW_HEIGHT), width);
            }
        }
    })
}

fn draw_pair(canvas: &Canvas<'_>, pair: &PairAgreement, (x, y): (i32, i32), width: i32) {
    let place = (x + width / 2, y + ROW_HEIGHT / 2);
    let Some(equal) = pair.share else {
        canvas.text("·", place, FAINT, Anchor::Middle);
        return;
    };
    canvas.block([(x, y), (x + width - 1, y + ROW_HEIGHT - 1)], ACCENT.mix(FULL * equal.share));
    canvas.text(&format!("{:.0}", equal.share * 100.0), place, INK, Anchor::Middle);
}

fn table(matrix: &AgreementMatrix) -> Table {
    let name = |index: usize| matrix.models.get(index).cloned().unwrap_or_default();
    let row = |pair: &PairAgreement| {
        let interval = |end: usize| share(pair.share.map(|it| it.interval[end]));
        vec![
            name(pair.one),
            name(pair.other),
            pair.runs.to_string(),
            pair.equal.to_string(),
            share(pair.share.map(|it| it.share)),
            interval(0),
            interval(1),
        ]
    };
    let columns = vec!["Model", "Other model", "Runs", "Equal", "Share", "Low (95 %)", "High (95 %)"];
    Table { columns, rows: matrix.pairs.iter().map(row).collect() }
}
