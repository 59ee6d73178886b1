//! One clock for the whole simulator: microseconds since start, and the wall time that goes into replies.
//!
//! It leaves waiting to `tokio::time`. The wall time is read once, at start, and then advances with tokio's clock, so
//! a test that pauses time pauses this too.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};
use tokio::time::Instant;

/// Started with the simulator; never goes back.
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

    /// Seconds since 1970, as OpenRouter's `created` has it.
    pub(crate) fn unix_seconds(&self) -> u64 {
        self.unix().as_secs()
    }

    /// Milliseconds since 1970, as `X-RateLimit-Reset` has it.
    pub(crate) fn unix_ms(&self) -> u64 {
        self.unix().as_millis() as u64
    }

    /// An HTTP date `ahead_s` seconds from now, as `Retry-After` may have it.
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
