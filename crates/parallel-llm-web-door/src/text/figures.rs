//! Times, sizes and counts as the page shows them.

/// A duration: `850 ms`, `3.2 s`, `2 min 5 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..100_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A size: `512 bytes`, `13 kB`, `8.0 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// A count with separators: `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A moment for people, and for the script, which puts the visitor's own time in front of it.
pub(crate) struct Moment {
    /// `2026-11-23 21:46 UTC`.
    pub(crate) utc: String,
    /// `2026-11-23T21:46:09.000Z`.
    pub(crate) iso: String,
}

impl Moment {
    /// The moment so many milliseconds after 1970 began.
    pub(crate) fn of(unix_ms: u64) -> Self {
        let iso = parallel_llm_settings::clock::stamp(unix_ms);
        let minutes = iso.get(.."2026-11-23T21:46".len()).unwrap_or(&iso);
        Self { utc: format!("{} UTC", minutes.replace('T', " ")), iso }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!([999, 1_000, 99_999, 125_000].map(duration), ["999 ms", "1.0 s", "99.9 s", "2 min 5 s"]);
        assert_eq!([12, 13_500, 8_000_000].map(bytes), ["12 bytes", "13 kB", "8.0 MB"]);
        assert_eq!([7, 1_234, 1_234_567].map(count), ["7", "1,234", "1,234,567"]);
    }
}
