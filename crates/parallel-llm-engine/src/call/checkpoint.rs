//! Checkpoints of a streaming reply, so that a killed process loses at most a second of text.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::value::answer::Failure;

/// A checkpoint is written every second or every 16 KiB, whichever comes first.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
const CHECKPOINT_BYTES: usize = 16 * 1024;

/// Writes checkpoints in the background. At most one write is under way. It is dropped with the reply, because the event
/// that ends the call holds the text.
pub(crate) struct Checkpoints {
    under_way: JoinSet<Result<(), Failure>>,
    saved_bytes: usize,
    saved_at: Instant,
    began: Instant,
    /// Whether the provider's id of the call is staged and may not be durable yet. Without it, no one could look up the
    /// cost of the call after the process was killed.
    pub(crate) has_staged_id: bool,
}

impl Checkpoints {
    pub(crate) fn new(now: Instant) -> Self {
        Self { under_way: JoinSet::new(), saved_bytes: 0, saved_at: now, began: now, has_staged_id: false }
    }

    /// Waits until a write is due although no further part of the reply comes.
    pub(crate) async fn due(&mut self, text: &str) {
        if self.has_staged_id {
            return tokio::time::sleep_until(self.began + CHECKPOINT_EVERY).await;
        }
        if text.len() == self.saved_bytes {
            return std::future::pending().await;
        }
        tokio::time::sleep_until(self.saved_at + CHECKPOINT_EVERY).await;
        self.under_way.join_next().await;
    }

    /// Whether the id of the call has waited long enough for another commit to join. True once.
    pub(crate) fn id_is_due(&mut self) -> bool {
        let is_due = self.has_staged_id && self.began.elapsed() >= CHECKPOINT_EVERY;
        self.has_staged_id &= !is_due;
        is_due
    }

    /// Writes a checkpoint with `save` if one is due and none is under way.
    pub(crate) fn save_if_due<'a>(
        &mut self,
        text: &'a str,
        save: impl FnOnce(&'a str) -> BoxFuture<'static, Result<(), Failure>>,
    ) {
        let grown = text.len() - self.saved_bytes;
        if grown == 0 || (grown < CHECKPOINT_BYTES && self.saved_at.elapsed() < CHECKPOINT_EVERY) {
            return;
        }
        // Failed writes are ignored: the event that ends the call holds the text anyway.
        while self.under_way.try_join_next().is_some() {}
        if self.under_way.is_empty() {
            self.under_way.spawn(save(text));
            self.saved_bytes = text.len();
            self.saved_at = Instant::now();
        }
    }
}
