//! What models cost and how often they win: a point for each model, and the line of those that nothing beats.

use parallel_llm_service::{Figures, ModelWins, Share};

use super::canvas::{ACCENT, Anchor, Canvas, FAINT, INK, LINE, picture, short};
use super::figure::{Figure, counted, money, percent};
use super::scale::Scale;
use super::table::{Table, share, usd};

const TITLE: &str = "Cost and quality";
/// The edges of the field of points.
const LEFT: i32 = 56;
const RIGHT: i32 = 560;
const TOP: i32 = 30;
const BOTTOM: i32 = 400;
/// The height of a line of the list of names.
const NAME_HEIGHT: i32 = 16;
const NAME_LETTERS_MAX: usize = 38;
/// A range of costs this wide is drawn on a logarithmic scale.
const LOGARITHMIC_FROM: f64 = 20.0;

/// A model that can be drawn.
struct Point<'a> {
    model: &'a ModelWins,
    cost: f64,
    wins: Share,
}

impl<'a> Point<'a> {
    fn of(model: &'a ModelWins) -> Option<Self> {
        Some(Self { model, cost: model.cost_per_run_usd?, wins: model.share? })
    }
}

pub(super) fn figure(figures: &Figures) -> Figure {
    let points: Vec<Point<'_>> = figures.wins.iter().filter_map(Point::of).collect();
    let left_out = figures.wins.len() - points.len();
    let left_out = match left_out {
        0 => String::new(),
        more => format!(
            " {} without enough runs or a known cost left out.",
            if more == 1 { "1 model is".to_owned() } else { format!("{more} models are") }
        ),
    };
    Figure {
        id: "cost-quality",
        title: TITLE,
        sentence: format!(
            "What an answer costs in a run, and how often it wins, for {}.{left_out}",
            counted(points.len() as u64, "model")
        ),
        reading: "Up is better, left is cheaper; the upright line is the 95 % interval of the wins. A filled point is on \
                  the Pareto line: no other model wins as often for less.",
        svg: (!points.is_empty()).then(|| draw(&points)),
        table: table(&figures.wins),
        details: None,
    }
}

fn draw(points: &[Point<'_>]) -> String {
    let costs = || points.iter().map(|point| point.cost);
    let (least, most) = (costs().fold(f64::MAX, f64::min), costs().fold(0.0, f64::max));
    let across = if least > 0.0 && most / least > LOGARITHMIC_FROM {
        Scale::logarithmic(costs(), (LEFT, RIGHT))
    } else {
        Scale::to(most * 1.1, (LEFT, RIGHT))
    };
    let best = points.iter().map(|point| point.wins.interval[1]).fold(0.0, f64::max);
    let up = Scale::to((best * 1.05).min(1.0), (BOTTOM, TOP));
    picture("cost-quality", TITLE, BOTTOM + 44, |canvas| {
        grid(canvas, &across, &up);
        let mut line: Vec<(i32, i32)> = points
            .iter()
            .filter(|point| point.model.is_on_pareto_line)
            .map(|point| (across.at(point.cost), up.at(point.wins.share)))
            .collect();
        line.sort_unstable();
        canvas.path(line, ACCENT, 1);
        for (point, number) in points.iter().zip(1..) {
            let place = (across.at(point.cost), up.at(point.wins.share));
            let [low, high] = point.wins.interval.map(|end| up.at(end));
            canvas.path(vec![(place.0, low), (place.0, high)], FAINT, 1);
            canvas.point(place, ACCENT, point.model.is_on_pareto_line);
            canvas.text(&format!("{number}"), (place.0 + 8, place.1 - 10), INK, Anchor::Start);
            let name = format!("{number}  {}", short(&point.model.model, NAME_LETTERS_MAX));
            canvas.text(&name, (RIGHT + 24, TOP + NAME_HEIGHT * (number - 1)), INK, Anchor::Start);
        }
    })
}

fn grid(canvas: &Canvas<'_>, across: &Scale, up: &Scale) {
    for line in across.lines() {
        let x = across.at(line);
        canvas.path(vec![(x, TOP), (x, BOTTOM)], LINE, 1);
        canvas.text(&money(Some(line)), (x, BOTTOM + 14), FAINT, Anchor::Middle);
    }
    for line in up.lines() {
        let y = up.at(line);
        canvas.path(vec![(LEFT, y), (RIGHT, y)], LINE, 1);
        canvas.text(&percent(line), (LEFT - 8, y), FAINT, Anchor::End);
    }
    canvas.text("cost of its answers in a run", (LEFT.midpoint(RIGHT), BOTTOM + 34), FAINT, Anchor::Middle);
    canvas.text("wins", (LEFT - 8, 12), FAINT, Anchor::End);
    canvas.text("models", (RIGHT + 24, 12), FAINT, Anchor::Start);
}

fn table(lines: &[ModelWins]) -> Table {
    let row = |line: &ModelWins| {
        vec![
            line.model.clone(),
            line.runs.to_string(),
            share(line.share.map(|it| it.share)),
            usd(line.cost_per_run_usd),
            line.runs_of_unknown_cost.to_string(),
            if line.is_on_pareto_line { "yes" } else { "no" }.to_owned(),
        ]
    };
    let columns = vec![
        "Model",
        "Runs",
        "Share of wins",
        "Cost per run (USD)",
        "Runs of unknown cost",
        "On the Pareto line",
    ];
    Table { columns, rows: lines.iter().map(row).collect() }
}
