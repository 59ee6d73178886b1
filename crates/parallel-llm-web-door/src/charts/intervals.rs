//! Shares with their intervals on one scale from 0 to 100 %: wins, and the value of seats.

use parallel_llm_service::{Figures, ModelInsight, ModelWins, Verdict};

use super::canvas::{ACCENT, Anchor, BAD, Canvas, FAINT, GOOD, WARN};
use super::figure::{Figure, counted, percent};
use super::rows::{Axis, ChartRow, Frame, MARKS, picture_of};
use super::scale::Scale;
use super::table::{Table, share, usd};

/// Half the height of a mark.
const HALF: i32 = 7;
/// The share above which a seat is worth its place, as the insights judge.
const WORTH: f64 = 0.1;

/// How often each model won.
pub(super) fn wins(figures: &Figures) -> Figure {
    const TITLE: &str = "Wins";
    let scale = Scale::to(1.0, MARKS);
    let frame = Frame {
        id: "wins",
        title: TITLE,
        axis: Some(Axis { scale: &scale, text: percent }),
        legend: legend_of_wins,
    };
    let row = |line: &ModelWins| ChartRow {
        name: line.model.clone(),
        note: format!("{} of {}", line.wins, counted(line.runs, "run")),
    };
    let svg = picture_of(&frame, &figures.wins, row, |canvas, line, middle| {
        let chance = scale.at(line.chance_share);
        canvas.path(vec![(chance, middle - HALF), (chance, middle + HALF)], FAINT, 2);
        match line.share {
            Some(share) => draw(canvas, &scale, share.share, share.interval, middle),
            None => too_few(canvas, line.runs, middle),
        }
    });
    let most = figures.wins.iter().map(|line| line.runs).max().unwrap_or_default();
    Figure {
        id: "wins",
        title: TITLE,
        sentence: format!(
            "How often the answer of each model was chosen, or was the base of the final answer, against the others of \
             its panel; {} at most.",
            counted(most, "run")
        ),
        reading: "The point is the share, the line its 95 % interval, and the upright stroke what chance would give. An \
                  interval beside the stroke is a difference; one across it may be chance.",
        svg,
        table: table_of_wins(&figures.wins),
        details: None,
    }
}

/// How often each model mattered.
pub(super) fn value(figures: &Figures) -> Figure {
    const TITLE: &str = "Value of each seat";
    let insights = &figures.value;
    let scale = Scale::to(1.0, MARKS);
    let frame = Frame {
        id: "value",
        title: TITLE,
        axis: Some(Axis { scale: &scale, text: percent }),
        legend: legend_of_value,
    };
    let row = |line: &ModelInsight| ChartRow { name: line.model.clone(), note: verdict(line).to_owned() };
    let svg = picture_of(&frame, &insights.models, row, |canvas, line, middle| {
        let worth = scale.at(WORTH);
        canvas.path(vec![(worth, middle - HALF), (worth, middle + HALF)], FAINT, 2);
        if line.runs < figures.cases_min {
            return too_few(canvas, line.runs, middle);
        }
        draw(canvas, &scale, line.mattered_share, line.mattered_interval, middle);
        let x = MARKS.1 + 5;
        match line.verdict {
            Verdict::Keep => {
                canvas.shape(vec![(x, middle + 4), (x + 5, middle - 5), (x + 10, middle + 4)], GOOD);
            }
            Verdict::LeaveOut => {
                canvas.shape(vec![(x, middle - 4), (x + 10, middle - 4), (x + 5, middle + 5)], BAD);
            }
            Verdict::Open => canvas.frame([(x + 1, middle - 4), (x + 9, middle + 4)], WARN),
        }
    });
    Figure {
        id: "value",
        title: TITLE,
        sentence: format!(
            "How often the final answer was based on a model or took wording from it, in {} that show it.",
            counted(insights.runs, "run")
        ),
        reading: "The point is the share, the line its 95 % interval, and the upright stroke one run in ten: a model below \
                  it may be left out, one above it earns its seat.",
        svg,
        table: table_of_value(&insights.models),
        details: None,
    }
}

fn draw(canvas: &Canvas<'_>, scale: &Scale, share: f64, [low, high]: [f64; 2], middle: i32) {
    canvas.path(vec![(scale.at(low), middle), (scale.at(high), middle)], ACCENT, 2);
    canvas.point((scale.at(share), middle), ACCENT, true);
}

fn too_few(canvas: &Canvas<'_>, runs: u64, middle: i32) {
    canvas.text(&format!("too few runs: {runs}"), (MARKS.1 - 4, middle), FAINT, Anchor::End);
}

const fn verdict(line: &ModelInsight) -> &'static str {
    match line.verdict {
        Verdict::Keep => "earns its seat",
        Verdict::LeaveOut => "may be left out",
        Verdict::Open => "too early to say",
    }
}

fn legend_of_wins(canvas: &Canvas<'_>) {
    legend(canvas, "chance");
}

fn legend_of_value(canvas: &Canvas<'_>) {
    legend(canvas, "one run in ten");
}

fn legend(canvas: &Canvas<'_>, stroke: &str) {
    canvas.path(vec![(MARKS.0, 12), (MARKS.0 + 30, 12)], ACCENT, 2);
    canvas.point((MARKS.0 + 15, 12), ACCENT, true);
    canvas.text("share and interval", (MARKS.0 + 38, 12), FAINT, Anchor::Start);
    canvas.path(vec![(MARKS.0 + 190, 5), (MARKS.0 + 190, 19)], FAINT, 2);
    canvas.text(stroke, (MARKS.0 + 198, 12), FAINT, Anchor::Start);
}

fn table_of_wins(lines: &[ModelWins]) -> Table {
    let row = |line: &ModelWins| {
        let interval = |end: usize| share(line.share.map(|it| it.interval[end]));
        vec![
            line.model.clone(),
            line.runs.to_string(),
            line.wins.to_string(),
            share(line.share.map(|it| it.share)),
            interval(0),
            interval(1),
            share(Some(line.chance_share)),
        ]
    };
    let columns = vec!["Model", "Runs", "Wins", "Share", "Low (95 %)", "High (95 %)", "By chance"];
    Table { columns, rows: lines.iter().map(row).collect() }
}

fn table_of_value(lines: &[ModelInsight]) -> Table {
    let row = |line: &ModelInsight| {
        vec![
            line.model.clone(),
            line.runs.to_string(),
            line.mattered_runs.to_string(),
            share(Some(line.mattered_share)),
            share(Some(line.mattered_interval[0])),
            share(Some(line.mattered_interval[1])),
            usd(line.cost_usd),
            verdict(line).to_owned(),
            line.sentence.clone(),
        ]
    };
    let columns = vec![
        "Model",
        "Runs",
        "Mattered",
        "Share",
        "Low (95 %)",
        "High (95 %)",
        "Cost (USD)",
        "Verdict",
        "In words",
    ];
    Table { columns, rows: lines.iter().map(row).collect() }
}
