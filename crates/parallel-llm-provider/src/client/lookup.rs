//! Small documents of a provider: its models, the credit of a key, the cost of a call, the time.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use parallel_llm_engine::port::Charge;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Catalogue, Code, Failure, ProviderId};

use super::date;
use crate::codec::protocol::Address;
use crate::connection::endpoint::Endpoint;
use crate::connection::http as pooled;
use crate::money::credit::Credit;
use crate::money::{charge, models};

use super::exchange::refusal;
use super::provider::Provider;
use super::shared::Shared;

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
/// The content type of a document.
const JSON: &str = "application/json";
/// How long to wait for a document.
const GET_WAIT: Duration = Duration::from_secs(30);

impl Provider {
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
        let asked = shared
            .http
            .client(endpoint.base())?
            .client
            .head(url)
            .header(header::CACHE_CONTROL, "no-cache")
            .send();
        let answered = tokio::time::timeout(TIME_WAIT, asked).await.map_err(|_| {
            let message = format!("{provider} gave no answer within {} s", TIME_WAIT.as_secs());
            Failure::new(Code::Timeout, message).with_next(Advice::CheckNetwork)
        })?;
        let response =
            answered.map_err(|error| shared.scrubber.clean(shared.transport_failure(endpoint, &error)))?;
        Ok(date::read(response.headers()))
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
}

impl Shared {
    async fn catalogue(&self, endpoint: &Endpoint, headers: HeaderMap) -> Result<Catalogue, Failure> {
        let dialect = endpoint.dialect();
        let list = Document::new(models::address(dialect), MODELS_BYTES_MAX);
        models::read(&self.get(endpoint, &list, headers).await?, dialect)
    }

    /// What a call cost, if its provider keeps a record that can be requested.
    pub(super) async fn fetch_charge(
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
        let request = self.http.client(endpoint.base())?.client.get(endpoint.url(address)).headers(headers);
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
