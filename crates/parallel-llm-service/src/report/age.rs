//! Durations and ages as text.

/// An age: `90 s`, `12 min`, `3 h`, `9 d`. A larger unit begins at two of it, so that the rounded number stays useful.
pub fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// A duration: `0.4 s`, `12.3 s`, `3 min 05 s`.
pub fn seconds(ms: u64) -> String {
    if ms < 60_000 {
        return format!("{}.{} s", ms / 1000, ms % 1000 / 100);
    }
    format!("{} min {:02} s", ms / 60_000, ms / 1000 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_short() {
        let shown = [0, 119_999, 120_000, 7_200_000, 172_800_000].map(age);
        assert_eq!(shown, ["0 s", "119 s", "2 min", "2 h", "2 d"]);
    }
}
