//! How the time of a run is split: the panel may not use up what the synthesizer needs.

use std::time::Duration;

use tokio::time::Instant;

use crate::plan::Timers;

/// The part of a run kept for fusing: a third, because a synthesizer reads everything and writes one answer.
const FUSING_SHARE: u32 = 3;
/// The most that is kept for fusing, whatever the run may take.
const FUSING_MAX: Duration = Duration::from_secs(600);

/// The fixed points of a run's time.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// When this part of the run began; a resumed run has an earlier one.
    pub started: Instant,
    /// How long the earlier parts took, in milliseconds.
    pub before_ms: u64,
    /// When the panel is waited for no longer.
    pub panel: Instant,
    /// When everything ends.
    pub run: Instant,
    /// When a call ends at the latest: with the run, or sooner where more is to come after it.
    pub call: Instant,
}

impl Deadline {
    /// Splits the run's time from now on. `before_ms` is what earlier parts of the run took.
    pub fn starting_now(timers: &Timers, before_ms: u64) -> Self {
        let started = Instant::now();
        let whole = Duration::from_millis(timers.run_ms);
        let fusing = (whole / FUSING_SHARE).min(FUSING_MAX);
        let run = started + whole;
        Self { started, before_ms, panel: started + whole.saturating_sub(fusing), run, call: run }
    }

    /// For calls that have one share of the time that is left, of so many equal ones.
    #[must_use]
    pub fn shared_by(self, shares: u32) -> Self {
        let now = Instant::now();
        let share = self.run.saturating_duration_since(now) / shares.max(1);
        Self { call: (now + share).min(self.run), ..self }
    }

    /// The moment so many milliseconds into this part of the run.
    pub fn at_ms(&self, ms: u64) -> Instant {
        self.started + Duration::from_millis(ms)
    }

    /// Milliseconds this part of the run has been worked on.
    pub fn part_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Milliseconds the run has been worked on, earlier parts included.
    pub fn elapsed_ms(&self) -> u64 {
        self.before_ms.saturating_add(self.part_ms())
    }
}
