//! Reads requests: a known method, and for a post one JSON body or form within its limits.
//!
//! Bodies are read here and not by routes, so that a long, slow or excessive one gets the right status on every route.
//! The route judges the content. Forms are read only for doors that want them: a page of another site can post a form
//! without asking first, but not JSON.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use futures_util::StreamExt;
use memchr::memchr_iter;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::limits::Limits;
use super::message::Values;
use crate::answer::failure;
use crate::answer::refusal::{self, Refusal};
use crate::answer::status::Fault;
use crate::doors::paths::Paths;
use parallel_llm_service::Principal;

/// The methods of all routes.
const METHODS: [Method; 4] = [Method::GET, Method::HEAD, Method::POST, Method::DELETE];
/// The same as an `Allow` header.
const ALLOW: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, DELETE");
/// The media type of JSON in its usual spelling.
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The most fields of a form that is not multipart. A field of two bytes takes a hundred when parsed.
const FIELDS_MAX: usize = 1_000;
/// Memory for bodies is reserved in units of this many bytes.
const PIECE_BYTES: usize = 1024;

/// The memory reserved for a body, held until the answer has been read, because values made from the body live as long.
#[derive(Clone)]
pub(super) struct Room(
    #[expect(dead_code, reason = "it is held, and given back when dropped")] Arc<OwnedSemaphorePermit>,
);

/// The limits, and the memory for bodies.
pub(crate) struct Intake {
    limits: Limits,
    room: Arc<Semaphore>,
    /// The memory for forms of browsers whose session has ended: one of the longest at a time, so that strangers take no
    /// room of others.
    room_of_kept_forms: Arc<Semaphore>,
    paths: Arc<Paths>,
}

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Json,
    /// `application/x-www-form-urlencoded`.
    Fields,
    /// `multipart/form-data`. The route bounds the number of parts.
    Parts,
}

/// A body and its reserved memory.
struct Read {
    kind: Kind,
    bytes_max: usize,
    bytes: Vec<u8>,
    values: Values,
    fields: usize,
    /// Where its memory comes from.
    source: Arc<Semaphore>,
    room: Option<OwnedSemaphorePermit>,
}

/// Why a body is refused.
enum Unread {
    TooLarge { bytes_max: usize },
    TooManyFields,
    TooSlow,
    NoRoom,
    Broken,
}

impl Intake {
    /// The intake of a server with these doors.
    pub(crate) fn new(limits: Limits, paths: Arc<Paths>) -> Self {
        let room =
            |bytes: usize| Arc::new(Semaphore::new(bytes.div_ceil(PIECE_BYTES).min(Semaphore::MAX_PERMITS)));
        let room_of_kept_forms = room(limits.body_bytes_max);
        Self { limits, room: room(limits.bodies_bytes_max), room_of_kept_forms, paths }
    }

    /// Reads the body of a request, or refuses it.
    pub(crate) async fn read(&self, request: Request) -> Result<Request, Refusal> {
        if !METHODS.contains(request.method()) {
            let failure =
                Failure::new(Code::Usage, "this method is not served").with_next(Advice::UseMethods);
            let mut response = failure::refusal(Fault::Method, &failure);
            response.headers_mut().insert(header::ALLOW, ALLOW);
            return Err(response.into());
        }
        if request.method() != Method::POST {
            return Ok(request);
        }
        let (mut parts, body) = request.into_parts();
        let takes_forms = self.paths.at(parts.uri.path()).is_some_and(|terms| terms.forms);
        let Some(kind) = kind(&parts.headers).filter(|kind| takes_forms || *kind == Kind::Json) else {
            let message = if takes_forms {
                "the type of the body is neither JSON in UTF-8 nor a form"
            } else {
                "the type of the body is not JSON in UTF-8"
            };
            let failure = Failure::new(Code::Usage, message).with_next(Advice::SendJson);
            return Err(failure::refusal(Fault::MediaType, &failure).into());
        };
        let read = self.body(&parts, kind, body).await.map_err(|unread| unread.refuse())?;
        if kind == Kind::Json {
            // Routes see the media type in one spelling.
            parts.headers.insert(header::CONTENT_TYPE, JSON);
        }
        if let Some(room) = read.room {
            parts.extensions.insert(Room(Arc::new(room)));
        }
        Ok(Request::from_parts(parts, Body::from(read.bytes)))
    }

    /// Reads the body of a post.
    async fn body(&self, parts: &Parts, kind: Kind, body: Body) -> Result<Read, Unread> {
        // Strangers reach open paths. Together they must not take the room of others.
        let is_stranger = parts.extensions.get::<Principal>().is_none();
        let is_kept = is_stranger && self.paths.keeps_form(parts.uri.path());
        let bytes_max = if is_stranger && !is_kept {
            self.limits.body_bytes_max.min(self.limits.stranger_body_bytes_max)
        } else {
            self.limits.body_bytes_max
        };
        let source = Arc::clone(if is_kept { &self.room_of_kept_forms } else { &self.room });
        let declared =
            parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if declared.is_some_and(|length: usize| length > bytes_max) {
            return Err(Unread::TooLarge { bytes_max });
        }
        let (bytes, values) = (Vec::new(), Values::default());
        let read = Read { kind, bytes_max, bytes, values, fields: 0, source, room: None };
        timeout(self.limits.body_max, self.collect(read, body)).await.unwrap_or(Err(Unread::TooSlow))
    }

