//! How many posts are admitted at once: a limit that follows what the runtime can do.
//!
//! A post is a question, and each question in progress has a few streams. If the runtime has no pause, it answers fewer
//! questions in a second the more of them are in progress, since what each needs has left the processor's caches before its
//! next piece of text arrives. So the limit falls as long as the runtime has no pause, and rises again when it has.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;

/// The lowest limit: another program on the machine must not have a few callers turned away.
const POSTS_MIN: usize = 64;
/// How often the limit changes.
const CHANGE_EVERY: Duration = Duration::from_millis(100);
/// The share of the time that a runtime is busy which has no pause. Looking for events, which is counted as a pause, takes the
/// rest.
const NO_PAUSE: f64 = 0.95;
/// The part of the limit that remains after each change down, and the posts of a change up. Near two hundred both are about as
/// large, so that the limit stays close to what is possible; it falls to the lowest in six seconds, and rises to the highest in
/// eight.
const DOWN: f64 = 0.97;
const UP: usize = 4;

/// The limit of posts at once.
#[derive(Debug)]
pub(super) struct AdaptiveLimit {
    posts_max: usize,
    now: Mutex<Now>,
}

/// The limit as it is now.
#[derive(Debug)]
struct Now {
    posts_max: usize,
    changed_at: Instant,
    /// How long the runtime had been busy by then.
    busy: Duration,
}

impl AdaptiveLimit {
    /// A limit that never exceeds this one.
    pub(super) fn of_at_most(posts_max: usize) -> Self {
        let now = Now { posts_max, changed_at: Instant::now(), busy: Duration::ZERO };
        Self { posts_max, now: Mutex::new(now) }
    }

    /// How many posts there may be beside these in flight.
    pub(super) fn posts_max(&self, in_flight: usize) -> usize {
        if in_flight < POSTS_MIN {
            return self.posts_max;
        }
        let mut now = self.now.lock();
        let passed = now.changed_at.elapsed();
        if passed >= CHANGE_EVERY {
            let busy = busy();
            let share = busy.saturating_sub(now.busy).as_secs_f64() / passed.as_secs_f64();
            let steps = passed.div_duration_f64(CHANGE_EVERY) as usize;
            let posts_max = changed(now.posts_max, self.posts_max, share, steps);
            *now = Now { posts_max, changed_at: Instant::now(), busy };
        }
        now.posts_max
    }
}

/// The limit after so many steps in which the runtime was busy for this share of the time.
fn changed(posts_max: usize, most: usize, busy: f64, steps: usize) -> usize {
    if busy < NO_PAUSE {
        return posts_max.saturating_add(UP.saturating_mul(steps)).min(most);
    }
    // A limit that was set lower from the beginning stays as it is.
    ((posts_max as f64 * DOWN) as usize).max(POSTS_MIN.min(most))
}

/// How long the threads of this runtime have been busy since it began, on average.
fn busy() -> Duration {
    let metrics = Handle::current().metrics();
    let threads = metrics.num_workers().max(1);
    let all: Duration = (0..threads).map(|thread| metrics.worker_total_busy_duration(thread)).sum();
    all / u32::try_from(threads).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_falls_without_pauses_and_rises_with_them() {
        let check = |posts_max, most, busy, steps, expected| {
            assert_eq!(changed(posts_max, most, busy, steps), expected, "{posts_max} {busy} {steps}");
        };
        check(384, 384, 0.99, 1, 372);
        check(66, 384, 1.0, 1, POSTS_MIN);
        check(POSTS_MIN, 384, 1.0, 9, POSTS_MIN);
        check(100, 384, 0.5, 1, 104);
        check(100, 384, 0.5, 10, 140);
        check(383, 384, 0.0, usize::MAX, 384);
        check(4, 4, 1.0, 1, 4);
    }

    #[tokio::test]
    async fn a_few_posts_are_admitted_however_busy_the_runtime_is() {
        let limit = AdaptiveLimit::of_at_most(384);
        let work = |ms| {
            let until = Instant::now() + Duration::from_millis(ms);
            while Instant::now() < until {}
        };
        for _ in 0..3 {
            tokio::task::yield_now().await;
            work(120);
            assert_eq!(limit.posts_max(POSTS_MIN - 1), 384);
        }
    }
}
