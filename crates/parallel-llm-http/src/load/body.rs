//! Response bodies that hold resources until they are read, and that can be ended from outside.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::intake::Room;
use super::share::Share;

/// The resources released when a body ends.
pub(super) struct Holding {
    _permit: OwnedSemaphorePermit,
    _share: Option<Share>,
    _post: Option<TaskTrackerToken>,
    _room: Option<Room>,
}

impl Holding {
    pub(super) const fn new(
        permit: OwnedSemaphorePermit,
        share: Option<Share>,
        post: Option<TaskTrackerToken>,
        room: Option<Room>,
    ) -> Self {
        Self { _permit: permit, _share: share, _post: post, _room: room }
    }
}

/// A body that holds a value until its end.
pub(crate) struct Held<T> {
    inner: Body,
    holding: Option<T>,
    over: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<T: Send + Unpin + 'static> Held<T> {
    /// Wraps a body; it ends early when `over` is cancelled.
    pub(crate) fn wrap(inner: Body, holding: T, over: CancellationToken) -> Body {
        let over = Box::pin(over.cancelled_owned());
        Body::new(Self { inner, holding: Some(holding), over })
    }
}

impl<T: Send + Unpin + 'static> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        // Available data is written before the end.
        let polled = match polled {
            Poll::Pending => self.over.as_mut().poll(context).map(|()| None),
            ready @ Poll::Ready(_) => ready,
        };
        if matches!(polled, Poll::Ready(None)) {
            self.holding = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
