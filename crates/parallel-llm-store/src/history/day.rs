//! A day in UTC, by which the list of runs is filtered and counted.

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveTime};
use parallel_llm_engine::RunId;

/// A day in UTC, from 1970 to 9999, written `YYYY-MM-DD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(NaiveDate);

impl Day {
    /// The day of a time in milliseconds since 1970; `None` after the year 9999.
    pub fn of_ms(unix_ms: u64) -> Option<Self> {
        let moment = i64::try_from(unix_ms).ok().and_then(DateTime::from_timestamp_millis)?;
        Self::checked(moment.date_naive())
    }

    /// Its first millisecond, since 1970.
    pub fn start_ms(self) -> u64 {
        let start_ms = self.0.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
        u64::try_from(start_ms).expect("a day since 1970")
    }

    /// The least id of a run that begins on this day.
    pub(crate) fn first_id(self) -> RunId {
        RunId::from_parts(self.start_ms(), 0)
    }

    /// The least id of a run that begins after this day.
    pub(crate) fn end_id(self) -> RunId {
        const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
        RunId::from_parts(self.start_ms() + DAY_MS, 0)
    }

    fn checked(date: NaiveDate) -> Option<Self> {
        (1970..=9999).contains(&date.year()).then_some(Self(date))
    }
}

impl std::fmt::Display for Day {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

impl std::str::FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
        // The parser accepts days such as `2026-1-2`, too.
        let day = date.and_then(Self::checked).filter(|day| day.to_string() == text);
        day.ok_or_else(|| format!("`{text}` is not a day such as 2026-11-23"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_it_is_written() {
        for text in ["1970-01-01", "2026-11-23", "2024-02-29", "9999-12-31"] {
            assert_eq!(text.parse::<Day>().map(|day| day.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "2026-11-3", "2025-02-29", "1969-12-31", "12026-01-01", "2026-11-23 ", "yesterday"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_run_belongs_to_the_day_it_began_on() {
        let day: Day = "2026-11-23".parse().expect("a day");
        let last_ms = day.end_id().unix_ms() - 1;
        assert_eq!([day.start_ms(), last_ms].map(Day::of_ms), [Some(day), Some(day)]);
        assert_ne!(Day::of_ms(last_ms + 1), Some(day));
        assert!(day.first_id() <= RunId::from_parts(day.start_ms(), 0));
        assert_eq!(Day::of_ms(u64::MAX), None);
    }
}
