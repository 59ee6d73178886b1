//! The clock of all processes of a measurement: the system's monotonic clock, whose zero they share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since a moment that is the same for every process of this machine.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + nanos.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward() {
        let before = now_ns();
        assert!(now_ns() >= before);
    }
}