    async fn collect(&self, mut read: Read, body: Body) -> Result<Read, Unread> {
        let mut stream = body.into_data_stream();
        loop {
            let next =
                timeout(self.limits.body_idle_max, stream.next()).await.map_err(|_| Unread::TooSlow)?;
            let Some(piece) = next.transpose().map_err(|_| Unread::Broken)? else { return Ok(read) };
            read.take(&piece)?;
        }
    }
}

impl Read {
    fn take(&mut self, piece: &Bytes) -> Result<(), Unread> {
        let too_large = Unread::TooLarge { bytes_max: self.bytes_max };
        if piece.len() > self.bytes_max - self.bytes.len() {
            return Err(too_large);
        }
        // Counted as the bytes arrive, so that no whole body is scanned at once.
        match self.kind {
            Kind::Json => self.values.add(piece),
            Kind::Fields => self.fields += memchr_iter(b'&', piece).count(),
            Kind::Parts => {}
        }
        if self.fields >= FIELDS_MAX {
            return Err(Unread::TooManyFields);
        }
        let held = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let taken = self.bytes.len() + piece.len() + self.values.bytes();
        let missing = taken.div_ceil(PIECE_BYTES) - held;
        if missing > 0 {
            let more = u32::try_from(missing).map_err(|_| too_large)?;
            let more = Arc::clone(&self.source).try_acquire_many_owned(more).map_err(|_| Unread::NoRoom)?;
            match &mut self.room {
                Some(room) => room.merge(more),
                None => self.room = Some(more),
            }
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }
}

impl Unread {
    fn refuse(&self) -> Response {
        let (fault, message) = match self {
            Self::TooLarge { bytes_max } => {
                (Fault::BodyTooLarge, format!("this body may have at most {bytes_max} bytes"))
            }
            Self::TooManyFields => {
                (Fault::BodyTooLarge, format!("a form may have at most {FIELDS_MAX} fields"))
            }
            Self::TooSlow => (Fault::TooSlow, "the body came too slowly".to_owned()),
            Self::NoRoom => return refusal::busy("there is no room for the body"),
            Self::Broken => (Fault::Malformed, "the body cannot be read".to_owned()),
        };
        let next = Advice::SendWholeObject;
        failure::refusal(fault, &Failure::new(Code::Usage, message).with_next(next))
    }
}

/// Whether the body of a post is sent in pieces.
pub(crate) fn comes_in_pieces(request: &Request) -> bool {
    request.method() == Method::POST && request.headers().contains_key(header::TRANSFER_ENCODING)
}

/// The answer to such a post. A request with both headers had its `Content-Length` dropped unseen; a proxy that used it would
/// take the rest of the body for another request.
pub(crate) fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The kind of a body, if it has exactly one known media type, no other character set than UTF-8, and no compression.
fn kind(headers: &HeaderMap) -> Option<Kind> {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return None };
    let mut parts = value.to_str().ok()?.split(';').map(str::trim);
    let is = |part: &str, word: &str| part.eq_ignore_ascii_case(word);
    let essence = parts.next()?;
    let is_utf_8 = parts.all(|rest| is(rest, "charset=utf-8") || is(rest, "charset=\"utf-8\""));
    let kind = match essence {
        json if is(json, "application/json") && is_utf_8 => Kind::Json,
        fields if is(fields, "application/x-www-form-urlencoded") && is_utf_8 => Kind::Fields,
        // Its boundary is for the route to read.
        parts if is(parts, "multipart/form-data") => Kind::Parts,
        _ => return None,
    };
    (!headers.contains_key(header::CONTENT_ENCODING)).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_json_in_utf_8_or_a_form() {
        let check = |types: &[&str], expected: Option<Kind>| {
            let headers = types.iter().map(|text| (header::CONTENT_TYPE, text.parse().unwrap()));
            assert_eq!(kind(&headers.collect()), expected, "{types:?}");
        };
        check(&["application/json"], Some(Kind::Json));
        check(&["Application/JSON; charset=UTF-8"], Some(Kind::Json));
        check(&["application/x-www-form-urlencoded;charset=utf-8"], Some(Kind::Fields));
        check(&["multipart/form-data; boundary=\"a b\""], Some(Kind::Parts));
        check(&["application/json; charset=latin1"], None);
        check(&["application/x-www-form-urlencoded; charset=utf-16"], None);
        check(&["multipart/mixed; boundary=a"], None);
        check(&["application/json-patch+json"], None);
        check(&["text/plain; application/json"], None);
        check(&["text/plain"], None);
        check(&["application/json", "application/json"], None);
        check(&["multipart/form-data; boundary=a", "application/json"], None);
        check(&[], None);
        let packed =
            [(header::CONTENT_TYPE, JSON), (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
        assert_eq!(kind(&packed.into_iter().collect()), None);
    }
}
