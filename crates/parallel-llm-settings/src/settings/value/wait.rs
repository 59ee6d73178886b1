//! Parses wait rules (`quorum:3`, `until:90s`) and durations (`90s`).

use parallel_llm_engine::request::panel::SEATS_MAX;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::value::nearest::nearest;

/// The units of durations in milliseconds.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
/// Longest duration: a day, longer than any run.
const DURATION_MS_MAX: u64 = 86_400_000;

/// The rules that are single words.
pub(super) const WORDS: [&str; 2] = ["all", "stragglers"];

/// The rule with a value that such a text was meant to be: its own value, or an example of one.
pub(in crate::settings) fn example(text: &str) -> Option<String> {
    let with_rule = |rule: &str| Some(format!("{rule}:{text}")).filter(|text| read(text).is_some());
    if let Some(meant) = with_rule("quorum").or_else(|| with_rule("until")) {
        return Some(meant);
    }
    let name = text.split([':', '=', ' ']).next().unwrap_or(text);
    [("quorum", "quorum:3"), ("until", "until:90s")]
        .into_iter()
        .find(|(rule, _)| nearest(name, [*rule]).is_some())
        .map(|(_, example)| example.to_owned())
}

/// Parses a wait rule, in lower case. `stragglers` gets default numbers here; the real ones are separate settings.
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

/// Parses a positive duration such as `1500ms`, `30s`, `2m`, `1h30m` or `1d`, up to a day, into milliseconds.
pub fn duration_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum_ms: u64 = 0;
    let mut unit_before_ms = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at(digits);
        let letters = behind.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, behind) = behind.split_at(letters);
        let unit_ms = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        // Each unit once, the largest first: anything else is a mistake of the fingers.
        if unit_ms >= unit_before_ms {
            return None;
        }
        let count: u64 = number.parse().ok()?;
        sum_ms = sum_ms.checked_add(count.checked_mul(unit_ms)?)?;
        (rest, unit_before_ms) = (behind, unit_ms);
    }
    (1..=DURATION_MS_MAX).contains(&sum_ms).then_some(sum_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_in_every_unit() {
        let read = ["1500ms", "30s", "2m", "24h", "1d", "1h30m", "1m30s500ms"].map(duration_ms);
        let day_ms = Some(86_400_000);
        let expected =
            [Some(1_500), Some(30_000), Some(120_000), day_ms, day_ms, Some(5_400_000), Some(90_500)];
        assert_eq!(read, expected);
        for text in [
            "30m1h",
            "1m1m",
            "1h30",
            "5d",
            "23h61m",
            "1M",
            "",
            "s",
            "0s",
            "30",
            "-1s",
            "1.5s",
            "25h",
            "1 s",
            "99999999999999999999s",
        ] {
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
