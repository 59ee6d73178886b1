//! Limits the unread answers over HTTP, in bytes over all requests, as the outbox does for pipes.
//!
//! A piece given to a connection counts until the connection asks for more or is gone. What always holds: each request
//! gets an answer; one that does not fit becomes a short one that says so, and nobody waits.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::Frame;

use super::early::Asked;
use crate::protocol::line::Refusal;
use parallel_llm_http::early;

/// The most unread bytes: as many as on pipes, and hundreds of usual answers.
pub(super) const BYTES_MAX: usize = 64 * 1024 * 1024;
/// The size that always fits: progress, comments, refusals. All requests in flight together take a few megabytes of
/// these.
const SMALL_BYTES_MAX: usize = 16 * 1024;

/// The count of unread bytes. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Unread {
    bytes: Arc<AtomicUsize>,
    bytes_max: usize,
}

impl Unread {
    /// No unread bytes, with this limit.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes: Arc::default(), bytes_max }
    }

    /// Whether a piece of an answer fits. The only one always does.
    fn has_room(&self, bytes: usize) -> bool {
        let unread = self.bytes.load(Ordering::Relaxed);
        bytes <= SMALL_BYTES_MAX || unread == 0 || unread + bytes <= self.bytes_max
    }
}

/// Counts the answer to a message until it is read.
pub(super) async fn bound(State(unread): State<Unread>, mut request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let asked = request.extensions_mut().get_or_insert_default::<Asked>().clone();
    let response = next.run(request).await;
    let (mut parts, body) = response.into_parts();
    if body.size_hint().exact().is_some_and(|bytes| bytes <= SMALL_BYTES_MAX as u64) {
        return Response::from_parts(parts, body);
    }
    // The length may change to that of a short answer.
    parts.headers.remove(header::CONTENT_LENGTH);
    let is_event = early::names(&parts.headers, &header::CONTENT_TYPE, early::EVENTS);
    let counted = CountedBody { inner: body, unread, held: 0, asked, is_event };
    Response::from_parts(parts, Body::new(counted))
}

/// A body whose pieces are counted.
struct CountedBody {
    inner: Body,
    unread: Unread,
    /// The length of the current piece, which may be unread.
    held: usize,
    asked: Asked,
    /// Whether a piece is an event, rather than the whole JSON text.
    is_event: bool,
}

impl CountedBody {
    fn give_back(&mut self) {
        self.unread.bytes.fetch_sub(std::mem::take(&mut self.held), Ordering::Relaxed);
    }

    /// The piece, or a short one in its place.
    fn fitted(&mut self, piece: Bytes) -> Bytes {
        let piece = if self.unread.has_room(piece.len()) { piece } else { self.left_out() };
        self.held = piece.len();
        self.unread.bytes.fetch_add(self.held, Ordering::Relaxed);
        piece
    }

    fn left_out(&self) -> Bytes {
        let message = "too many answers are unread, so this one was left out: read them, then ask again, or call \
                       get_run if it is the answer of a run";
        let line = Refusal::outside(self.asked.id(), message).to_line();
        if self.is_event { early::event(line.trim_ascii()).into() } else { line.into() }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // A connection asks for more after writing most of what it had.
        self.give_back();
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(|piece| self.fitted(piece)))))
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::BodyDataStream;
    use futures_util::{StreamExt, stream};
    use rmcp::model::RequestId;

    use super::*;

    /// An answer of pieces that are so long.
    fn answer(unread: &Unread, pieces: &'static [usize], is_event: bool) -> BodyDataStream {
        let pieces = stream::iter(pieces).map(|bytes| Ok::<_, Infallible>(Bytes::from(vec![b'x'; *bytes])));
        let (inner, asked) = (Body::from_stream(pieces), Asked::default());
        asked.note_id(RequestId::String("call-7".into()));
        Body::new(CountedBody { inner, unread: unread.clone(), held: 0, asked, is_event }).into_data_stream()
    }

    async fn next(answer: &mut BodyDataStream) -> Option<String> {
        answer.next().await.map(|piece| String::from_utf8(piece.unwrap().to_vec()).unwrap())
    }

    const LEFT_OUT: &str = concat!(
        r#"{"jsonrpc":"2.0","id":"call-7","error":{"code":-32000,"message":"too many answers are unread, so this one was "#,
        r#"left out: read them, then ask again, or call get_run if it is the answer of a run"}}"#
    );

    #[tokio::test]
    async fn an_answer_without_room_is_replaced_by_a_short_error() {
        let unread = Unread::new(100_000);
        let mut first = answer(&unread, &[10, 60_000], true);
        assert_eq!(next(&mut first).await.map(|piece| piece.len()), Some(10));
        assert_eq!(next(&mut first).await.map(|piece| piece.len()), Some(60_000));
        // The first is not read on, so what it was given is unread.
        let mut second = answer(&unread, &[10, 60_000], true);
        assert_eq!(next(&mut second).await.map(|piece| piece.len()), Some(10), "progress has room");
        assert_eq!(next(&mut second).await, Some(format!("data: {LEFT_OUT}\n\n")));
        assert_eq!(next(&mut second).await, None);
        let mut whole = answer(&unread, &[60_000], false);
        assert_eq!(next(&mut whole).await, Some(format!("{LEFT_OUT}\n")));
        assert_eq!(next(&mut first).await, None);
        let mut third = answer(&unread, &[60_000], true);
        assert_eq!(next(&mut third).await.map(|piece| piece.len()), Some(60_000), "the first was read");
        drop((whole, third));
        assert_eq!(unread.bytes.load(Ordering::Relaxed), 0, "who is gone holds nothing");
    }

    #[tokio::test]
    async fn the_only_answer_has_room_however_long_it_is() {
        let unread = Unread::new(100_000);
        let mut only = answer(&unread, &[900_000], true);
        assert_eq!(next(&mut only).await.map(|piece| piece.len()), Some(900_000));
    }
}
