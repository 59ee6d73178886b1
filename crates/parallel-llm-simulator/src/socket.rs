//! The server's end of one connection, with a wire that can be made to break: by closing it, by a reset, or after a
//! number of bytes. Beneath it is plain TCP or TLS; bytes are counted above TLS, so that what was let through arrives.
//!
//! Left alone it passes everything through.

use std::future::pending;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::Version;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

/// What a reply can do to its connection. Shared by the socket and the replies being played on it.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Bytes that may still be written; `usize::MAX` is no limit.
    bytes_left: AtomicUsize,
    reset: AtomicBool,
    /// Whether a request came, and whether others may be under way on the same connection.
    spoken: AtomicBool,
    shared: AtomicBool,
    closing: Notify,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self {
            bytes_left: AtomicUsize::new(usize::MAX),
            reset: AtomicBool::new(false),
            spoken: AtomicBool::new(false),
            shared: AtomicBool::new(false),
            closing: Notify::new(),
        }
    }

    /// Notes that a request came in this version of HTTP; all of one connection are of the same.
    pub(crate) fn speaks(&self, version: Version) {
        self.spoken.store(true, Ordering::Relaxed);
        self.shared.store(version == Version::HTTP_2, Ordering::Relaxed);
    }

    /// Lets so many more bytes through, then breaks every write.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.bytes_left.store(bytes, Ordering::Relaxed);
    }

    /// Makes the connection end with a TCP reset instead of a FIN. HTTP/2 has a reset of its own, for one reply only.
    pub(crate) fn reset_at_end(&self) {
        if !self.shared.load(Ordering::Relaxed) {
            self.reset.store(true, Ordering::Relaxed);
        }
    }

    /// Closes the connection, whatever else is under way on it.
    pub(crate) fn close(&self) {
        self.closing.notify_one();
    }

    /// Waits until the connection is to be closed: because a reply says so, or because no request came for so long.
    pub(crate) async fn over(&self, silence_max: Duration) {
        let silence = async {
            sleep(silence_max).await;
            if self.spoken.load(Ordering::Relaxed) {
                pending::<()>().await;
            }
        };
        tokio::select! {
            () = self.closing.notified() => {}
            () = silence => {}
        }
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

/// What a socket stands on.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin + std::fmt::Debug {
    /// The connection beneath it all.
    fn tcp(&self) -> &TcpStream;
}

impl Transport for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Transport for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// A socket on such a wire.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Box<dyn Transport>,
    wire: Arc<Wire>,
}

impl Socket {
    pub(crate) fn new(stream: Box<dyn Transport>, wire: Arc<Wire>) -> Self {
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
            let _gone = self.stream.tcp().set_zero_linger();
        }
    }
}
