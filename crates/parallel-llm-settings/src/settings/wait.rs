//! Parses wait rules (`quorum:3`, `until:90s`) and durations (`90s`).

use parallel_llm_engine::request::panel::SEATS_MAX;
use parallel_llm_engine::request::wait::Wait;

/// The units of durations in milliseconds. `ms` comes first, because it also ends in `s`.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
/// Longest duration: a day, longer than any run.
const DURATION_MS_MAX: u64 = 86_400_000;

/// Parses a wait rule. `stragglers` gets default numbers here; the real ones are separate settings.
pub(super) fn read(text: &str) -> Option<Wait> {
    match text.split_once(':') {
        None if text == "all" => Some(Wait::All),
        None if text == "stragglers" => Some(Wait::default()),
        Some(("quorum", count)) => {
            let count = count.parse().ok().filter(|count| (1..=SEATS_MAX).contains(&usize::from(*count)));
            count.map(|count| Wait::Seats { count })
        }
        Some(("until", duration)) => duration_ms(duration).map(|ms| Wait::Until { ms }),
        _ => None,
    }
}

/// Parses a positive duration such as `1500ms`, `30s`, `2m` or `1h`, up to a day, into milliseconds.
pub fn duration_ms(text: &str) -> Option<u64> {
    let (number, unit_ms) =
        UNITS.iter().find_map(|(unit, ms)| text.strip_suffix(unit).map(|number| (number, ms)))?;
    let count: u64 = number.parse().ok()?;
    count.checked_mul(*unit_ms).filter(|ms| (1..=DURATION_MS_MAX).contains(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_in_every_unit() {
        let read = ["1500ms", "30s", "2m", "24h"].map(duration_ms);
        assert_eq!(read, [Some(1_500), Some(30_000), Some(120_000), Some(86_400_000)]);
        for text in ["", "s", "0s", "30", "-1s", "1.5s", "25h", "1 s", "99999999999999999999s"] {
            assert_eq!(duration_ms(text), None, "{text}");
        }
    }

    #[test]
    fn rules_read_as_they_are_written() {
        assert_eq!(read("all"), Some(Wait::All));
        assert_eq!(read("quorum:3"), Some(Wait::Seats { count: 3 }));
        assert_eq!(read("until:90s"), Some(Wait::Until { ms: 90_000 }));
        assert_eq!(read("stragglers"), Some(Wait::default()));
        for text in ["", "some", "quorum", "quorum:0", "quorum:65", "until:", "stragglers:1", "all:"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
