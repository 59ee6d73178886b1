//! The one clock of all processes of a measurement: the system's monotonic one, whose zero they share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary moment that is the same for every process of this machine.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanos.unwrap_or_default()
}

/// The date in UTC, as `2026-11-20`.
pub fn today() -> String {
    let seconds = u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or_default();
    date(seconds / 86_400)
}

/// The date so many days after 1970 began.
fn date(mut days: u64) -> String {
    let mut year = 1970;
    loop {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let year_days = if leap { 366 } else { 365 };
        if days >= year_days {
            days -= year_days;
            year += 1;
            continue;
        }
        let february = if leap { 29 } else { 28 };
        let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut month = 0;
        while days >= months[month] {
            days -= months[month];
            month += 1;
        }
        return format!("{year}-{:02}-{:02}", month + 1, days + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (20_777, "2026-11-20"),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn the_clock_goes_forward() {
        let before = now_ns();
        assert!(now_ns() >= before);
    }
}
