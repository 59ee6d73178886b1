//! The limit on free models: so many requests in each minute.

/// Counts the requests of the current minute.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    minute: u64,
    count: u32,
}

/// Microseconds in a minute.
const MINUTE_US: u64 = 60_000_000;

impl Pace {
    /// Whether one more request fits; counts it if so.
    pub(crate) fn admit(&mut self, now_us: u64, per_minute: u32) -> bool {
        let minute = now_us / MINUTE_US;
        if minute != self.minute {
            *self = Self { minute, count: 0 };
        }
        let fits = self.count < per_minute;
        self.count += u32::from(fits);
        fits
    }
}
