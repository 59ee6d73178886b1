//! Lingering close: after a refusal, the rest of a request is read and discarded for a while.
//!
//! Closing a socket with unread bytes resets it, and the client then loses the answer that refused its body.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The time a client has to see the answer and stop: it may first send its whole body.
const LINGER_MAX: Duration = Duration::from_secs(10);
/// The most bytes discarded: several of the longest bodies.
const DISCARDED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;

/// Whether the last answer refused a request whose rest may still arrive. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Refused(Arc<AtomicBool>);

impl Refused {
    /// Notes whether the last answer was a refusal.
    pub(super) fn set(&self, is_refused: bool) {
        self.0.store(is_refused, Ordering::Relaxed);
    }
}

/// A connection that stays open until its client has read the last answer.
pub(super) struct Lingering<T> {
    inner: T,
    refused: Refused,
    is_ended: bool,
    discarded: usize,
    /// Runs while it lingers, after its writing half is shut down.
    until: Option<Pin<Box<Sleep>>>,
}

impl<T> Lingering<T> {
    pub(super) const fn new(inner: T, refused: Refused) -> Self {
        Self { inner, refused, is_ended: false, discarded: 0, until: None }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Lingering<T> {
    /// Discards input until it ends or a limit is reached.
    fn discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(LINGER_MAX)));
        if until.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut bytes = [0; READ_BYTES];
        while !self.is_ended && self.discarded < DISCARDED_BYTES_MAX {
            let mut buffer = ReadBuf::new(&mut bytes);
            // A broken connection has ended, too.
            let read = ready!(Pin::new(&mut self.inner).poll_read(context, &mut buffer));
            let count = buffer.filled().len();
            self.is_ended = read.is_err() || count == 0;
            self.discarded += count;
        }
        Poll::Ready(())
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Lingering<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.is_ended |= matches!(polled, Poll::Ready(Ok(()))) && buffer.filled().len() == before;
        polled
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    /// Shuts down the writing half first, so that a client that waits for that ends as well.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.until.is_none() {
            ready!(Pin::new(&mut self.inner).poll_shutdown(context))?;
        }
        if self.refused.0.load(Ordering::Relaxed) {
            ready!(self.discard(context));
        }
        Poll::Ready(Ok(()))
    }
}
