//! When the text of a reply on its way is kept, so that a process that is killed has lost a second of it.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::value::answer::Failure;

/// A text on its way is kept each second, or each sixteen kilobytes, whichever comes first.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
const CHECKPOINT_BYTES: usize = 16 * 1024;

/// Keeps the text on its way without anyone waiting for it: at most one write is under way, and it is dropped
/// with the reply, because the event that ends the call carries the text.
pub(crate) struct Saving {
    under_way: JoinSet<Result<(), Failure>>,
    saved_bytes: usize,
    saved_at: Instant,
    began: Instant,
    /// Whether the provider's name for the call is noted and may not yet be durable. Without it a process that is
    /// killed could not say later what the call cost.
    pub(crate) named: bool,
}

impl Saving {
    pub(crate) fn new(now: Instant) -> Self {
        Self { under_way: JoinSet::new(), saved_bytes: 0, saved_at: now, began: now, named: false }
    }

    /// Passes when something is to be kept though nothing more comes.
    pub(crate) async fn due(&mut self, text: &str) {
        if self.named {
            return tokio::time::sleep_until(self.began + CHECKPOINT_EVERY).await;
        }
        if text.len() == self.saved_bytes {
            return std::future::pending().await;
        }
        tokio::time::sleep_until(self.saved_at + CHECKPOINT_EVERY).await;
        self.under_way.join_next().await;
    }

    /// Whether the name of the call has waited long enough for a commit to go along with. Says so once.
    pub(crate) fn name_is_due(&mut self) -> bool {
        let is_due = self.named && self.began.elapsed() >= CHECKPOINT_EVERY;
        self.named &= !is_due;
        is_due
    }

    pub(crate) fn keep_up<'a>(
        &mut self,
        text: &'a str,
        save: impl FnOnce(&'a str) -> BoxFuture<'static, Result<(), Failure>>,
    ) {
        let grown = text.len() - self.saved_bytes;
        if grown == 0 || (grown < CHECKPOINT_BYTES && self.saved_at.elapsed() < CHECKPOINT_EVERY) {
            return;
        }
        // A failed write is not a failed answer: the event that ends the call is what counts.
        while self.under_way.try_join_next().is_some() {}
        if self.under_way.is_empty() {
            self.under_way.spawn(save(text));
            self.saved_bytes = text.len();
            self.saved_at = Instant::now();
        }
    }
}
