//! The limits on free models: so many requests in each minute and in each day.
//!
//! Minutes count from the simulator's start, so that a test cannot fall on the edge of one; days end at midnight UTC.

use crate::clock::Clock;
use crate::config::SimulatorConfig;

/// Free requests a day that `/key` tells of when the simulator has no limit: an account that once bought credits.
const FREE_PER_DAY: u32 = 1000;

/// Milliseconds in a minute and in a day.
const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;

/// Counts the requests of the current minute and day.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    minute: Window,
    day: Window,
}

/// A stretch of time, by its number, and the requests in it.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    number: u64,
    count: u32,
}

/// How long free requests are counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    Minute,
    Day,
}

/// A limit that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted {
    pub(crate) period: Period,
    pub(crate) limit: u32,
    /// When requests are free again.
    pub(crate) reset_unix_ms: u64,
}

/// What is left of the day, as `/key` tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Day {
    pub(crate) limit: u32,
    pub(crate) used: u32,
}

impl Pace {
    /// Counts one more request to a free model, or says which limit it would exceed; then it is not counted.
    pub(crate) fn admit(&mut self, clock: &Clock, config: &SimulatorConfig) -> Result<(), Exhausted> {
        let (running_ms, unix_ms) = (clock.micros() / 1000, clock.unix_ms());
        let minute = self.minute.at(running_ms / MINUTE_MS);
        let day = self.day.at(unix_ms / DAY_MS);
        let rest_of = |now_ms: u64, length_ms: u64| length_ms - now_ms % length_ms;
        let full = |window: Window, limit: Option<u32>| limit.filter(|limit| window.count >= *limit);
        if let Some(limit) = full(day, config.free_per_day) {
            let reset_unix_ms = unix_ms + rest_of(unix_ms, DAY_MS);
            return Err(Exhausted { period: Period::Day, limit, reset_unix_ms });
        }
        if let Some(limit) = full(minute, config.free_per_minute) {
            let reset_unix_ms = unix_ms + rest_of(running_ms, MINUTE_MS);
            return Err(Exhausted { period: Period::Minute, limit, reset_unix_ms });
        }
        (self.minute, self.day) = (minute.and_one(), day.and_one());
        Ok(())
    }

    /// How the day stands.
    pub(crate) fn day(&self, clock: &Clock, config: &SimulatorConfig) -> Day {
        let used = self.day.at(clock.unix_ms() / DAY_MS).count;
        Day { limit: config.free_per_day.unwrap_or(FREE_PER_DAY), used }
    }
}

impl Window {
    /// This window, or an empty one if another has begun.
    fn at(self, number: u64) -> Self {
        if number == self.number { self } else { Self { number, count: 0 } }
    }

    fn and_one(self) -> Self {
        Self { count: self.count.saturating_add(1), ..self }
    }
}
