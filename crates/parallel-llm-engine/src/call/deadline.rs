//! The deadlines of a run: the panel must leave time for the synthesizer.

use std::time::Duration;

use tokio::time::Instant;

use crate::plan::Timers;

/// One part in this many of the run's time is kept for fusing: a third, enough to read all answers and write one.
const FUSING_SHARE: u32 = 3;
/// The most time that is kept for fusing, however long the run may take.
const FUSING_MAX: Duration = Duration::from_secs(600);

/// The deadlines of one part of a run.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// When this part of the run began.
    pub started: Instant,
    /// How long the earlier parts took, in milliseconds.
    pub before_ms: u64,
    /// When the run stops waiting for the panel.
    pub panel: Instant,
    /// When the run ends.
    pub run: Instant,
    /// When a call must end: with the run, or earlier if further calls follow it.
    pub call: Instant,
    /// Whether these are the deadlines of a stage, which gets only a share of the run's time.
    pub is_share: bool,
}

impl Deadline {
    /// The deadlines of a part that begins now. `before_ms` is how long earlier parts took.
    pub fn starting_now(timers: &Timers, before_ms: u64) -> Self {
        let started = Instant::now();
        let whole = Duration::from_millis(timers.run_ms);
        let fusing = (whole / FUSING_SHARE).min(FUSING_MAX);
        let run = started + whole;
        Self {
            started,
            before_ms,
            panel: started + whole.saturating_sub(fusing),
            run,
            call: run,
            is_share: false,
        }
    }

    /// The deadlines of a call that gets one of `shares` equal shares of the remaining time.
    #[must_use]
    pub fn shared_by(self, shares: u32) -> Self {
        let now = Instant::now();
        let share = self.run.saturating_duration_since(now) / shares.max(1);
        Self { call: (now + share).min(self.run), ..self }
    }

    /// The deadlines of one of `shares` equal shares of the remaining time: everything in it ends with it.
    #[must_use]
    pub(crate) fn share(self, shares: u32) -> Self {
        let end = self.shared_by(shares).call;
        Self { run: end, call: end, is_share: end < self.run, ..self }
    }

    /// The moment `ms` milliseconds after the beginning of this part.
    pub fn at_ms(&self, ms: u64) -> Instant {
        self.started + Duration::from_millis(ms)
    }

    /// How long this part has run, in milliseconds.
    pub fn part_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// How long the run has run, earlier parts included, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        self.before_ms.saturating_add(self.part_ms())
    }
}
