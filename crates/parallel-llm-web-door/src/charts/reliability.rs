//! How calls ended over time: a strip of cells for each model.

use parallel_llm_service::{Figures, ModelReliability, ReliabilityCell};

use super::canvas::{Anchor, BAD, Canvas, FAINT, GOOD, LINE, WARN};
use super::figure::{Figure, calls_described, percent};
use super::rows::{ChartRow, Frame, MARKS, name_of, picture_of};
use super::strip::{Strip, moment};
use super::table::{Table, share};
use crate::text::figures::count;

const TITLE: &str = "Reliability";
/// Half the height of a cell.
const HALF: i32 = 9;

pub(super) fn figure(figures: &Figures) -> Figure {
    let lines: Vec<&ModelReliability> = figures.reliability.iter().collect();
    let strip = Strip::of(figures, lines.iter().flat_map(|line| &line.cells).map(|cell| cell.start_ms));
    let calls = lines.iter().map(|line| line.calls).sum();
    let frame = Frame { id: "reliability", title: TITLE, axis: None, legend };
    let row = |line: &&ModelReliability| ChartRow { name: name_of(line.model.as_deref()), note: note(line) };
    let svg = picture_of(&frame, &lines, row, |canvas, line, middle| {
        canvas.path(vec![(MARKS.0, middle + HALF), (MARKS.1, middle + HALF)], LINE, 1);
        for cell in &line.cells {
            draw(canvas, cell, strip.edges(cell.start_ms), middle);
        }
    });
    Figure {
        id: "reliability",
        title: TITLE,
        sentence: format!("How {} ended; {}.", calls_described(calls, lines.len()), strip.described()),
        reading: "The filled part of a cell from below is the share of whole answers; above it stands the most frequent \
                  failure of the cell. A cell without calls is empty.",
        svg,
        table: sums(&lines),
        details: Some(cells(&lines, figures.step_ms)),
    }
}

fn note(line: &ModelReliability) -> String {
    match line.answered_share {
        Some(answered) => format!("{} of {}", percent(answered.share), count(line.calls)),
        None => format!("{} of {} whole", count(line.answered), count(line.calls)),
    }
}

fn draw(canvas: &Canvas<'_>, cell: &ReliabilityCell, (left, right): (i32, i32), middle: i32) {
    let measured = cell.measured();
    let (top, bottom) = (middle - HALF, middle + HALF);
    if measured == 0 {
        // Calls that say nothing about the model.
        canvas.block([(left, bottom - 2), (right, bottom)], FAINT);
        return;
    }
    let height = (f64::from(2 * HALF) * cell.answered as f64 / measured as f64).round() as i32;
    // Neither a failure nor an answer disappears beside many others.
    let least_failed = if cell.answered == measured { 0 } else { 4 };
    let least_answered = if cell.answered == 0 { 0 } else { 2 };
    let edge = bottom - height.clamp(least_answered, 2 * HALF - least_failed);
    if cell.answered > 0 {
        canvas.block([(left, edge), (right, bottom)], GOOD);
    }
    if cell.answered < measured {
        mark(canvas, Failing::of(cell), [left, top, right, edge]);
    }
}

/// The most frequent failure of a cell.
#[derive(Clone, Copy)]
enum Failing {
    Upstream,
    RateLimited,
    Cut,
    Other,
}

impl Failing {
    fn of(cell: &ReliabilityCell) -> Self {
        let kinds = [
            (cell.upstream, Self::Upstream),
            (cell.rate_limited, Self::RateLimited),
            (cell.cut, Self::Cut),
            (cell.other, Self::Other),
        ];
        kinds.into_iter().rev().max_by_key(|(count, _)| *count).map_or(Self::Other, |(_, kind)| kind)
    }
}

/// Each failure has a form of its own, so that nobody needs to tell colours apart.
fn mark(canvas: &Canvas<'_>, failing: Failing, [left, top, right, bottom]: [i32; 4]) {
    let middle = left.midpoint(right);
    match failing {
        Failing::Upstream => canvas.block([(left, top), (right, bottom)], BAD),
        Failing::RateLimited => canvas.frame([(left, top), (right, bottom)], WARN),
        Failing::Cut => canvas.block([(left, top), (middle, bottom)], WARN),
        Failing::Other => canvas.block([(middle, top), (right, bottom)], FAINT),
    }
}

fn legend(canvas: &Canvas<'_>) {
    canvas.block([(MARKS.0, 6), (MARKS.0 + 12, 18)], GOOD);
    canvas.text("whole answer", (MARKS.0 + 18, 12), FAINT, Anchor::Start);
    let kinds = [
        (Failing::Upstream, "error (5xx)", 110),
        (Failing::RateLimited, "limit (429)", 212),
        (Failing::Cut, "cut", 304),
        (Failing::Other, "other failure", 350),
    ];
    for (failing, name, left) in kinds {
        let left = MARKS.0 + left + 20;
        mark(canvas, failing, [left, 6, left + 12, 18]);
        canvas.text(name, (left + 18, 12), FAINT, Anchor::Start);
    }
}

const COUNTS: [&str; 6] =
    ["Answered", "Cut", "Limited (429)", "Errors (5xx)", "Other failures", "Not measured"];

fn counts(cell: &ReliabilityCell) -> [u64; 6] {
    [cell.answered, cell.cut, cell.rate_limited, cell.upstream, cell.other, cell.unmeasured]
}

/// A row for each model.
fn sums(lines: &[&ModelReliability]) -> Table {
    let row = |line: &&ModelReliability| {
        let mut sums = [0; 6];
        for cell in &line.cells {
            for (sum, count) in sums.iter_mut().zip(counts(cell)) {
                *sum += count;
            }
        }
        let interval = |end: usize| share(line.answered_share.map(|it| it.interval[end]));
        let mut row = vec![name_of(line.model.as_deref()), line.calls.to_string()];
        row.extend(sums.map(|sum| sum.to_string()));
        row.extend([share(line.answered_share.map(|it| it.share)), interval(0), interval(1)]);
        row
    };
    let columns = ["Model", "Calls measured"].into_iter().chain(COUNTS);
    let columns = columns.chain(["Share answered", "Low (95 %)", "High (95 %)"]).collect();
    Table { columns, rows: lines.iter().map(row).collect() }
}

/// A row for each cell of each model.
fn cells(lines: &[&ModelReliability], step_ms: i64) -> Table {
    let cell = |name: &str, cell: &ReliabilityCell| {
        let mut row = vec![name.to_owned(), moment(cell.start_ms, step_ms)];
        row.extend(counts(cell).map(|count| count.to_string()));
        row
    };
    let rows = lines.iter().flat_map(|line| {
        let name = name_of(line.model.as_deref());
        line.cells.iter().map(move |it| cell(&name, it)).collect::<Vec<_>>()
    });
    Table { columns: ["Model", "From (UTC)"].into_iter().chain(COUNTS).collect(), rows: rows.collect() }
}
