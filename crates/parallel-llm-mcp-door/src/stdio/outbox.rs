//! The outbox: lines to a client that may not read them, bounded in number and bytes.
//!
//! What always holds: progress delays neither answers nor runs; an answer that does not fit becomes a short one that
//! says so, because every request gets one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

/// The most queued lines: an answer for each request in flight, and as many refusals.
const LINES_MAX: usize = 2 * crate::protocol::pending::REQUESTS_MAX;
/// The most queued bytes. A thousand runs that end at once take a third of it.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// The number of queued lines at which progress is dropped: the next notification says the same and more.
const PROGRESS_LINES_MAX: usize = 32;

/// The sending end.
#[derive(Clone)]
pub(super) struct Outbox {
    queue: mpsc::Sender<Vec<u8>>,
    unread: UnreadLines,
}

/// The receiving end.
pub(super) struct Lines {
    queue: mpsc::Receiver<Vec<u8>>,
    unread: UnreadLines,
}

/// The bytes that are queued but not written.
#[derive(Clone, Default)]
struct UnreadLines(Arc<AtomicUsize>);

/// The error that the client is gone.
pub(super) struct Gone;

/// Both ends of an empty outbox.
pub(super) fn outbox() -> (Outbox, Lines) {
    let (sender, receiver) = mpsc::channel(LINES_MAX);
    let unread = UnreadLines::default();
    (Outbox { queue: sender, unread: unread.clone() }, Lines { queue: receiver, unread })
}

impl Outbox {
    /// Queues progress, unless more important lines wait.
    pub(super) fn progress(&self, line: Vec<u8>) {
        if self.lines() < PROGRESS_LINES_MAX && self.has_room(&line) {
            // If the client is gone, the next answer fails.
            let _ = self.queue.try_send(self.unread.counted(line));
        }
    }

    /// Whether a line of this length fits. The only line always does.
    pub(super) fn has_room(&self, line: &[u8]) -> bool {
        let unread = self.unread.0.load(Ordering::Relaxed);
        unread == 0 || unread + line.len() <= BYTES_MAX
    }

    /// Queues a line, and waits while the queue is full.
    pub(super) async fn put(&self, line: Vec<u8>) -> Result<(), Gone> {
        self.queue.send(self.unread.counted(line)).await.map_err(|_| Gone)
    }

    /// Waits for room for one line. Dropping the future loses nothing.
    pub(super) async fn reserve(&self) -> Result<Reserved<'_>, Gone> {
        self.queue.reserve().await.map(|permit| Reserved { permit, unread: &self.unread }).map_err(|_| Gone)
    }

    /// Returns when the client is gone.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }

    #[cfg(test)]
    pub(super) fn has_room_for_a_line(&self) -> bool {
        self.queue.capacity() > 0
    }

    fn lines(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

/// Room for one line.
pub(super) struct Reserved<'a> {
    permit: mpsc::Permit<'a, Vec<u8>>,
    unread: &'a UnreadLines,
}

impl Reserved<'_> {
    /// Queues the line.
    pub(super) fn put(self, line: Vec<u8>) {
        self.permit.send(self.unread.counted(line));
    }
}

impl UnreadLines {
    fn counted(&self, line: Vec<u8>) -> Vec<u8> {
        self.0.fetch_add(line.len(), Ordering::Relaxed);
        line
    }
}

impl Lines {
    /// Passes the next line to `write`, on a thread that may block. `None` if the sender is gone and all lines are
    /// written.
    pub(super) fn write_next<T>(&mut self, write: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let line = self.queue.blocking_recv()?;
        let written = write(&line);
        self.unread.0.fetch_sub(line.len(), Ordering::Relaxed);
        Some(written)
    }

    /// The next line, for tests that read without a thread.
    #[cfg(test)]
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        let line = self.queue.recv().await?;
        self.unread.0.fetch_sub(line.len(), Ordering::Relaxed);
        Some(line)
    }

    /// The number of queued lines.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }
}
