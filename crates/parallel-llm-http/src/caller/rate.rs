//! Rate limits: a token bucket for each principal. Pure: the caller passes the time.
//!
//! A bucket is stored as the moment when it is full again. It holds a minute's requests, so a client may start with
//! several at once.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// The period of a rate.
const MINUTE: Duration = Duration::from_secs(60);
/// The most buckets. A full bucket equals none, so this bounds only the principals with requests in the last minute.
const BUCKETS_MAX: usize = 4_096;

/// The buckets of principals with requests in the last minute.
#[derive(Debug, Default)]
pub(super) struct Rates {
    full_at: HashMap<String, Instant>,
}

impl Rates {
    /// Takes one request of this principal, or returns the time until the next.
    pub(super) fn take(&mut self, name: &str, per_minute: u32, now: Instant) -> Result<(), Duration> {
        if per_minute == 0 {
            return Err(MINUTE);
        }
        let one = MINUTE / per_minute;
        let full_at = self.full_at.get(name).map_or(now, |full_at| (*full_at).max(now)) + one;
        // The bucket holds one minute's requests.
        let early = (full_at - now).saturating_sub(MINUTE);
        if early > Duration::ZERO {
            return Err(early);
        }
        if self.full_at.len() >= BUCKETS_MAX && !self.full_at.contains_key(name) {
            self.make_room(now);
        }
        self.full_at.insert(name.to_owned(), full_at);
        Ok(())
    }

    /// Drops full buckets; if there are none, the one that will be full next.
    fn make_room(&mut self, now: Instant) {
        self.full_at.retain(|_, full_at| *full_at > now);
        if self.full_at.len() >= BUCKETS_MAX {
            let nearest =
                self.full_at.iter().min_by_key(|(_, full_at)| **full_at).map(|(name, _)| name.clone());
            nearest.and_then(|name| self.full_at.remove(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_holds_so_many_and_time_makes_room() {
        let mut rates = Rates::default();
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        for _ in 0..3 {
            assert_eq!(rates.take("a", 3, at(0)), Ok(()));
        }
        assert_eq!(rates.take("a", 3, at(0)), Err(Duration::from_secs(20)));
        assert_eq!(rates.take("a", 3, at(19_000)), Err(Duration::from_secs(1)));
        assert_eq!(rates.take("b", 3, at(19_000)), Ok(()), "each principal has its own");
        assert_eq!(rates.take("a", 3, at(20_000)), Ok(()));
        assert_eq!(rates.take("a", 3, at(20_000)), Err(Duration::from_secs(20)));
        assert_eq!(rates.take("c", 0, at(0)), Err(MINUTE));
    }

    #[test]
    fn the_number_of_buckets_is_bounded() {
        let mut rates = Rates::default();
        let begun = Instant::now();
        for number in 0..BUCKETS_MAX + 10 {
            assert_eq!(rates.take(&number.to_string(), 1, begun), Ok(()));
        }
        assert_eq!(rates.full_at.len(), BUCKETS_MAX);
        assert_eq!(rates.take("later", 1, begun + MINUTE), Ok(()));
        assert_eq!(rates.full_at.len(), 1, "full buckets are forgotten");
    }
}
