//! How long a measurement may take: the whole of it, or a look that fits into a minute.

/// How often each thing is done.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds, in each of which every program has its turn.
    pub rounds: usize,
    /// Questions of one turn at most.
    pub turn_runs_max: usize,
    /// The longest turn, in milliseconds; a program that waits for a disk asks less in it.
    pub turn_ms_max: u64,
    /// Questions at the beginning of each turn that are not counted: connections are made, caches filled.
    pub warm_runs: usize,
    /// Starts of each program.
    pub starts: usize,
    /// Times that many questions are asked at once.
    pub bursts: usize,
}

impl Scale {
    /// What a result that is kept is made of: under four minutes.
    pub const fn full() -> Self {
        Self { rounds: 9, turn_runs_max: 1_000, turn_ms_max: 1_500, warm_runs: 20, starts: 20, bursts: 7 }
    }

    /// Enough to see that nothing has gone wrong: some twenty seconds.
    pub const fn quick() -> Self {
        Self { rounds: 3, turn_runs_max: 200, turn_ms_max: 500, warm_runs: 10, starts: 7, bursts: 3 }
    }
}
