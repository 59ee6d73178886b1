//! The sizes of a measurement: full, or quick.

/// How often each step is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds with a steady floor that are wanted of each workload. Every program has one turn in each.
    pub rounds: usize,
    /// The most rounds that are made to get them.
    pub rounds_max: usize,
    /// The most questions of one turn.
    pub turn_runs_max: usize,
    /// The longest turn in milliseconds; a program that takes longer makes fewer runs in it.
    pub turn_ms_max: u64,
    /// Uncounted questions at the beginning of each turn, which open connections and fill caches.
    pub warm_runs: usize,
    /// Measured starts of the program.
    pub starts: usize,
}

impl Scale {
    /// For a stored result: about six minutes.
    pub const fn full() -> Self {
        Self { rounds: 7, rounds_max: 21, turn_runs_max: 400, turn_ms_max: 1_000, warm_runs: 20, starts: 20 }
    }

    /// For the plots: about ten minutes.
    pub const fn curves() -> Self {
        Self { rounds: 3, rounds_max: 3, ..Self::full() }
    }

    /// Enough to see that nothing is wrong: about a minute.
    pub const fn quick() -> Self {
        Self { rounds: 3, rounds_max: 3, turn_runs_max: 100, turn_ms_max: 300, warm_runs: 5, starts: 5 }
    }
}
