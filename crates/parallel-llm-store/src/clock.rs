//! Wall time, for timestamps and for leases between processes.
//!
//! Durations inside a run are measured by the engine.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, in UTC.
#[expect(clippy::disallowed_methods, reason = "the one place where the store reads wall time")]
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
