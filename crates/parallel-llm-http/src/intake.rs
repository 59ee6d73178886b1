//! Reads requests: a known method, and for a post one JSON body within its limits.
//!
//! Bodies are read here and not by routes, so that a long, slow or excessive one gets the right status on every route.
//! The route judges the content.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::limits::Limits;
use super::refusal;
use super::status::Fault;
use crate::failure;
use crate::message::Values;

/// The methods of all routes.
const METHODS: [Method; 3] = [Method::GET, Method::POST, Method::DELETE];
/// The same as an `Allow` header.
const ALLOW: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// The only media type of bodies.
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Memory for bodies is reserved in units of this many bytes.
const PIECE_BYTES: usize = 1024;

/// The memory reserved for a body, held until the answer has been read, because values made from the body live as long.
#[derive(Clone)]
pub(super) struct Room(
    #[expect(dead_code, reason = "it is held, and given back when dropped")] Arc<OwnedSemaphorePermit>,
);

/// The limits, and the memory for bodies.
pub(super) struct Intake {
    limits: Limits,
    room: Arc<Semaphore>,
}

/// A body and its reserved memory.
struct Read {
    bytes: Vec<u8>,
    values: Values,
    room: Option<OwnedSemaphorePermit>,
}

/// Why a body is refused.
enum Unread {
    TooLarge,
    TooSlow,
    NoRoom,
    Broken,
}

impl Intake {
    pub(super) fn new(limits: Limits) -> Self {
        let room = limits.bodies_bytes_max.div_ceil(PIECE_BYTES).min(Semaphore::MAX_PERMITS);
        Self { limits, room: Arc::new(Semaphore::new(room)) }
    }

    async fn body(&self, headers: &HeaderMap, body: Body) -> Result<Read, Unread> {
        let declared =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if declared.is_some_and(|length: usize| length > self.limits.body_bytes_max) {
            return Err(Unread::TooLarge);
        }
        timeout(self.limits.body_max, self.collect(body)).await.unwrap_or(Err(Unread::TooSlow))
    }

    async fn collect(&self, body: Body) -> Result<Read, Unread> {
        let mut stream = body.into_data_stream();
        let mut read = Read { bytes: Vec::new(), values: Values::default(), room: None };
        loop {
            let next =
                timeout(self.limits.body_idle_max, stream.next()).await.map_err(|_| Unread::TooSlow)?;
            let Some(piece) = next.transpose().map_err(|_| Unread::Broken)? else { return Ok(read) };
            self.take(&mut read, &piece)?;
        }
    }

    fn take(&self, read: &mut Read, piece: &Bytes) -> Result<(), Unread> {
        if piece.len() > self.limits.body_bytes_max - read.bytes.len() {
            return Err(Unread::TooLarge);
        }
        let held = read.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        // Counted as the bytes arrive, so that no whole body is scanned at once.
        read.values.add(piece);
        let taken = read.bytes.len() + piece.len() + read.values.bytes();
        let missing = taken.div_ceil(PIECE_BYTES) - held;
        if missing > 0 {
            let more = u32::try_from(missing).map_err(|_| Unread::TooLarge)?;
            let more = Arc::clone(&self.room).try_acquire_many_owned(more).map_err(|_| Unread::NoRoom)?;
            match &mut read.room {
                Some(room) => room.merge(more),
                None => read.room = Some(more),
            }
        }
        read.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn refuse(&self, unread: &Unread) -> Response {
        let (fault, message) = match unread {
            Unread::TooLarge => {
                (Fault::BodyTooLarge, format!("a body has at most {} bytes", self.limits.body_bytes_max))
            }
            Unread::TooSlow => (Fault::TooSlow, "the body came too slowly".to_owned()),
            Unread::NoRoom => return refusal::busy("there is no room for the body"),
            Unread::Broken => (Fault::Malformed, "the body cannot be read".to_owned()),
        };
        let next = Advice::SendWholeObject;
        failure::refusal(fault, &Failure::new(Code::Usage, message).with_next(next))
    }
}

/// Reads the body of a request, or refuses it.
pub(super) async fn read(State(intake): State<Arc<Intake>>, request: Request, next: Next) -> Response {
    if !METHODS.contains(request.method()) {
        let failure = Failure::new(Code::Usage, "this method is not served").with_next(Advice::UseMethods);
        let mut response = failure::refusal(Fault::Method, &failure);
        response.headers_mut().insert(header::ALLOW, ALLOW);
        return response;
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        let failure = Failure::new(Code::Usage, "the type of the body is not JSON in UTF-8")
            .with_next(Advice::SendJson);
        return failure::refusal(Fault::MediaType, &failure);
    }
    let comes_in_pieces = parts.headers.contains_key(header::TRANSFER_ENCODING);
    let read = match intake.body(&parts.headers, body).await {
        Ok(read) => read,
        Err(unread) => return intake.refuse(&unread),
    };
    // Routes see the media type in one spelling.
    parts.headers.insert(header::CONTENT_TYPE, JSON);
    if let Some(room) = read.room {
        parts.extensions.insert(Room(Arc::new(room)));
    }
    let mut response = next.run(Request::from_parts(parts, Body::from(read.bytes))).await;
    if comes_in_pieces {
        // A request with both headers had its `Content-Length` dropped unseen; a proxy that used it would take the rest
        // of the body for another request.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Whether the body is plain JSON: exactly one media type, no other character set, no compression.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return false };
    let Ok(text) = value.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    let is = |part: &str, word: &str| part.eq_ignore_ascii_case(word);
    parts.next().is_some_and(|essence| is(essence, "application/json"))
        && parts.all(|rest| is(rest, "charset=utf-8") || is(rest, "charset=\"utf-8\""))
        && !headers.contains_key(header::CONTENT_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_in_utf_8_is_json() {
        let check = |types: &[&str], expected: bool| {
            let headers = types.iter().map(|text| (header::CONTENT_TYPE, text.parse().unwrap()));
            assert_eq!(is_json(&headers.collect()), expected, "{types:?}");
        };
        check(&["application/json"], true);
        check(&["Application/JSON; charset=UTF-8"], true);
        check(&["application/json; charset=latin1"], false);
        check(&["application/json-patch+json"], false);
        check(&["text/plain; application/json"], false);
        check(&["application/json", "application/json"], false);
        check(&[], false);
        let packed =
            [(header::CONTENT_TYPE, JSON), (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
        assert!(!is_json(&packed.into_iter().collect()));
    }
}
