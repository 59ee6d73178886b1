//! Parses past moments: `7d` or `12h` ago, or the start of a day such as `2026-11-01`, in UTC.

use parallel_llm_settings::clock;

/// The units of a relative time, as people write them, and their milliseconds.
const UNITS: [(&[&str], u64); 5] = [
    (&["w", "week", "weeks"], 604_800_000),
    (&["d", "day", "days"], 86_400_000),
    (&["h", "hour", "hours"], 3_600_000),
    (&["m", "min", "minute", "minutes"], 60_000),
    (&["s", "second", "seconds"], 1_000),
];

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// This many milliseconds before now.
    Ago(u64),
    /// At this time, in milliseconds since 1970.
    At(u64),
}

impl Moment {
    /// Parses a moment; the error describes the format.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let ago = || {
            let (number, unit) = text.split_at(text.find(|one: char| !one.is_ascii_digit())?);
            let (_, unit_ms) = UNITS.iter().find(|(names, _)| names.contains(&unit.trim()))?;
            let count: u64 = number.parse().ok()?;
            count.checked_mul(*unit_ms).filter(|ms| *ms > 0).map(Self::Ago)
        };
        let day = || clock::day_ms(text).map(Self::At);
        ago()
            .or_else(day)
            .ok_or_else(|| "a time ago such as 7d or 12h, or a day such as 2026-11-01".to_owned())
    }

    /// The moment in milliseconds since 1970. Earlier ones count as 1970.
    pub(super) fn unix_ms(self) -> i64 {
        let ms = match self {
            Self::Ago(ms) => clock::unix_ms().saturating_sub(ms),
            Self::At(ms) => ms,
        };
        i64::try_from(ms).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_as_they_are_written() {
        for (text, expected) in [
            ("7d", Some(Moment::Ago(604_800_000))),
            ("12h", Some(Moment::Ago(43_200_000))),
            ("90m", Some(Moment::Ago(5_400_000))),
            ("1s", Some(Moment::Ago(1_000))),
            ("2 weeks", Some(Moment::Ago(1_209_600_000))),
            ("90days", Some(Moment::Ago(7_776_000_000))),
            ("1fortnight", None),
            ("1970-01-02", Some(Moment::At(86_400_000))),
            ("0d", None),
            ("d", None),
            ("-1d", None),
            ("1.5d", None),
            ("7", None),
            ("yesterday", None),
            ("2026-13-01", None),
            ("2026-11-31", None),
            ("2026-02-30", None),
            ("99999999999999999999d", None),
            ("18446744073709551615d", None),
        ] {
            assert_eq!(Moment::read(text).ok(), expected, "{text}");
        }
        assert_eq!(Moment::Ago(u64::MAX).unix_ms(), 0);
    }
}
