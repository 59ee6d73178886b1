//! The body of a request that asks at the last moment whether it may leave.
//!
//! The HTTP client takes it from here when its connection stands. Over HTTP/1 no byte of the request has left by then, not
//! even its head; over HTTP/2 the head may have, which without its body is no request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use parallel_llm_engine::Failure;
use parallel_llm_engine::port::SendGuard;
use parking_lot::Mutex;

/// Why a body did not leave, for whoever sent the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused(Arc<Mutex<Option<Failure>>>);

impl Refused {
    /// The failure of the guard, if it refused.
    pub(crate) fn take(&self) -> Option<Failure> {
        self.0.lock().take()
    }
}

/// A body of one piece behind a guard.
pub(crate) struct GuardedBody {
    bytes: Option<Bytes>,
    guard: SendGuard,
    refused: Refused,
}

impl GuardedBody {
    /// The body, and where its refusal is found.
    pub(crate) fn new(bytes: Bytes, guard: SendGuard) -> (Self, Refused) {
        let refused = Refused::default();
        (Self { bytes: Some(bytes), guard, refused: refused.clone() }, refused)
    }
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = NotSent;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, NotSent>>> {
        let Some(bytes) = self.bytes.take() else { return Poll::Ready(None) };
        Poll::Ready(Some(match self.guard.check() {
            Ok(()) => Ok(Frame::data(bytes)),
            Err(failure) => {
                *self.refused.0.lock() = Some(failure);
                Err(NotSent)
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, Bytes::len) as u64)
    }
}

/// The error by which the HTTP client gives the request up.
#[derive(Debug)]
pub(crate) struct NotSent;

impl std::fmt::Display for NotSent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the request may not leave any more")
    }
}

impl std::error::Error for NotSent {}
