//! The configured providers, as the engine calls them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use parallel_llm_engine::port::{Call, Caller, Charge, Permit};
use parallel_llm_engine::request::panel::DEFAULT_PROVIDER;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, ModelRef, ProviderId};
use secrecy::SecretString;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::connection::endpoint::Endpoint;
use crate::connection::http::Http;
use crate::connection::traces::Traces;
use crate::pace::admission::Admission;
use crate::pace::breaker::Circuit;
use crate::pace::concurrency::{ConcurrencyLimits, Share, SlotRequest};
use crate::providers::api_key::ApiKey;
use crate::providers::scrubber::Scrubber;

use super::exchange::Exchange;
use super::shared::Shared;

/// The most connections that may end their bodies at once after their replies have ended; further ones are closed.
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
    /// The id of this process for other servers of this program, which refuse a question that comes back to them. Empty
    /// if it is not passed on.
    pub process_id: String,
    /// How calls pass on their trace.
    pub traces: Traces,
    /// Whether other machines are reached through the proxy that the environment names, if it names one.
    pub system_proxy: bool,
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
            process_id: String::new(),
            traces: Traces::default(),
            system_proxy: true,
        }
    }
}

/// All configured providers. Cheap to clone; clones share connections and limits.
#[derive(Clone, Debug)]
pub struct Provider {
    pub(super) shared: Arc<Shared>,
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
            traces: config.traces,
            http: Http::new(config.connect_timeout_ms, config.certificates, config.system_proxy),
            admission: Admission::new(limits),
            scrubber,
            process_id: config.process_id,
            lingering: Arc::new(Semaphore::new(LINGERING_MAX)),
            tasks: TaskTracker::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Whether there is a key for calls to this provider, if it needs one. Fetches the key if necessary.
    pub async fn check_key(&self, provider: &ProviderId) -> Result<(), Failure> {
        self.shared.key(self.shared.endpoint(provider)?).await.map(|_| ())
    }

    /// The models whose circuit is open or half open.
    pub fn circuits(&self) -> Vec<Circuit> {
        let Shared { admission, scrubber, .. } = &*self.shared;
        let clean = |circuit: Circuit| Circuit { last: scrubber.scrub(&circuit.last), ..circuit };
        admission.circuits().into_iter().map(clean).collect()
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
            let share = Share { is_batch: call.lineage.batch.is_some(), asked_by: call.asked_by.clone() };
            let request = SlotRequest { run_id: call.run_id, share };
            let admitted = shared.admission.admit(&request, &call.model).await;
            // The failure may contain an earlier provider message.
            let admitted = admitted.map_err(|failure| shared.scrubber.clean(failure))?;
            let too_slow = admitted.too_slow();
            let stops_billing = endpoint.dialect().billing.stops(&call.model.model, endpoint.is_loopback());
            let exchange = Exchange::new(shared, endpoint, admitted, call, key);
            Ok(Permit::guarded(move |guard| exchange.stream(guard).with_on_timeout(too_slow))
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
