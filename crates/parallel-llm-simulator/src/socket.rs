//! The server's end of one connection, with a wire that can be made to break: by a reset, or after a number of bytes.
//!
//! Left alone it passes everything through.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What a reply can do to its connection. Shared by the socket and the reply being played on it.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Bytes that may still be written; `usize::MAX` is no limit.
    bytes_left: AtomicUsize,
    reset: AtomicBool,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self { bytes_left: AtomicUsize::new(usize::MAX), reset: AtomicBool::new(false) }
    }

    /// Lets so many more bytes through, then breaks every write.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.bytes_left.store(bytes, Ordering::Relaxed);
    }

    /// Makes the connection end with a TCP reset instead of a FIN.
    pub(crate) fn reset_at_end(&self) {
        self.reset.store(true, Ordering::Relaxed);
    }

    fn bytes_left(&self) -> usize {
        self.bytes_left.load(Ordering::Relaxed)
    }

    fn wrote(&self, bytes: usize) {
        let left = self.bytes_left();
        if left != usize::MAX {
            self.bytes_left.store(left - bytes, Ordering::Relaxed);
        }
    }
}

/// A socket on such a wire.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    wire: Arc<Wire>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, wire: Arc<Wire>) -> Self {
        Self { stream, wire }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let allowed = bytes.len().min(self.wire.bytes_left());
        if allowed == 0 && !bytes.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, &bytes[..allowed]))?;
        self.wire.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.wire.bytes_left() == usize::MAX {
            return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| &slice[..]);
        self.poll_write(context, first)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.wire.reset.load(Ordering::Relaxed) {
            // A failure here only means that the peer is gone already.
            let _gone = self.stream.set_zero_linger();
        }
    }
}
