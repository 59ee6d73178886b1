//! The server's end of a connection, which a reply can close, reset, or cut after a number of bytes.
//!
//! Below it is plain TCP or TLS. Bytes are counted above TLS, so that every byte let through arrives. Untouched, it
//! passes everything on.

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

/// The controls that a reply has over its connection, shared by the socket and the replies played on it.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Bytes that may still be written; `usize::MAX` means no limit.
    bytes_left: AtomicUsize,
    reset: AtomicBool,
    /// Whether a request has arrived, and whether other requests may share the connection.
    has_request: AtomicBool,
    shared: AtomicBool,
    closing: Notify,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self {
            bytes_left: AtomicUsize::new(usize::MAX),
            reset: AtomicBool::new(false),
            has_request: AtomicBool::new(false),
            shared: AtomicBool::new(false),
            closing: Notify::new(),
        }
    }

    /// Records that a request has arrived; all requests of a connection use the same HTTP version.
    pub(crate) fn note_request(&self, version: Version) {
        self.has_request.store(true, Ordering::Relaxed);
        self.shared.store(version == Version::HTTP_2, Ordering::Relaxed);
    }

    /// Lets this many more bytes through, then fails every write.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.bytes_left.store(bytes, Ordering::Relaxed);
    }

    /// Ends the connection with a TCP reset instead of a FIN. HTTP/2 has its own reset, which affects one stream only.
    pub(crate) fn reset_at_end(&self) {
        if !self.shared.load(Ordering::Relaxed) {
            self.reset.store(true, Ordering::Relaxed);
        }
    }

    /// Closes the connection and every request on it.
    pub(crate) fn close(&self) {
        self.closing.notify_one();
    }

    /// Waits until a reply closes the connection, or until `silence_max` has passed without a request.
    pub(crate) async fn closed(&self, silence_max: Duration) {
        let silence = async {
            sleep(silence_max).await;
            if self.has_request.load(Ordering::Relaxed) {
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

/// The byte stream below a socket.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin + std::fmt::Debug {
    /// The TCP connection at the bottom.
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

/// A byte stream under the control of its wire.
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
            // This fails only if the peer has already closed the connection.
            let _result = self.stream.tcp().set_zero_linger();
        }
    }
}
