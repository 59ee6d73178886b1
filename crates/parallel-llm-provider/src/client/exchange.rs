//! One request and its reply, read part by part.
//!
//! A [codec](crate::codec) writes the request, [`crate::read::reply`] reads the answer, [`crate::wire::classify`] and
//! [`crate::connection::transport`] classify errors.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use parallel_llm_engine::port::{Call, ReplyPart, ReplyStream, SendGuard};
use parallel_llm_engine::request::VIA_HEADER;
use parallel_llm_engine::{Failure, Finish};
use reqwest::Response;

use super::guarded::GuardedBody;
use crate::codec;
use crate::connection::endpoint::Endpoint;
use crate::connection::http as pooled;
use crate::connection::http::PooledClient;
use crate::pace::admission::Admitted;
use crate::providers::api_key::ApiKey;
use crate::read::reply::{Parts, Reply};
use crate::wire::classify::{self, Origin, Scope};

use super::shared::Shared;

/// The most bytes read of an error's body. Real ones are under 4 kB; HTML pages are not worth more.
const ERROR_BYTES_MAX: usize = 64 * 1024;
/// How long to wait for the body of an error once its status has come. The status alone gives a code.
const ERROR_WAIT: Duration = Duration::from_secs(5);
/// The most bytes of a reply that are taken in before their parts are returned.
const READ_BYTES_MAX: usize = 64 * 1024;
/// How long a connection whose reply has ended may take to end its body, so that it can be reused.
const LINGER: Duration = Duration::from_secs(2);
/// The most bytes read after the end of a reply for that purpose.
const LINGER_BYTES_MAX: usize = 64 * 1024;
/// The header in which OpenRouter gives the id of a call before its reply begins. The cost can be requested later by
/// this id.
const CALL_ID_HEADER: &str = "x-generation-id";

/// The header with the servers of this program that a question passed through, oldest first.
const VIA: HeaderName = HeaderName::from_static(VIA_HEADER);

/// One request and its reply.
pub(super) struct Exchange {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    /// Held until the exchange is over.
    admitted: Option<Admitted>,
    state: ExchangeState,
    parts: Parts,
}

enum ExchangeState {
    Unsent(Box<Unsent>),
    Reading(Box<Reading>),
    Over,
}

/// A request that has not been sent.
struct Unsent {
    call: Call,
    key: Option<ApiKey>,
    guard: SendGuard,
}

/// A reply that is being read.
struct Reading {
    response: Response,
    reply: Reply,
    /// Counts the call for its pool.
    _pooled: PooledClient,
}

impl Exchange {
    pub(super) fn new(
        shared: Arc<Shared>,
        endpoint: Arc<Endpoint>,
        admitted: Admitted,
        call: Call,
        key: Option<ApiKey>,
    ) -> Self {
        let state = ExchangeState::Unsent(Box::new(Unsent { call, key, guard: SendGuard::open() }));
        Self { shared, endpoint, admitted: Some(admitted), state, parts: Parts::new() }
    }

    /// Sends the request when the stream is first polled, unless the guard refuses it once its connection stands.
    pub(super) fn stream(mut self, guard: SendGuard) -> ReplyStream {
        if let ExchangeState::Unsent(unsent) = &mut self.state {
            unsent.guard = guard;
        }
        ReplyStream::new(stream::unfold(Box::new(self), Self::next))
    }

    /// The next part. Parts from one read are returned without waiting.
    async fn next(mut self: Box<Self>) -> Option<(Result<ReplyPart, Failure>, Box<Self>)> {
        loop {
            if let Some(part) = self.parts.pop_front() {
                return Some((self.shared.cleaned(part), self));
            }
            match std::mem::replace(&mut self.state, ExchangeState::Over) {
                ExchangeState::Unsent(unsent) => self.send(*unsent).await,
                ExchangeState::Reading(reading) => self.read(reading).await,
                ExchangeState::Over => return None,
            }
            if let Some(admitted) = &mut self.admitted {
                // All of them are new: the earlier ones have been returned.
                for part in &self.parts {
                    admitted.record(part);
                }
            }
            if matches!(self.state, ExchangeState::Over) {
                self.admitted = None;
            }
        }
    }

    async fn send(&mut self, unsent: Unsent) {
        match Box::pin(self.shared.send_request(&self.endpoint, unsent)).await {
            Ok((mut response, mut reply, pooled)) => {
                // Headers point into the buffer they were read to, and would keep it while the reply is read.
                let headers = std::mem::take(response.headers_mut());
                self.parts.push_back(Ok(ReplyPart::Connected));
                if let Some(id) = call_id(&headers) {
                    reply.accept(id, &mut self.parts);
                }
                drop(headers);
                if let Some(admitted) = &mut self.admitted {
                    admitted.reply_began();
                }
                self.state = ExchangeState::Reading(Box::new(Reading { response, reply, _pooled: pooled }));
            }
            Err(Refusal { failure, scope }) => {
                if let Some(admitted) = &mut self.admitted {
                    admitted.refused(scope);
                }
                self.parts.push_back(Err(failure));
            }
        }
    }

