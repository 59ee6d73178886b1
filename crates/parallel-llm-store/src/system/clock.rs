//! Wall time, for timestamps and for leases between processes, and the time that all threads share.
//!
//! Durations inside a run are measured by the engine.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, in UTC.
#[expect(clippy::disallowed_methods, reason = "the one place where the store reads wall time")]
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time that the writer and its callers share, although each has a runtime of its own, whose clock a test may pause.
#[expect(clippy::disallowed_methods, reason = "the one place where two runtimes compare their time")]
pub(crate) fn shared_now() -> Instant {
    Instant::now()
}
