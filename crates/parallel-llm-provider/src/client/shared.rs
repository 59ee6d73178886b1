//! What the requests to all providers share: keys, headers, limits, and the scrubber.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use http::{HeaderMap, HeaderValue, header};
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, Lineage, ProviderId};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::codec;
use crate::connection::endpoint::Endpoint;
use crate::connection::http::Http;
use crate::connection::traces::Traces;
use crate::connection::transport;
use crate::pace::admission::Admission;
use crate::providers::api_key::ApiKey;
use crate::providers::scrubber::Scrubber;
use crate::wire::classify::Origin;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) endpoints: BTreeMap<ProviderId, Arc<Endpoint>>,
    pub(super) unusable: BTreeMap<ProviderId, Failure>,
    pub(super) app_headers: HeaderMap,
    pub(super) traces: Traces,
    pub(super) http: Http,
    pub(super) admission: Admission,
    pub(super) scrubber: Scrubber,
    pub(super) process_id: String,
    pub(super) lingering: Arc<Semaphore>,
    pub(super) tasks: TaskTracker,
}

impl Shared {
    pub(super) fn endpoint(&self, id: &ProviderId) -> Result<&Arc<Endpoint>, Failure> {
        self.endpoints.get(id).ok_or_else(|| {
            if let Some(failure) = self.unusable.get(id) {
                return failure.clone();
            }
            let failure = Failure::new(Code::SettingsInvalid, format!("no provider `{id}` is configured"));
            failure.with_next(Next::choose_one(self.endpoints.keys().map(|id| &id.0)))
        })
    }

    pub(super) fn transport_failure(&self, endpoint: &Endpoint, error: &reqwest::Error) -> Failure {
        transport::failure(endpoint, self.http.connect_timeout_ms(), error)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one look at the wall clock: a `Retry-After` may be a date"
    )]
    pub(super) fn origin(&self, endpoint: &Endpoint) -> Origin {
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
    pub(super) async fn key(&self, endpoint: &Endpoint) -> Result<Option<ApiKey>, Failure> {
        let key = endpoint.key().await.map_err(|failure| self.scrubber.clean(failure))?;
        if let Some(key) = &key {
            self.scrubber.learn(key.secret());
        }
        Ok(key)
    }

    /// The headers of a request: the user's, the app's, the protocol's, and the key. A later one replaces an earlier
    /// one.
    pub(super) fn headers(
        &self,
        endpoint: &Endpoint,
        key: Option<&ApiKey>,
        accept: &'static str,
    ) -> HeaderMap {
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

    /// The header with the servers that a question passed through, this process last; `None` for a provider that cannot
    /// be a server of this program, and so learns nothing of others.
    pub(super) fn via(&self, endpoint: &Endpoint, lineage: &Lineage) -> Option<HeaderValue> {
        if self.process_id.is_empty() || !endpoint.is_users_own() {
            return None;
        }
        let passed = lineage.via.iter().map(String::as_str).chain([self.process_id.as_str()]);
        HeaderValue::from_str(&passed.collect::<Vec<_>>().join(", ")).ok()
    }
}
