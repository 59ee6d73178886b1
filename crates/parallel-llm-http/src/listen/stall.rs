//! Breaks a connection whose client stops reading, so that nothing is held for it without limit.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection that breaks when a write waits for longer than `stall_max`.
pub(super) struct Stalling<T> {
    inner: T,
    stall_max: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Stalling<T> {
    pub(super) const fn new(inner: T, stall_max: Duration) -> Self {
        Self { inner, stall_max, waiting: None }
    }

    /// Starts the timer at the first write that waits, and stops it at the first that does not.
    fn count<O>(&mut self, polled: Poll<io::Result<O>>, context: &mut Context<'_>) -> Poll<io::Result<O>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let stall_max = self.stall_max;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(stall_max)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stalling<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalling<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.count(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.count(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(context);
        self.count(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_shutdown(context);
        self.count(polled, context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_stalled_write_fails_and_a_slow_one_does_not() {
        let (mut client, server) = tokio::io::duplex(8);
        let mut server = Stalling::new(server, Duration::from_millis(50));
        server.write_all(&[0; 8]).await.unwrap();
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut server).poll_write(&mut context, &[0]).is_pending());
        assert!(server.waiting.is_some());
        client.read_exact(&mut [0; 8]).await.unwrap();
        server.write_all(&[0; 8]).await.unwrap();
        assert!(server.waiting.is_none(), "it is counted anew");
        assert_eq!(server.write(&[0]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
