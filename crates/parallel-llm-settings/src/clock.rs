//! The one place of the program that asks what time it is and draws chance. Both become part of a run's
//! identity; everything after that derives from them.

use std::time::{SystemTime, UNIX_EPOCH};

use parallel_llm_engine::RunId;
use parallel_llm_engine::plan::Identity;

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the program's one clock")]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Days from today to a day written `YYYY-MM-DD`, both in UTC; negative where it is over. `None` where it is no day.
pub fn days_until(day: &str) -> Option<i64> {
    let today = i64::try_from(unix_ms() / DAY_MS).ok()?;
    Some(days_since_1970(day)? - today)
}

/// The beginning of a day written `YYYY-MM-DD`, in UTC, in milliseconds since 1970. `None` where it is no day.
pub fn day_ms(day: &str) -> Option<u64> {
    u64::try_from(days_since_1970(day)?).ok()?.checked_mul(DAY_MS)
}

/// The day of a moment in milliseconds since 1970, in UTC, as `YYYY-MM-DD`.
pub fn day(unix_ms: u64) -> String {
    // Counted from the first of March of the year 0, in eras of 400 years, which all have as many days.
    let days = unix_ms / DAY_MS + TO_1970.unsigned_abs();
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * months + 2) / 5 + 1, (months + 2) % 12 + 1);
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A moment in milliseconds since 1970 as ISO 8601 writes it, in UTC: `2026-11-20T10:30:33.000Z`.
pub fn stamp(unix_ms: u64) -> String {
    let (ms, seconds) = (unix_ms % 1000, unix_ms % DAY_MS / 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z", day(unix_ms))
}

/// Days from the first of March of the year 0 to 1970.
const TO_1970: i64 = 719_468;

/// The number of a day of the Gregorian calendar. Years begin in March here, so that the odd day of a leap year is
/// the last.
fn days_since_1970(day: &str) -> Option<i64> {
    let mut parts = day.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let first = first_of(year, month);
    let next = if month == 12 { first_of(year + 1, 1) } else { first_of(year, month + 1) };
    (1..=next - first).contains(&day).then_some(first + day - 1)
}

/// The number of the first day of a month.
const fn first_of(year: i64, month: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - TO_1970
}

/// A name and a seed no other run has.
pub fn new_identity() -> std::io::Result<Identity> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(std::io::Error::from)?;
    let (random, seed) = bytes.split_at(16);
    let random = u128::from_le_bytes(random.try_into().expect("sixteen of twenty-four bytes"));
    let seed = u64::from_le_bytes(seed.try_into().expect("the other eight bytes"));
    Ok(Identity { run_id: RunId::from_parts(unix_ms(), random), seed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_as_they_are_counted() {
        for days in (0..3_000_000).step_by(997) {
            let named = day(days * DAY_MS + 1);
            if named.len() == 10 {
                assert_eq!(day_ms(&named), Some(days * DAY_MS), "{named}");
            }
        }
        assert_eq!([0, 1_795_180_233_000].map(day), ["1970-01-01", "2026-11-20"]);
        assert_eq!(stamp(1_795_180_233_007), "2026-11-20T13:10:33.007Z");
    }

    #[test]
    fn days_are_counted() {
        for (day, expected) in [
            ("1970-01-01", Some(0)),
            ("1970-12-31", Some(364)),
            ("2000-02-29", Some(11_016)),
            ("2000-03-01", Some(11_017)),
            ("2026-11-21", Some(20_778)),
            ("2026-13-01", None),
            ("2026-11-31", None),
            ("2026-11-00", None),
            ("2026-02-29", None),
            ("2028-02-29", Some(21_243)),
            ("2100-02-29", None),
            ("2026-12-31", Some(20_818)),
            ("soon", None),
            ("2026-11", None),
        ] {
            assert_eq!(days_since_1970(day), expected, "{day}");
        }
        assert!(days_until("1970-01-02").unwrap() < 0);
    }
}
