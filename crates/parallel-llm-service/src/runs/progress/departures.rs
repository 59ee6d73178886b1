//! When runs have ended lately, and so when a caller that is refused had better try again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// A refused caller is to come back once so many runs have ended: those that are refused together do not all come back for
/// one place.
const AGAIN_AFTER_RUNS: usize = 32;
/// The shortest and the longest wait that is asked for. Runs take seconds to minutes.
const AGAIN_AFTER_MIN: Duration = Duration::from_secs(1);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(60);

/// The newest ends of runs, oldest first.
#[derive(Debug, Default)]
pub(super) struct Departures {
    ends: VecDeque<Instant>,
}

impl Departures {
    /// A run has ended just now.
    pub(super) fn note(&mut self) {
        if self.ends.len() >= AGAIN_AFTER_RUNS {
            self.ends.pop_front();
        }
        self.ends.push_back(Instant::now());
    }

    /// How long it takes, at the pace of lately, until enough runs have ended.
    pub(super) fn retry_after(&self) -> Duration {
        let Some(first) = self.ends.front() else { return AGAIN_AFTER_MAX };
        let ends = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        // Up to now, and not to the newest end: if none has ended for long, the pace has fallen.
        let pace = first.elapsed() / ends;
        (pace * AGAIN_AFTER_RUNS as u32).clamp(AGAIN_AFTER_MIN, AGAIN_AFTER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn the_wait_follows_the_pace_of_ends() {
        let mut departures = Departures::default();
        assert_eq!(departures.retry_after(), AGAIN_AFTER_MAX, "none has ended yet");
        for _ in 0..100 {
            departures.note();
            advance(Duration::from_millis(250)).await;
        }
        assert_eq!(departures.retry_after(), Duration::from_secs(8));
        advance(Duration::from_secs(24)).await;
        assert_eq!(departures.retry_after(), Duration::from_secs(32), "none has ended for long");
        advance(Duration::from_secs(600)).await;
        assert_eq!(departures.retry_after(), AGAIN_AFTER_MAX);
        for _ in 0..100 {
            departures.note();
        }
        assert_eq!(departures.retry_after(), AGAIN_AFTER_MIN);
    }
}
