//! Plays a [`Reply`] on a connection: turns its steps into bytes, pauses and broken connections.
//!
//! It knows nothing of models and faults. When the client hangs up, hyper drops the body at once, and the exchange with
//! it.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame};
use tokio::time::{Sleep, sleep};

use super::socket::Wire;
use crate::replies::exchange::Exchange;
use crate::replies::reply::{Head, Reply, Step};

/// Waits, sends the head, and returns the body.
pub(crate) async fn play(
    mut reply: Reply,
    mut exchange: Exchange,
    wire: Arc<Wire>,
) -> io::Result<Response<PlayedBody>> {
    if !reply.wait.is_zero() {
        sleep(reply.wait).await;
    }
    exchange.begin(&mut reply);
    let (status, headers) = match reply.head {
        Head::Status(status, headers) => (status, headers),
        Head::Never => pending().await,
        Head::Closed => {
            exchange.broken();
            wire.close();
            pending().await
        }
    };
    let mut body = PlayedBody {
        steps: reply.steps.into(),
        ready: Bytes::new(),
        pause: None,
        piece_bytes_max: reply.piece_bytes_max,
        exchange,
        wire,
    };
    body.settle_if_over();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().extend(headers);
    Ok(response)
}

/// A body that follows its steps.
#[derive(Debug)]
pub(crate) struct PlayedBody {
    steps: VecDeque<Step>,
    /// Bytes of the current step that are still to be sent.
    ready: Bytes,
    pause: Option<Pin<Box<Sleep>>>,
    piece_bytes_max: usize,
    exchange: Exchange,
    wire: Arc<Wire>,
}

impl PlayedBody {
    /// The next piece of the current step. The exchange is settled before the last piece leaves, so that a client that
    /// has read the end also finds its charge in the ledger.
    fn piece(&mut self) -> Frame<Bytes> {
        let length = self.ready.len().min(self.piece_bytes_max);
        let piece = self.ready.split_to(length);
        self.settle_if_over();
        Frame::data(piece)
    }

    fn settle_if_over(&mut self) {
        if self.is_over() {
            self.exchange.complete();
        }
    }

    fn is_over(&self) -> bool {
        self.ready.is_empty() && self.steps.is_empty()
    }

    /// Starts the next step. `Some` is the result of this poll.
    fn start(&mut self, step: Step) -> Option<Poll<Option<io::Result<Frame<Bytes>>>>> {
        match step {
            Step::Send { bytes, tokens } => {
                self.exchange.sent(tokens);
                self.ready = bytes.into();
            }
            Step::Pause(pause) => self.pause = Some(Box::pin(sleep(pause))),
            Step::Repeat { bytes, pause, times } => self.repeat(bytes, pause, times),
            Step::Reset => {
                self.wire.reset_at_end();
                self.exchange.broken();
                return Some(Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))));
            }
            Step::CutInside(bytes) => {
                self.wire.cut_after(bytes.len() / 2);
                self.exchange.broken();
                return Some(Poll::Ready(Some(Ok(Frame::data(bytes.into())))));
            }
            Step::Hang => {
                self.steps.push_front(Step::Hang);
                return Some(Poll::Pending);
            }
        }
        None
    }

    fn repeat(&mut self, bytes: Bytes, pause: std::time::Duration, times: u64) {
        if times == 0 {
            return;
        }
        self.ready = bytes.clone();
        self.steps.push_front(Step::Repeat { bytes, pause, times: times - 1 });
        if !pause.is_zero() {
            self.steps.push_front(Step::Pause(pause));
        }
    }
}

impl Body for PlayedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = self.get_mut();
        loop {
            if let Some(pause) = &mut body.pause {
                ready!(pause.as_mut().poll(context));
                body.pause = None;
            }
            if !body.ready.is_empty() {
                return Poll::Ready(Some(Ok(body.piece())));
            }
            let Some(step) = body.steps.pop_front() else {
                body.exchange.complete();
                return Poll::Ready(None);
            };
            if let Some(turn) = body.start(step) {
                return turn;
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over() && self.pause.is_none()
    }
}
