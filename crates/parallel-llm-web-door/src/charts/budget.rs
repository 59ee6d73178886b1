//! The budget of the day, burning down hour by hour.

use parallel_llm_service::{BudgetDay, Figures};

use super::canvas::{ACCENT, Anchor, Canvas, FAINT, INK, LINE, Place, picture};
use super::figure::{Figure, counted, money};
use super::scale::Scale;
use super::table::{Table, usd};

const TITLE: &str = "Budget of the day";
const LEFT: i32 = 70;
const RIGHT: i32 = 860;
const TOP: i32 = 34;
const BOTTOM: i32 = 230;
const DAY_HOURS: f64 = 24.0;
const HOUR_MS: f64 = 3_600_000.0;

pub(super) fn figure(figures: &Figures) -> Figure {
    let day = &figures.budget;
    Figure {
        id: "budget",
        title: TITLE,
        sentence: sentence(day),
        reading: "The thick line is what the known costs leave; the thin one below it also counts the most that calls of \
                  unknown cost can have cost. The faint line is an even pace. Hours are in UTC, when the limit begins anew.",
        svg: Some(draw(day, figures.to_ms)),
        table: table(day),
        details: None,
    }
}

fn sentence(day: &BudgetDay) -> String {
    let calls = counted(day.calls_of_unknown_cost, "call");
    let unknown = match (day.calls_of_unknown_cost, day.unknown_cost_max_usd) {
        (0, _) => String::new(),
        (_, None) => format!(", and nobody knows how much more for {calls} of unknown cost"),
        (_, most) => format!(", and at most {} more for {calls} of unknown cost", money(most)),
    };
    match (day.limit_usd, day.left_usd) {
        (None, _) => format!("{} spent today{unknown}; the day has no limit.", money(day.spent_usd)),
        (Some(limit), left) => format!(
            "{} of {} spent today{unknown}; {} left.",
            money(day.spent_usd),
            money(Some(limit)),
            money(left)
        ),
    }
}

fn draw(day: &BudgetDay, now_ms: i64) -> String {
    let most = day.hours.last().map_or(0.0, |hour| {
        hour.spent_usd.unwrap_or_default() + hour.unknown_cost_max_usd.unwrap_or_default()
    });
    let up = Scale::to(day.limit_usd.unwrap_or(most * 1.05), (BOTTOM, TOP));
    let across = Scale::to(DAY_HOURS, (LEFT, RIGHT));
    let now = (now_ms - day.day_start_ms) as f64 / HOUR_MS;
    // What is left of the limit, or what was spent without one.
    let height = |spent: f64| up.at(day.limit_usd.map_or(spent, |limit| limit - spent));
    let path = |spent: fn(f64, f64) -> f64| -> Vec<Place> {
        let ends = day.hours.iter().map(|hour| {
            let end = f64::from(hour.hour + 1).min(now);
            let [known, unknown] = [hour.spent_usd, hour.unknown_cost_max_usd].map(Option::unwrap_or_default);
            (across.at(end), height(spent(known, unknown)))
        });
        std::iter::once((across.at(0.0), height(0.0))).chain(ends).collect()
    };
    picture("budget", TITLE, BOTTOM + 26, |canvas| {
        grid(canvas, &across, &up);
        if let Some(limit) = day.limit_usd {
            canvas.path(vec![(LEFT, up.at(limit)), (RIGHT, up.at(0.0))], FAINT, 1);
        }
        canvas.path(path(|known, unknown| known + unknown), ACCENT, 1);
        let known = path(|known, _| known);
        let end = known.last().copied().unwrap_or((LEFT, BOTTOM));
        canvas.path(known, ACCENT, 3);
        canvas.point(end, ACCENT, true);
        // On the side of the line that it does not come from: it falls with a limit, and rises without one.
        let (text, y) = match day.limit_usd {
            Some(_) => (format!("{} left", money(day.left_usd)), 16),
            None => (format!("{} spent", money(day.spent_usd)), -14),
        };
        let (x, anchor) = if end.0 > LEFT.midpoint(RIGHT) { (-10, Anchor::End) } else { (10, Anchor::Start) };
        canvas.text(&text, (end.0 + x, end.1 + y), INK, anchor);
    })
}

fn grid(canvas: &Canvas<'_>, across: &Scale, up: &Scale) {
    for hour in [0, 4, 8, 12, 16, 20, 24] {
        let x = across.at(f64::from(hour));
        canvas.path(vec![(x, TOP), (x, BOTTOM)], LINE, 1);
        canvas.text(&format!("{hour:02}:00"), (x, BOTTOM + 14), FAINT, Anchor::Middle);
    }
    for line in up.lines() {
        let y = up.at(line);
        canvas.path(vec![(LEFT, y), (RIGHT, y)], LINE, 1);
        canvas.text(&money(Some(line)), (LEFT - 8, y), FAINT, Anchor::End);
    }
}

fn table(day: &BudgetDay) -> Table {
    let rows = day.hours.iter().map(|hour| {
        let left = day.limit_usd.zip(hour.spent_usd).map(|(limit, spent)| (limit - spent).max(0.0));
        vec![format!("{:02}:00", hour.hour), usd(hour.spent_usd), usd(hour.unknown_cost_max_usd), usd(left)]
    });
    let columns = vec![
        "Hour (UTC)",
        "Spent by its end (USD)",
        "At most more, of unknown cost (USD)",
        "Left of the limit (USD)",
    ];
    Table { columns, rows: rows.collect() }
}
