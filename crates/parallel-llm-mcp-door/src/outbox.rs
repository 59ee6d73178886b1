//! Lines on their way to a client that may not read them: bounded in number and in bytes, and never waited for.
//!
//! What always holds: an answer is never held back by progress, and progress never makes anyone wait; an answer for which
//! there is no room becomes a short one that says so, because every request gets one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

/// Lines that wait to be written: an answer for each request in flight, and as many refusals.
const LINES_MAX: usize = 2 * super::pending::REQUESTS_MAX;
/// Bytes that wait to be written. A thousand runs that end at once take a third of it.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Lines beside which progress is dropped: the next one tells the same and more.
const PROGRESS_LINES_MAX: usize = 32;

/// Where lines are put.
#[derive(Clone)]
pub(super) struct Outbox {
    queue: mpsc::Sender<Vec<u8>>,
    unread: UnreadLines,
}

/// Where they are taken from.
pub(super) struct Lines {
    queue: mpsc::Receiver<Vec<u8>>,
    unread: UnreadLines,
}

/// The bytes that were put and are not yet written.
#[derive(Clone, Default)]
struct UnreadLines(Arc<AtomicUsize>);

/// A client that is gone.
pub(super) struct Gone;

/// Both ends of an empty one.
pub(super) fn outbox() -> (Outbox, Lines) {
    let (sender, receiver) = mpsc::channel(LINES_MAX);
    let unread = UnreadLines::default();
    (Outbox { queue: sender, unread: unread.clone() }, Lines { queue: receiver, unread })
}

impl Outbox {
    /// Puts progress, unless more important lines wait.
    pub(super) fn progress(&self, line: Vec<u8>) {
        if self.lines() < PROGRESS_LINES_MAX && self.has_room(&line) {
            // The client may be gone, which the next answer finds out.
            let _ = self.queue.try_send(self.unread.counted(line));
        }
    }

    /// Whether a line of this length can be put. The only one always can.
    pub(super) fn has_room(&self, line: &[u8]) -> bool {
        let unread = self.unread.0.load(Ordering::Relaxed);
        unread == 0 || unread + line.len() <= BYTES_MAX
    }

    /// Puts a line, at once where there are not too many.
    pub(super) async fn put(&self, line: Vec<u8>) -> Result<(), Gone> {
        self.queue.send(self.unread.counted(line)).await.map_err(|_| Gone)
    }

    /// Waits for a place for one line. Nothing is lost where the future is dropped.
    pub(super) async fn place(&self) -> Result<Place<'_>, Gone> {
        self.queue.reserve().await.map(|permit| Place { permit, unread: &self.unread }).map_err(|_| Gone)
    }

    /// Returns when the client is gone.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }

    #[cfg(test)]
    pub(super) fn has_places(&self) -> bool {
        self.queue.capacity() > 0
    }

    fn lines(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

/// A place for one line.
pub(super) struct Place<'a> {
    permit: mpsc::Permit<'a, Vec<u8>>,
    unread: &'a UnreadLines,
}

impl Place<'_> {
    /// Takes it.
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
    /// Has `write` write the next line, on a thread that may wait. Nothing where the other end is gone and all is written.
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

    /// How many lines wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }
}
