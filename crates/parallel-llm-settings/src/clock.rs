//! The program's only clock and only source of randomness.
//!
//! Both become part of a run's identity, from which everything else in the run derives.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, SecondsFormat, Utc};
use parallel_llm_engine::plan::Identity;
use parallel_llm_engine::{Code, Failure, RunId};

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the program's one clock")]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Days from today to a day written `YYYY-MM-DD`, in UTC; negative if it has passed. `None` if it is not a valid day.
pub fn days_until(day: &str) -> Option<i64> {
    Some((date(day)? - moment(unix_ms()).date_naive()).num_days())
}

/// The start of a day written `YYYY-MM-DD`, in UTC, in milliseconds since 1970. `None` if it is not a valid day.
pub fn day_ms(day: &str) -> Option<u64> {
    u64::try_from(date(day)?.and_time(NaiveTime::MIN).and_utc().timestamp_millis()).ok()
}

/// The UTC day of a time in milliseconds since 1970, as `YYYY-MM-DD`.
pub fn day(unix_ms: u64) -> String {
    moment(unix_ms).date_naive().to_string()
}

/// A time in milliseconds since 1970 in ISO 8601 and UTC: `2026-11-20T10:30:33.000Z`.
pub fn stamp(unix_ms: u64) -> String {
    moment(unix_ms).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The time as a calendar value, limited to the last one it supports.
fn moment(unix_ms: u64) -> DateTime<Utc> {
    let known = i64::try_from(unix_ms).ok().and_then(DateTime::from_timestamp_millis);
    known.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// A day from 1970 to 9999.
fn date(day: &str) -> Option<NaiveDate> {
    let date = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    (1970..=9999).contains(&date.year()).then_some(date)
}

/// A new run id and seed. Fails if the system gives no random bytes.
pub fn new_identity() -> Result<Identity, Failure> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| {
        let error = std::io::Error::from(error);
        Failure::new(Code::Internal, format!("the system gives no random bytes: {error}"))
    })?;
    let (random, seed) = bytes.split_at(16);
    let random = u128::from_le_bytes(random.try_into().expect("sixteen of twenty-four bytes"));
    let seed = u64::from_le_bytes(seed.try_into().expect("the other eight bytes"));
    Ok(Identity { run_id: RunId::from_parts(unix_ms(), random), seed })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds of a day.
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    #[test]
    fn a_moment_has_a_day_and_a_stamp() {
        assert_eq!([0, 1_795_180_233_000].map(day), ["1970-01-01", "2026-11-20"]);
        assert_eq!(stamp(1_795_180_233_007), "2026-11-20T13:10:33.007Z");
        assert_eq!(stamp(1_795_180_233_000), "2026-11-20T13:10:33.000Z");
        assert_eq!(day(u64::MAX), "+262142-12-31");
    }

    #[test]
    fn a_day_begins_at_midnight_or_is_none() {
        for (day, expected) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("2026-11-21", Some(20_778)),
            ("2026-13-01", None),
            ("2026-11-31", None),
            ("2026-11-00", None),
            ("2026-02-29", None),
            ("2028-02-29", Some(21_243)),
            ("1969-12-31", None),
            ("soon", None),
            ("2026-11", None),
            ("2026-11-21T00:00", None),
        ] {
            assert_eq!(day_ms(day), expected.map(|days| days * DAY_MS), "{day}");
        }
        assert!(days_until("1970-01-02").unwrap() < 0);
        assert_eq!(days_until(&day(unix_ms() + 3 * DAY_MS)), Some(3));
    }
}
