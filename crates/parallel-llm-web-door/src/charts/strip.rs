//! The cells of a period in a row of marks.

use parallel_llm_service::Figures;
use parallel_llm_settings::clock;

use super::rows::MARKS;

const DAY_MS: i64 = 86_400_000;
/// The width of a cell, at most: few cells are not as wide as bars.
const CELL_WIDTH_MAX: i32 = 24;

/// The cells from the first one with a call to the end of the period, the newest at the right.
pub(super) struct Strip {
    first_ms: i64,
    step_ms: i64,
    width: i32,
    left: i32,
}

impl Strip {
    pub(super) fn of(figures: &Figures, starts_ms: impl Iterator<Item = i64>) -> Self {
        let step_ms = figures.step_ms.max(1);
        let last_ms = figures.to_ms.div_euclid(step_ms) * step_ms;
        let first_ms = starts_ms.min().unwrap_or(last_ms).min(last_ms);
        let cells = i32::try_from((last_ms - first_ms) / step_ms + 1).unwrap_or(i32::MAX);
        let width = ((MARKS.1 - MARKS.0) / cells.max(1)).clamp(2, CELL_WIDTH_MAX);
        Self { first_ms, step_ms, width, left: MARKS.1 - width.saturating_mul(cells) }
    }

    /// The left and the right edge of a cell.
    pub(super) fn edges(&self, start_ms: i64) -> (i32, i32) {
        let index = i32::try_from((start_ms - self.first_ms) / self.step_ms).unwrap_or_default();
        let left = self.left + index * self.width;
        let gap = i32::from(self.width > 3);
        (left, left + self.width - gap)
    }

    /// What a cell is, and the time of the first one: `each cell is a day, from 2026-11-01`.
    pub(super) fn described(&self) -> String {
        let step = match self.step_ms {
            ..DAY_MS => "an hour".to_owned(),
            DAY_MS => "a day".to_owned(),
            more => format!("{} days", more / DAY_MS),
        };
        format!("each cell is {step} (UTC), the first one {}", moment(self.first_ms, self.step_ms))
    }
}

/// The start of a cell: its day, and its hour if cells are hours.
pub(super) fn moment(start_ms: i64, step_ms: i64) -> String {
    let start_ms = u64::try_from(start_ms).unwrap_or_default();
    if step_ms >= DAY_MS { clock::day(start_ms) } else { clock::stamp(start_ms)[..16].replace('T', " ") }
}
