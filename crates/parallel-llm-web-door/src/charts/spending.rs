//! What calls cost over time: a row of bars for each model.

use parallel_llm_service::{Figures, ModelSpending};

use super::canvas::{ACCENT, Anchor, Canvas, FAINT, LINE, WARN};
use super::figure::{Figure, calls_described, money};
use super::rows::{ChartRow, Frame, MARKS, name_of, picture_of};
use super::scale::Scale;
use super::strip::{Strip, moment};
use super::table::{Table, usd};

const TITLE: &str = "Cost";
/// Half the height of a row's bars.
const HALF: i32 = 10;

pub(super) fn figure(figures: &Figures) -> Figure {
    let lines: Vec<&ModelSpending> = figures.spending.iter().collect();
    let cells = || lines.iter().flat_map(|line| &line.cells);
    let strip = Strip::of(figures, cells().map(|cell| cell.start_ms));
    let most = cells().filter_map(|cell| cell.cost_usd).fold(0.0, f64::max);
    let scale = Scale::to(most, (0, 2 * HALF));
    let frame = Frame { id: "cost", title: TITLE, axis: None, legend };
    let row = |line: &&ModelSpending| ChartRow { name: name_of(line.model.as_deref()), note: note(line) };
    let svg = picture_of(&frame, &lines, row, |canvas, line, middle| {
        let bottom = middle + HALF;
        canvas.path(vec![(MARKS.0, bottom), (MARKS.1, bottom)], LINE, 1);
        for cell in &line.cells {
            let (left, right) = strip.edges(cell.start_ms);
            if let Some(cost) = cell.cost_usd.filter(|cost| *cost > 0.0) {
                canvas.block([(left, bottom - scale.at(cost).max(1)), (right, bottom)], ACCENT);
            }
            if cell.calls_of_unknown_cost > 0 {
                canvas.frame([(left, middle - HALF), (right, middle - HALF + 3)], WARN);
            }
        }
    });
    let calls = lines.iter().map(|line| line.calls).sum();
    Figure {
        id: "cost",
        title: TITLE,
        sentence: format!(
            "What {} cost; {}, and the highest bar is {}.",
            calls_described(calls, lines.len()),
            strip.described(),
            money(Some(most))
        ),
        reading: "All rows have the same scale. A frame above a cell means that the cost of a call is unknown, so that the \
                  bar may be too low.",
        svg,
        table: sums(&lines),
        details: Some(by_cell(&lines, figures.step_ms)),
    }
}

fn note(line: &ModelSpending) -> String {
    match (line.cost_usd, line.calls_of_unknown_cost) {
        (None, _) => "cost unknown".to_owned(),
        (Some(_), 0) => money(line.cost_usd),
        (Some(_), unknown) => format!("{} + {unknown} unknown", money(line.cost_usd)),
    }
}

fn legend(canvas: &Canvas<'_>) {
    canvas.block([(MARKS.0, 6), (MARKS.0 + 12, 18)], ACCENT);
    canvas.text("known cost", (MARKS.0 + 18, 12), FAINT, Anchor::Start);
    canvas.frame([(MARKS.0 + 120, 10), (MARKS.0 + 132, 13)], WARN);
    canvas.text("calls of unknown cost", (MARKS.0 + 138, 12), FAINT, Anchor::Start);
}

fn sums(lines: &[&ModelSpending]) -> Table {
    let row = |line: &&ModelSpending| {
        vec![
            name_of(line.model.as_deref()),
            line.calls.to_string(),
            usd(line.cost_usd),
            line.calls_of_unknown_cost.to_string(),
            line.calls_of_estimated_cost.to_string(),
        ]
    };
    let columns = vec!["Model", "Calls", "Cost (USD)", "Calls of unknown cost", "Calls of estimated cost"];
    Table { columns, rows: lines.iter().map(row).collect() }
}

fn by_cell(lines: &[&ModelSpending], step_ms: i64) -> Table {
    let mut rows = Vec::new();
    for line in lines {
        for cell in &line.cells {
            rows.push(vec![
                name_of(line.model.as_deref()),
                moment(cell.start_ms, step_ms),
                cell.calls.to_string(),
                usd(cell.cost_usd),
                cell.calls_of_unknown_cost.to_string(),
            ]);
        }
    }
    Table { columns: vec!["Model", "From (UTC)", "Calls", "Cost (USD)", "Calls of unknown cost"], rows }
}
