//! The client: admits calls, sends them, and reads their replies. All IO of this crate is here.
//!
//! A [codec](crate::codec) writes the request, [`crate::reply`] reads the answer, [`crate::classify`] and
//! [`crate::transport`] classify errors, and every failure and every name that leaves passes the
//! [scrubber](crate::scrubber) once, in [`Shared::cleaned`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use parallel_llm_engine::port::{Call, Caller, Charge, Permit, ReplyPart, ReplyStream};
use parallel_llm_engine::request::panel::DEFAULT_PROVIDER;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Catalogue, Code, Failure, Finish, ModelRef, ProviderId};
use reqwest::{Client, Response};
use secrecy::SecretString;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::admission::{Admission, Admitted};
use crate::api_key::ApiKey;
use crate::breaker::Circuit;
use crate::classify::{self, Origin, Scope};
use crate::codec::Address;
use crate::concurrency::ConcurrencyLimits;
use crate::credit::Credit;
use crate::endpoint::Endpoint;
use crate::http::Http;
use crate::reply::{Parts, Reply};
use crate::scrubber::Scrubber;
use crate::{charge, codec, date, http as pooled, models, transport};

/// The most bytes read of an error's body. Real ones are under 4 kB; HTML pages are not worth more.
const ERROR_BYTES_MAX: usize = 64 * 1024;
/// How long to wait for the body of an error once its status has come. The status alone gives a code.
const ERROR_WAIT: Duration = Duration::from_secs(5);
/// The longest list of models. Four hundred models take one and a half megabytes.
const MODELS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The longest document about a key. Real ones are under 1 kB.
const CREDIT_BYTES_MAX: usize = 64 * 1024;
/// The longest document about a call. Real ones are under 2 kB.
const CHARGE_BYTES_MAX: usize = 64 * 1024;
/// How long to wait for the document about a call once connected. It is requested in the background and may be
/// requested again.
const CHARGE_WAIT: Duration = Duration::from_secs(10);
/// The longest wait for the time of a provider. A slower answer would be too inaccurate.
const TIME_WAIT: Duration = Duration::from_secs(5);
/// The content type of such a document.
const JSON: &str = "application/json";
/// How long to wait for such a document.
const GET_WAIT: Duration = Duration::from_secs(30);
/// How long a connection whose reply has ended may take to end its body, so that it can be reused.
const LINGER: Duration = Duration::from_secs(2);
/// The most bytes read after the end of a reply for that purpose.
const LINGER_BYTES_MAX: usize = 64 * 1024;
/// The header in which OpenRouter gives the id of a call before its reply begins. The cost can be requested later by
/// this id.
const CALL_ID_HEADER: &str = "x-generation-id";
/// The most connections that are given that time at once; further ones are closed.
const LINGERING_MAX: usize = 64;

/// The configuration of all providers.
#[derive(Debug)]
pub struct ProviderConfig {
    /// The providers, each with its key.
    pub endpoints: Vec<Endpoint>,
    /// The providers whose configuration cannot be used, and why.
    pub unusable: BTreeMap<ProviderId, Failure>,
    /// Concurrent calls with one provider's key, unless the endpoint has a limit of its own.
    pub calls_per_key_max: usize,
    /// Concurrent calls in the whole process.
    pub calls_max: usize,
    /// The timeout for making a connection, including name resolution and TLS.
    pub connect_timeout_ms: u64,
    /// The name of the app that is sent to OpenRouter.
    pub app_title: Option<String>,
    /// The address of the app that is sent to OpenRouter. Nothing is sent if it is not set.
    pub app_url: Option<String>,
    /// Certificates to trust besides the system's, in DER.
    pub certificates: Vec<Vec<u8>>,
}

impl Default for ProviderConfig {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            unusable: BTreeMap::new(),
            calls_per_key_max: 64,
            calls_max: 4096,
            connect_timeout_ms: 10_000,
            app_title: Some("parallel-llm-mcp".to_owned()),
            app_url: None,
            certificates: Vec::new(),
        }
    }
}

