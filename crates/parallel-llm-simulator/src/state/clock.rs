//! The simulator's clock: microseconds since the start, and the wall time in replies.
//!
//! The wall time is read once, at start, and then advances with tokio's clock, so that tests can pause it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};
use tokio::time::Instant;

/// A clock that never goes back.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    started_unix: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), started_unix: wall_time() }
    }

    /// Microseconds since the simulator started.
    pub(crate) fn micros(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// Seconds since 1970, for OpenRouter's `created`.
    pub(crate) fn unix_seconds(&self) -> u64 {
        self.unix().as_secs()
    }

    /// Milliseconds since 1970, for `X-RateLimit-Reset`.
    pub(crate) fn unix_ms(&self) -> u64 {
        self.unix().as_millis() as u64
    }

    /// An HTTP date `ahead_s` seconds from now, for `Retry-After`.
    pub(crate) fn http_date(&self, ahead_s: u64) -> String {
        httpdate::fmt_http_date(UNIX_EPOCH + self.unix() + Duration::from_secs(ahead_s))
    }

    fn unix(&self) -> Duration {
        self.started_unix + self.started.elapsed()
    }
}

/// Seconds since 1970 as `2026-11-20T12:00:00Z`.
pub(crate) fn iso_time(unix_seconds: u64) -> String {
    let moment = i64::try_from(unix_seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    moment.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[expect(clippy::disallowed_methods, reason = "the simulator's one look at the wall clock")]
fn wall_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the machine's clock is set after 1970")
}
