//! The caller of one request: who it is, and what its headers say.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use parallel_llm_engine::plan::IDEMPOTENCY_KEY_BYTES_MAX;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::value::trace::TraceContext;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{trace_of, via};
use parallel_llm_service::{Principal, Services, Shutdown, Waiting};

use crate::refusal::Refusal;
use crate::{CLIENT_READ_TIMEOUT, CLIENT_TIMEOUT, Endpoint, IDEMPOTENCY_KEY};

/// The longest timeout of a client that counts, in seconds: a longer one ends no run early.
const CLIENT_TIMEOUT_S_MAX: f64 = 86_400.0;
/// How the keys begin that clients of OpenAI make for their own repetitions.
const AUTOMATIC_KEY: &str = "stainless-";

/// A caller.
pub(crate) struct Caller {
    /// The use cases on the caller's behalf.
    pub(crate) services: Services,
    pub(crate) shutdown: Shutdown,
    /// When the server began, in seconds since 1970.
    pub(crate) since: u64,
    /// The servers of this program that the request passed through.
    pub(crate) via: Vec<String>,
    /// Its place in the trace of the caller.
    pub(crate) trace: Option<TraceContext>,
    /// The key of the header under which a repeated request is the same run.
    pub(crate) idempotency_key: Option<String>,
    /// When the client gives up, if it says so.
    pub(crate) client_timeout: Option<Duration>,
}

impl FromRequestParts<Arc<Endpoint>> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, endpoint: &Arc<Endpoint>) -> Result<Self, Response> {
        let Some(principal) = parts.extensions.get::<Principal>().cloned() else {
            // Only a request that bypassed the listener has none.
            let failure = Failure::new(Code::TokenRefused, "nobody is signed in");
            return Err(Refusal::from(failure).shown(&Principal::default()).response());
        };
        let services = endpoint.services.acting_for(principal);
        let refuse = |refusal: Refusal| refusal.shown(&services.principal).response();
        let via = via::of(&parts.headers).map_err(|failure| refuse(failure.into()))?;
        let idempotency_key = idempotency_key(&parts.headers).map_err(refuse)?;
        let client_timeout = client_timeout(&parts.headers);
        Ok(Self {
            services,
            shutdown: endpoint.shutdown.clone(),
            since: endpoint.since,
            via,
            trace: trace_of(&parts.headers),
            idempotency_key,
            client_timeout,
        })
    }
}

impl Caller {
    /// The answer to a request that is refused.
    pub(crate) fn refuse(&self, refusal: Refusal) -> Response {
        refusal.shown(&self.services.principal).response()
    }

    /// The waiting of this call, which ends before the client gives up.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting::new(self.client_timeout, self.shutdown.clone())
    }

    /// Whether a key was made by the client itself for its own repetitions.
    pub(crate) fn is_automatic(key: &str) -> bool {
        key.starts_with(AUTOMATIC_KEY)
    }
}

/// The key of the header, which may be there once: visible characters without spaces, as the document of the endpoint says.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let name = IDEMPOTENCY_KEY;
    let mut values = headers.get_all(&name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let is_key = |text: &&str| {
        (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if let (Some(key), None) = (value.to_str().ok().filter(is_key), values.next()) {
        return Ok(Some(key.to_owned()));
    }
    let message = format!(
        "the header `{name}` is not one text of 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible characters without spaces"
    );
    let failure = Failure::new(Code::Usage, message).with_next(Advice::GiveOwnIdempotencyKey);
    Err(Refusal::field(name.as_str(), "invalid_value", failure))
}

/// When a client of OpenAI gives up if nothing comes, as far as its headers can be read; they are a hint and no part of the
/// question.
fn client_timeout(headers: &HeaderMap) -> Option<Duration> {
    let seconds = |name| -> Option<f64> { headers.get(name)?.to_str().ok()?.trim().parse().ok() };
    let seconds = seconds(CLIENT_TIMEOUT).or_else(|| seconds(CLIENT_READ_TIMEOUT))?;
    (1.0..=CLIENT_TIMEOUT_S_MAX).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}
