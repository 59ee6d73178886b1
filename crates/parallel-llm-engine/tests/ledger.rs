//! One list of what the outside of the engine saw, in order: what became durable, which request left, which reply was
//! closed early. With paused time every line has an exact moment.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    began: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Ledger {
    /// A ledger whose clock begins now.
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), lines: Arc::default() }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn note(&self, what: impl std::fmt::Display) {
        let line = format!("{} {what}", self.now_ms());
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