    /// Takes in all that has come, so that a burst of events is passed on once and not event by event.
    async fn read(&mut self, mut reading: Box<Reading>) {
        let Reading { response, reply, .. } = &mut *reading;
        let mut chunk = response.chunk().await;
        let mut bytes_read = 0;
        loop {
            match chunk {
                Ok(Some(bytes)) => {
                    bytes_read += bytes.len();
                    reply.feed(&bytes, &mut self.parts);
                }
                Ok(None) => return reply.finish(&mut self.parts),
                Err(error) => {
                    return self.parts.push_back(Err(self.shared.transport_failure(&self.endpoint, &error)));
                }
            }
            if reply.is_over() || bytes_read >= READ_BYTES_MAX {
                break;
            }
            chunk = tokio::select! {
                biased;
                chunk = response.chunk() => chunk,
                // Returns after the connection's task had its turn: nothing more has come.
                () = tokio::task::yield_now() => break,
            };
        }
        if !reply.is_over() {
            self.state = ExchangeState::Reading(reading);
        } else if matches!(self.parts.back(), Some(Ok(ReplyPart::End(_)))) {
            self.shared.linger(reading.response).await;
        }
    }
}

/// Why a request got no reply.
pub(super) struct Refusal {
    pub(super) failure: Failure,
    /// Which calls the limit applies to, if the reason is a limit.
    scope: Scope,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { failure, scope: Scope::default() }
    }
}

impl Shared {
    /// Sends the request of a call and waits for the headers of its reply.
    async fn send_request(
        &self,
        endpoint: &Endpoint,
        Unsent { call, key, guard }: Unsent,
    ) -> Result<(Response, Reply, PooledClient), Refusal> {
        let pooled = self.http.client(endpoint.base())?;
        let codec = codec::of(endpoint.dialect().protocol);
        let mut headers = self.headers(endpoint, key.as_ref(), "text/event-stream, application/json");
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(via) = self.via(endpoint, &call.lineage) {
            headers.insert(VIA, via);
        }
        self.traces.add(endpoint, &call, &mut headers);
        // Shared with the request, so that a refusal can be compared to what was sent.
        let body = Bytes::from(codec.body(&call, endpoint.dialect()));
        let (guarded, refused) = GuardedBody::new(body.clone(), guard);
        let request = pooled
            .client
            .post(endpoint.url(&codec.address(&call.model.model)))
            .headers(headers)
            .body(reqwest::Body::wrap(guarded));
        let sent = request.send().await;
        let response =
            sent.map_err(|error| refused.take().unwrap_or_else(|| self.transport_failure(endpoint, &error)))?;
        if !response.status().is_success() {
            let optional_fields = codec::sent_fields(codec, &body);
            return Err(refusal(Origin { optional_fields, ..self.origin(endpoint) }, response).await);
        }
        drop(body);
        let kind = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        let reply = Reply::new(self.origin(endpoint), codec, kind.starts_with("text/event-stream"));
        Ok((response, reply, pooled))
    }

    /// Removes keys from everything a provider said. Every part passes through here.
    fn cleaned(&self, part: Result<ReplyPart, Failure>) -> Result<ReplyPart, Failure> {
        let clean = |text: &mut Option<String>| *text = text.take().map(|text| self.scrubber.scrub(&text));
        match part {
            Err(failure) => Err(self.scrubber.clean(failure)),
            Ok(ReplyPart::Accepted { generation_id }) => {
                Ok(ReplyPart::Accepted { generation_id: self.scrubber.scrub(&generation_id) })
            }
            Ok(ReplyPart::End(mut end)) => {
                clean(&mut end.served_model);
                clean(&mut end.refusal);
                if let Some(Finish::Other(word)) = &mut end.finish {
                    *word = self.scrubber.scrub(word);
                }
                Ok(ReplyPart::End(end))
            }
            Ok(part) => Ok(part),
        }
    }

    /// Reads the rest of a body whose reply has ended for a moment, so that its connection can be reused.
    async fn linger(&self, mut response: Response) {
        // The end of the body usually comes with the end of the reply. Yielding lets the connection's task see it and
        // return the connection to the pool; otherwise a call that follows at once would open another connection.
        tokio::task::yield_now().await;
        if let Some(Ok(None) | Err(_)) = response.chunk().now_or_never() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.lingering).try_acquire_owned() else { return };
        self.tasks.spawn(async move {
            let mut rest = Vec::new();
            let read = pooled::read(&mut response, LINGER_BYTES_MAX, &mut rest);
            // In any case the connection is dropped then: into the pool if its body has ended.
            let _ = tokio::time::timeout(LINGER, read).await;
            drop(permit);
        });
    }
}

/// The provider's id of a call, if its headers have it.
fn call_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(CALL_ID_HEADER)?.to_str().ok()
}

/// Reads an answer with an error status.
pub(super) async fn refusal(origin: Origin, mut response: Response) -> Refusal {
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    // The status is enough, even if the body is missing or incomplete.
    let _ = tokio::time::timeout(ERROR_WAIT, pooled::read(&mut response, ERROR_BYTES_MAX, &mut body)).await;
    let failure = classify::error_response(&origin, status, &headers, &body);
    Refusal { failure, scope: classify::scope(&body) }
}
