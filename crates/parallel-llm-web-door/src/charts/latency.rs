//! How long calls took: a box for each model, and an arrow for the calls that never ended well.

use parallel_llm_service::{Figures, ModelLatency, Quantiles};

use super::canvas::{ACCENT, Anchor, BAD, Canvas, FAINT, INK, Place};
use super::figure::{Figure, calls_described};
use super::rows::{Axis, ChartRow, Frame, MARKS, name_of, picture_of};
use super::scale::Scale;
use super::table::{Table, cell};
use crate::text::figures::{count, duration};

/// Half the height of a box.
const BOX: i32 = 7;
/// The room in which an arrow stands for calls that never ended well.
const NEVER: i32 = 14;

/// The times to the whole answer.
pub(super) fn whole_answers(figures: &Figures) -> Figure {
    let lines: Vec<&ModelLatency> = figures.latency.iter().filter(|line| line.calls > 0).collect();
    let calls = lines.iter().map(|line| line.calls).sum();
    Figure {
        id: "latency",
        title: "Time to the whole answer",
        sentence: format!(
            "How long {} took, with those that failed or were cut counted as endless.",
            calls_described(calls, lines.len())
        ),
        reading: READING,
        svg: boxes("latency", "Time to the whole answer", &lines, |line| (line.whole_answer, line.calls)),
        table: table(&lines, |line| (line.whole_answer, line.calls)),
        details: None,
    }
}

/// The times to the first token.
pub(super) fn first_tokens(figures: &Figures) -> Figure {
    let lines: Vec<&ModelLatency> =
        figures.latency.iter().filter(|line| line.first_token_calls > 0).collect();
    let calls = lines.iter().map(|line| line.first_token_calls).sum();
    Figure {
        id: "first-token",
        title: "Time to the first token",
        sentence: format!(
            "How long {} took until the first text or reasoning, with those that failed counted as endless.",
            calls_described(calls, lines.len())
        ),
        reading: READING,
        svg: boxes("first-token", "Time to the first token", &lines, |line| {
            (line.first_token, line.first_token_calls)
        }),
        table: table(&lines, |line| (line.first_token, line.first_token_calls)),
        details: None,
    }
}

const READING: &str = "The box holds the middle half of the calls and the line the middle four fifths; the bar in the box \
                       is the median. An arrow means that so many calls failed that the line or the box has no end.";

/// Quantiles, and the number of calls behind them.
type Times = fn(&ModelLatency) -> (Option<Quantiles>, u64);

fn boxes(id: &'static str, title: &'static str, lines: &[&ModelLatency], times: Times) -> Option<String> {
    let known = lines.iter().filter_map(|line| times(line).0);
    let values = known.flat_map(|it| [it.p10, it.p25, it.p50, it.p75, it.p90]).flatten();
    // A logarithm needs more than nothing.
    let scale = Scale::logarithmic(values.map(|ms| ms.max(1) as f64), (MARKS.0, MARKS.1 - NEVER));
    let frame =
        Frame { id, title, axis: Some(Axis { scale: &scale, text: |ms| duration(ms as u64) }), legend };
    let row = |line: &&ModelLatency| ChartRow { name: name_of(line.model.as_deref()), note: note(line) };
    picture_of(&frame, lines, row, |canvas, line, middle| match times(line) {
        (Some(times), _) => draw(canvas, &scale, times, middle),
        (None, calls) => {
            let text = format!("too few calls: {calls}");
            canvas.text(&text, (MARKS.0 + 4, middle), FAINT, Anchor::Start);
        }
    })
}

fn note(line: &ModelLatency) -> String {
    let failed = line.cut + line.failed;
    let failed = if failed == 0 { String::new() } else { format!(", {} failed", count(failed)) };
    format!("{} calls{failed}", count(line.calls))
}

fn draw(canvas: &Canvas<'_>, scale: &Scale, times: Quantiles, middle: i32) {
    let at = |ms: Option<u64>| ms.map_or(MARKS.1, |ms| scale.at(ms.max(1) as f64));
    let Quantiles { p10, p25, p50, p75, p90 } = times;
    canvas.path(vec![(at(p10), middle), (at(p90), middle)], ACCENT, 2);
    let corners = [(at(p25), middle - BOX), (at(p75), middle + BOX)];
    if p25.is_some() {
        canvas.block(corners, plotters::prelude::Color::mix(&ACCENT, 0.35));
        canvas.frame(corners, ACCENT);
    }
    if p50.is_some() {
        canvas.path(vec![(at(p50), middle - BOX), (at(p50), middle + BOX)], INK, 3);
    }
    if p90.is_none() {
        canvas.shape(arrow((MARKS.1, middle)), BAD);
    }
}

/// An arrow to the right with its tip near this place.
fn arrow((x, y): Place) -> Vec<Place> {
    vec![(x - 2, y - 7), (x + 10, y), (x - 2, y + 7)]
}

fn legend(canvas: &Canvas<'_>) {
    canvas.text("a tenth of the calls failed, or more", (MARKS.1 - 18, 12), FAINT, Anchor::End);
    canvas.shape(arrow((MARKS.1 - 8, 12)), BAD);
}

fn table(lines: &[&ModelLatency], times: Times) -> Table {
    let row = |line: &&ModelLatency| {
        let (quantiles, calls) = times(line);
        let ms = |of: fn(Quantiles) -> Option<u64>| cell(quantiles.and_then(of));
        vec![
            name_of(line.model.as_deref()),
            calls.to_string(),
            line.answered.to_string(),
            line.cut.to_string(),
            line.failed.to_string(),
            line.unmeasured.to_string(),
            ms(|it| it.p10),
            ms(|it| it.p25),
            ms(|it| it.p50),
            ms(|it| it.p75),
            ms(|it| it.p90),
        ]
    };
    let columns = vec![
        "Model",
        "Calls measured",
        "Answered",
        "Cut",
        "Failed",
        "Not measured",
        "10 % within (ms)",
        "25 % within (ms)",
        "50 % within (ms)",
        "75 % within (ms)",
        "90 % within (ms)",
    ];
    Table { columns, rows: lines.iter().map(row).collect() }
}
