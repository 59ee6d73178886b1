//! The sizes of a measurement: full, or quick.

/// How often each step is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds. Every program has one turn in each.
    pub rounds: usize,
    /// The most questions of one turn.
    pub turn_runs_max: usize,
    /// The longest turn in milliseconds; a program that waits for a disk makes fewer runs in it.
    pub turn_ms_max: u64,
    /// Uncounted questions at the beginning of each turn, which open connections and fill caches.
    pub warm_runs: usize,
    /// Measured starts of the program.
    pub starts: usize,
    /// Measured bursts of questions.
    pub bursts: usize,
}

impl Scale {
    /// For a stored result: under four minutes.
    pub const fn full() -> Self {
        Self { rounds: 9, turn_runs_max: 1_000, turn_ms_max: 1_500, warm_runs: 20, starts: 20, bursts: 7 }
    }

    /// Enough to see that nothing is wrong: some twenty seconds.
    pub const fn quick() -> Self {
        Self { rounds: 3, turn_runs_max: 200, turn_ms_max: 500, warm_runs: 10, starts: 7, bursts: 3 }
    }
}
