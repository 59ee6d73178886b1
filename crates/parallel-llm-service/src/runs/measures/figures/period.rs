//! The period of the figures and its cells.

const HOUR_MS: i64 = 3_600_000;
pub(super) const DAY_MS: i64 = 24 * HOUR_MS;
/// The period by default: long enough for a trend, short enough for models that change monthly.
const DAYS: i64 = 30;
/// The longest period that is shown by the hour.
const HOURLY_MAX_MS: i64 = 2 * DAY_MS;
/// The most cells of a line: a quarter of a year by the day, and as many as a screen shows apart.
const CELLS_MAX: i64 = 92;

/// The start of the default period.
pub(super) const fn default_from_ms(now_ms: i64) -> i64 {
    now_ms - DAYS * DAY_MS
}

/// The length of the cells of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// In milliseconds: an hour, a day, or several days.
    pub(super) step_ms: i64,
}

impl Period {
    pub(super) const fn of(from_ms: i64, to_ms: i64) -> Self {
        let length_ms = to_ms.saturating_sub(from_ms);
        if length_ms <= HOURLY_MAX_MS {
            return Self { step_ms: HOUR_MS };
        }
        // One cell is lost, because the first and the last may be begun only in part.
        let days = length_ms / DAY_MS / (CELLS_MAX - 1) + 1;
        Self { step_ms: days * DAY_MS }
    }

    /// The start of the cell of this moment.
    pub(super) const fn cell_ms(self, at_ms: i64) -> i64 {
        at_ms.div_euclid(self.step_ms) * self.step_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_hours_days_or_as_many_days_as_needed() {
        for (days, step_ms) in [(0, HOUR_MS), (2, HOUR_MS), (3, DAY_MS), (90, DAY_MS), (91, 2 * DAY_MS)] {
            let now_ms = 20_000 * DAY_MS + 7;
            let period = Period::of(now_ms - days * DAY_MS, now_ms);
            assert_eq!(period.step_ms, step_ms, "{days} days");
            let cells = (period.cell_ms(now_ms) - period.cell_ms(now_ms - days * DAY_MS)) / step_ms + 1;
            assert!(cells <= CELLS_MAX, "{days} days: {cells}");
        }
        assert_eq!(Period::of(0, i64::MAX).cell_ms(-1), -Period::of(0, i64::MAX).step_ms);
    }
}