/// All configured providers. Cheap to clone; clones share connections and limits.
#[derive(Clone, Debug)]
pub struct Provider {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    endpoints: BTreeMap<ProviderId, Arc<Endpoint>>,
    unusable: BTreeMap<ProviderId, Failure>,
    app_headers: HeaderMap,
    http: Http,
    admission: Admission,
    scrubber: Scrubber,
    lingering: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Provider {
    /// Takes the configuration. Opens no connection and reads no certificate.
    pub fn new(config: ProviderConfig) -> Result<Self, Failure> {
        let app_headers = app_headers(&config)?;
        let bounds = config.endpoints.iter().map(|endpoint| {
            let calls_max = endpoint.calls_max().unwrap_or(config.calls_per_key_max);
            (endpoint.id().clone(), calls_max)
        });
        let limits = ConcurrencyLimits::new(bounds, config.calls_max);
        let scrubber = Scrubber::new(config.endpoints.iter().flat_map(secrets));
        let endpoints =
            config.endpoints.into_iter().map(|endpoint| (endpoint.id().clone(), Arc::new(endpoint)));
        let shared = Shared {
            endpoints: endpoints.collect(),
            unusable: config.unusable,
            app_headers,
            http: Http::new(config.connect_timeout_ms, config.certificates),
            admission: Admission::new(limits),
            scrubber,
            lingering: Arc::new(Semaphore::new(LINGERING_MAX)),
            tasks: TaskTracker::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Whether there is a key for calls to this provider, if it needs one. Fetches the key if necessary.
    pub async fn check_key(&self, provider: &ProviderId) -> Result<(), Failure> {
        self.shared.key(self.shared.endpoint(provider)?).await.map(|_| ())
    }

    /// Asks a router what may still be spent with its key; `None` if the provider cannot say.
    pub async fn fetch_credit(&self, provider: &ProviderId) -> Result<Option<Credit>, Failure> {
        let shared = &self.shared;
        let endpoint = shared.endpoint(provider)?;
        if !endpoint.dialect().routes {
            return Ok(None);
        }
        let key = shared.key(endpoint).await?;
        let headers = shared.headers(endpoint, key.as_ref(), JSON);
        let key = Document::new(Address::path("key"), CREDIT_BYTES_MAX);
        Credit::read(&shared.get(endpoint, &key, headers).await?).map(Some)
    }

    /// The time at a provider in milliseconds since 1970; `None` if it does not say. Sends a HEAD request without a
    /// key, so it does not matter whether the provider refuses it.
    pub async fn fetch_time(&self, provider: &ProviderId) -> Result<Option<u64>, Failure> {
        let shared = &self.shared;
        let endpoint = shared.endpoint(provider)?;
        let url = endpoint.url(&models::address(endpoint.dialect()));
        let asked =
            shared.http.client(endpoint.base())?.head(url).header(header::CACHE_CONTROL, "no-cache").send();
        let answered = tokio::time::timeout(TIME_WAIT, asked).await.map_err(|_| {
            let message = format!("{provider} gave no answer within {} s", TIME_WAIT.as_secs());
            Failure::new(Code::Timeout, message).with_next(Advice::CheckNetwork)
        })?;
        let response =
            answered.map_err(|error| shared.scrubber.clean(shared.transport_failure(endpoint, &error)))?;
        Ok(date::read(response.headers()))
    }

    /// The models whose circuit is open or half open.
    pub fn circuits(&self) -> Vec<Circuit> {
        let Shared { admission, scrubber, .. } = &*self.shared;
        let clean = |circuit: Circuit| Circuit { last: scrubber.scrub(&circuit.last), ..circuit };
        admission.circuits().into_iter().map(clean).collect()
    }

    /// Asks a provider for its models. Also opens the connection that the first calls will use.
    pub async fn fetch_catalogue(&self, provider: &ProviderId) -> Result<Catalogue, Failure> {
        let endpoint = self.shared.endpoint(provider)?;
        // Some lists can be read without a key; a provider that requires one answers so.
        let key = self.shared.key(endpoint).await.unwrap_or_default();
        self.shared.catalogue(endpoint, self.shared.headers(endpoint, key.as_ref(), JSON)).await
    }

    /// Asks for the models anonymously: no key and no configured header is sent, and no key is fetched.
    pub async fn fetch_catalogue_keyless(&self, provider: &ProviderId) -> Result<Catalogue, Failure> {
        let accept = (header::ACCEPT, HeaderValue::from_static(JSON));
        self.shared.catalogue(self.shared.endpoint(provider)?, HeaderMap::from_iter([accept])).await
    }

    /// Closes idle connections. Calls in flight continue; a later call opens a new connection.
    pub fn close(&self) {
        self.shared.http.close();
    }
}

impl Caller for Provider {
    fn admit(&self, call: Call) -> BoxFuture<'static, Result<Permit, Failure>> {
        let shared = Arc::clone(&self.shared);
        async move {
            let endpoint = Arc::clone(shared.endpoint(&call.model.provider)?);
            endpoint.dialect().check_inputs(endpoint.id(), &call.messages)?;
            check_privacy(&endpoint, &call)?;
            let key = shared.key(&endpoint).await?;
            let admitted = shared.admission.admit(call.run_id, &call.model).await;
            // The failure may contain an earlier provider message.
            let admitted = admitted.map_err(|failure| shared.scrubber.clean(failure))?;
            let too_slow = admitted.too_slow();
            let stops_billing = endpoint.dialect().billing.stops(&call.model.model, endpoint.is_loopback());
            let state = ExchangeState::Unsent(call, key);
            let exchange =
                Exchange { shared, endpoint, admitted: Some(admitted), state, parts: Parts::new() };
            Ok(Permit::new(move || exchange.stream().with_on_timeout(too_slow))
                .with_stops_billing(stops_billing))
        }
        .boxed()
    }

    fn look_up(
        &self,
        model: &ModelRef,
        generation_id: &str,
    ) -> BoxFuture<'static, Result<Option<Charge>, Failure>> {
        let (shared, provider) = (Arc::clone(&self.shared), model.provider.clone());
        let generation_id = generation_id.to_owned();
        async move { shared.fetch_charge(&provider, &generation_id).await }.boxed()
    }
}

impl Shared {
    fn endpoint(&self, id: &ProviderId) -> Result<&Arc<Endpoint>, Failure> {
        self.endpoints.get(id).ok_or_else(|| {
            if let Some(failure) = self.unusable.get(id) {
                return failure.clone();
            }
            let failure = Failure::new(Code::SettingsInvalid, format!("no provider `{id}` is configured"));
            failure.with_next(Next::choose_one(self.endpoints.keys().map(|id| &id.0)))
        })
    }

    fn transport_failure(&self, endpoint: &Endpoint, error: &reqwest::Error) -> Failure {
        transport::failure(endpoint, self.http.connect_timeout_ms(), error)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one look at the wall clock: a `Retry-After` may be a date"
    )]
    fn origin(&self, endpoint: &Endpoint) -> Origin {
        Origin {
            provider: endpoint.id().0.clone(),
            now: SystemTime::now(),
            scrubber: self.scrubber.clone(),
            optional_fields: Vec::new(),
            refused_key_advice: endpoint.refused_key_advice().to_vec(),
        }
    }

    /// The key of an endpoint, which the scrubber removes from text from now on. A failure may quote the program that
    /// stores the key.
    async fn key(&self, endpoint: &Endpoint) -> Result<Option<ApiKey>, Failure> {
        let key = endpoint.key().await.map_err(|failure| self.scrubber.clean(failure))?;
        if let Some(key) = &key {
            self.scrubber.learn(key.secret());
        }
        Ok(key)
    }

    /// The headers of a request: the user's, the app's, the protocol's, and the key. A later one replaces an earlier
    /// one.
    fn headers(&self, endpoint: &Endpoint, key: Option<&ApiKey>, accept: &'static str) -> HeaderMap {
        let mut headers = endpoint.headers().clone();
        if endpoint.dialect().routes {
            headers.extend(self.app_headers.clone());
        }
        for (name, value) in codec::of(endpoint.dialect().protocol).headers() {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if let Some(key) = key {
            let (name, value) = key.header(endpoint.dialect().key_header);
            headers.insert(name, value);
        }
        headers
    }

    /// Sends the request of a call and waits for the headers of its reply.
    async fn send_request(
        &self,
        endpoint: &Endpoint,
        call: &Call,
        key: Option<ApiKey>,
    ) -> Result<(Response, Reply), Refusal> {
        let client: Client = self.http.client(endpoint.base())?;
        let codec = codec::of(endpoint.dialect().protocol);
        let mut headers = self.headers(endpoint, key.as_ref(), "text/event-stream, application/json");
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Shared with the request, so that a refusal can be compared to what was sent.
        let body = Bytes::from(codec.body(call, endpoint.dialect()));
        let request =
            client.post(endpoint.url(&codec.address(&call.model.model))).headers(headers).body(body.clone());
        let response = request.send().await.map_err(|error| self.transport_failure(endpoint, &error))?;
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
        Ok((response, reply))
    }

    async fn catalogue(&self, endpoint: &Endpoint, headers: HeaderMap) -> Result<Catalogue, Failure> {
        let dialect = endpoint.dialect();
        let list = Document::new(models::address(dialect), MODELS_BYTES_MAX);
        models::read(&self.get(endpoint, &list, headers).await?, dialect)
    }

    /// What a call cost, if its provider keeps a record that can be requested.
    async fn fetch_charge(
        &self,
        provider: &ProviderId,
        generation_id: &str,
    ) -> Result<Option<Charge>, Failure> {
        let endpoint = self.endpoint(provider)?;
        if !endpoint.dialect().routes || generation_id.is_empty() {
            return Ok(None);
        }
        let key = self.key(endpoint).await?;
        let id: String = url::form_urlencoded::byte_serialize(generation_id.as_bytes()).collect();
        let address = Address { query: Some(format!("id={id}").into()), ..Address::path("generation") };
        let wait = Duration::from_millis(self.http.connect_timeout_ms()) + CHARGE_WAIT;
        let account = Document { address, bytes_max: CHARGE_BYTES_MAX, wait };
        match self.get(endpoint, &account, self.headers(endpoint, key.as_ref(), JSON)).await {
            // The record is written some time after the call, and for some calls never.
            Err(failure) if failure.status == Some(StatusCode::NOT_FOUND.as_u16()) => {
                let message = format!("{provider} has no account of the call yet");
                Err(Failure::new(Code::Upstream, message).with_retryable(true))
            }
            body => charge::read(&body?, generation_id),
        }
    }

    /// The body of a document, within its limits of time and size.
    async fn get(
        &self,
        endpoint: &Endpoint,
        document: &Document,
        headers: HeaderMap,
    ) -> Result<Vec<u8>, Failure> {
        let Document { address, wait, .. } = document;
        let result = tokio::time::timeout(*wait, self.get_untimed(endpoint, document, headers)).await;
        let result = result.unwrap_or_else(|_| {
            let (provider, limit) = (endpoint.id(), wait.as_millis());
            let message = format!("{provider} gave no `{address}` within {limit} ms");
            Err(Failure::new(Code::Timeout, message).with_next(Advice::CheckNetwork))
        });
        result.map_err(|failure| self.scrubber.clean(failure))
    }

    async fn get_untimed(
        &self,
        endpoint: &Endpoint,
        document: &Document,
        headers: HeaderMap,
    ) -> Result<Vec<u8>, Failure> {
        let Document { address, bytes_max, .. } = document;
        let request = self.http.client(endpoint.base())?.get(endpoint.url(address)).headers(headers);
        let mut response = request.send().await.map_err(|error| self.transport_failure(endpoint, &error))?;
        if !response.status().is_success() {
            return Err(refusal(self.origin(endpoint), response).await.failure);
        }
        let mut body = Vec::new();
        let whole = pooled::read(&mut response, *bytes_max, &mut body).await;
        if !whole.map_err(|error| self.transport_failure(endpoint, &error))? {
            let message = format!("the `{address}` of {} is longer than {bytes_max} bytes", endpoint.id());
            return Err(Failure::new(Code::Protocol, message));
        }
        Ok(body)
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

/// A small document of a provider, with its size limit and timeout.
struct Document {
    address: Address,
    bytes_max: usize,
    wait: Duration,
}

impl Document {
    const fn new(address: Address, bytes_max: usize) -> Self {
        Self { address, bytes_max, wait: GET_WAIT }
    }
}

/// Why a request got no reply.
struct Refusal {
    failure: Failure,
    /// Which calls the limit applies to, if the reason is a limit.
    scope: Scope,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { failure, scope: Scope::default() }
    }
}

/// One request and its reply.
struct Exchange {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    /// Held until the exchange is over.
    admitted: Option<Admitted>,
    state: ExchangeState,
    parts: Parts,
}

enum ExchangeState {
    Unsent(Call, Option<ApiKey>),
    Reading(Box<Reading>),
    Over,
}

/// A reply that is being read.
struct Reading {
    response: Response,
    reply: Reply,
}

impl Exchange {
    fn stream(self) -> ReplyStream {
        ReplyStream::new(stream::unfold(Box::new(self), Self::next))
    }

    /// The next part. Parts from one read are returned without waiting.
    async fn next(mut self: Box<Self>) -> Option<(Result<ReplyPart, Failure>, Box<Self>)> {
        loop {
            if let Some(part) = self.parts.pop_front() {
                return Some((self.shared.cleaned(part), self));
            }
            match std::mem::replace(&mut self.state, ExchangeState::Over) {
                ExchangeState::Unsent(call, key) => self.send(call, key).await,
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

    async fn send(&mut self, call: Call, key: Option<ApiKey>) {
        match Box::pin(self.shared.send_request(&self.endpoint, &call, key)).await {
            Ok((response, mut reply)) => {
                if let Some(id) = call_id(response.headers()) {
                    reply.accept(id, &mut self.parts);
                }
                if let Some(admitted) = &mut self.admitted {
                    admitted.reply_began();
                }
                self.state = ExchangeState::Reading(Box::new(Reading { response, reply }));
            }
            Err(Refusal { failure, scope }) => {
                if let Some(admitted) = &mut self.admitted {
                    admitted.refused(scope);
                }
                self.parts.push_back(Err(failure));
            }
        }
    }

    async fn read(&mut self, mut reading: Box<Reading>) {
        let Reading { response, reply } = &mut *reading;
        match response.chunk().await {
            Ok(Some(bytes)) => reply.feed(&bytes, &mut self.parts),
            Ok(None) => return reply.finish(&mut self.parts),
            Err(error) => {
                return self.parts.push_back(Err(self.shared.transport_failure(&self.endpoint, &error)));
            }
        }
        if !reply.is_over() {
            self.state = ExchangeState::Reading(reading);
        } else if matches!(self.parts.back(), Some(Ok(ReplyPart::End(_)))) {
            self.shared.linger(reading.response).await;
        }
    }
}

/// Everything in an endpoint that must not appear in text.
fn secrets(endpoint: &Endpoint) -> Vec<SecretString> {
    let headers = endpoint.headers().values().filter_map(|value| value.to_str().ok()).map(SecretString::from);
    endpoint.known_key().map(ApiKey::secret).into_iter().chain(headers).collect()
}

/// Fails if a private question would go to a server that is called OpenRouter but not addressed as such.
fn check_privacy(endpoint: &Endpoint, call: &Call) -> Result<(), Failure> {
    if endpoint.id().0 != DEFAULT_PROVIDER || endpoint.dialect().routes || !call.routing.is_private() {
        return Ok(());
    }
    let host = endpoint.authority();
    let message = format!("the privacy terms cannot be sent to {host}, which is not addressed as OpenRouter");
    Err(Failure::new(Code::Forbidden, message).with_next(Advice::UseOpenRouterPath))
}

/// The provider's id of a call, if its headers have it.
fn call_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(CALL_ID_HEADER)?.to_str().ok()
}

/// Reads an answer with an error status.
async fn refusal(origin: Origin, mut response: Response) -> Refusal {
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    // The status is enough, even if the body is missing or incomplete.
    let _ = tokio::time::timeout(ERROR_WAIT, pooled::read(&mut response, ERROR_BYTES_MAX, &mut body)).await;
    let failure = classify::error_response(&origin, status, &headers, &body);
    Refusal { failure, scope: classify::scope(&body) }
}

fn app_headers(config: &ProviderConfig) -> Result<HeaderMap, Failure> {
    let named = [("x-openrouter-title", &config.app_title), ("http-referer", &config.app_url)];
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        let Some(value) = value else { continue };
        let value = HeaderValue::from_str(value).map_err(|_| {
            Failure::new(
                Code::SettingsInvalid,
                "the app's title or address holds characters that no header may",
            )
        })?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}
