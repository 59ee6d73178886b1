//! The composition root: the only place that makes the program's parts.
//!
//! Nothing here takes time: parts that need a disk or a network are lazy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use parallel_llm_engine::port::{Caller, Checker, Journal};
use parallel_llm_engine::value::next::{Advice, MachineStep};
use parallel_llm_engine::{Code, Engine, Failure, ProviderId};
use parallel_llm_provider::{ApiKey, Collector, Documents, Endpoint, Provider, ProviderConfig, Traces};
use parallel_llm_store::{Store, StoreConfig};
use secrecy::{ExposeSecret, SecretString};

use crate::certificates;
use crate::router;
use parallel_llm_service::checker::CheckCommand;
use parallel_llm_service::files::AroundFiles;
use parallel_llm_service::telemetry::{self, Telemetry};
use parallel_llm_service::{
    CalibrationFile, Catalogues, CheckKey, Disconnect, Fetch, FetchCredit, FetchTime, Issuer, Journals,
    KeyUse, Lazy, OpenCircuits, Parts, PostTelemetry, ReadDocument, Runs, Services,
};
use parallel_llm_settings::keys;
use parallel_llm_settings::process;
use parallel_llm_settings::settings::{ProviderKey, ProviderSettings, Settings};

/// The program over these settings.
pub fn wire(settings: &Settings) -> Services {
    wire_with(settings, |journal| journal)
}

/// The program over these settings, with a wrapper around the journal.
pub fn wire_with(
    settings: &Settings,
    wrap: impl Fn(Arc<dyn Journal>) -> Arc<dyn Journal> + Send + Sync + 'static,
) -> Services {
    wire_around(settings, wrap, Own::default())
}

/// What a user of the library or a test brings along.
#[derive(Clone, Default)]
pub struct Own {
    /// A wrapper around the writing of each file.
    pub around_files: Option<AroundFiles>,
    /// Callers of their own, each for the provider of this id.
    pub callers: BTreeMap<ProviderId, Arc<dyn Caller>>,
}

/// The same with more that is not ours.
pub fn wire_around(
    settings: &Settings,
    wrap: impl Fn(Arc<dyn Journal>) -> Arc<dyn Journal> + Send + Sync + 'static,
    own: Own,
) -> Services {
    let store = lazy_store(settings);
    let upstream = lazy_upstream(settings);
    let catalogues = catalogues(settings, &upstream);
    let callers = Arc::new(own.callers);
    let check_key = check_key(&upstream, &callers);
    let fetch_credit: FetchCredit =
        asking(&upstream, |provider, id| Box::pin(async move { provider.fetch_credit(&id).await }));
    let fetch_time: FetchTime =
        asking(&upstream, |provider, id| Box::pin(async move { provider.fetch_time(&id).await }));
    let circuits: OpenCircuits = {
        let upstream = Arc::clone(&upstream);
        Box::new(move || upstream.made().map(Provider::circuits).unwrap_or_default())
    };
    let calibration = Arc::new(calibration(settings));
    let disconnect = disconnect(&upstream);
    let post_telemetry = telemetry_poster(settings);
    let telemetry = Arc::new(Telemetry::new(settings, post_telemetry.clone()));
    let runs = {
        let (store, calibration) = (Arc::clone(&store), Arc::clone(&calibration));
        let telemetry = Arc::clone(&telemetry);
        let (drain, around_files) = (Duration::from_millis(settings.drain_ms), own.around_files);
        let check = settings.check.clone();
        Lazy::new(move || {
            let (upstream, calibration) = (Arc::clone(&upstream), Arc::clone(&calibration));
            let (callers, store) = (Arc::clone(&callers), Arc::clone(&store));
            let journal = wrap(Arc::new(Journals::new(Arc::clone(&store))));
            let (around_files, telemetry) = (around_files.clone(), Arc::clone(&telemetry));
            let check = check.clone().map(|check| Arc::new(CheckCommand::new(check)) as Arc<dyn Checker>);
            Box::pin(async move {
                let caller = router::caller(upstream.get().await?.clone(), &callers);
                let calibration = calibration.get().await;
                let engine = Engine::new(caller, journal).with_checker(check);
                Ok(Runs::new(engine, drain, telemetry)
                    .with_store(store)
                    .calibrated(calibration)
                    .with_around_files(around_files))
            })
        })
    };
    let issuer = settings.issuer.clone().map(|terms| Issuer::new(terms, document_reader(settings)));
    let settings = settings.clone();
    Services::new(Parts {
        settings,
        catalogues,
        check_key,
        fetch_credit,
        circuits,
        issuer,
        fetch_time,
        calibration,
        runs,
        store,
        telemetry,
        post_telemetry,
        disconnect,
    })
}

/// The lists of models, each fetched from its provider.
fn catalogues(settings: &Settings, upstream: &Arc<Lazy<Provider>>) -> Catalogues {
    let upstream = Arc::clone(upstream);
    let fetch: Fetch = Box::new(move |id, key| {
        let upstream = Arc::clone(&upstream);
        Box::pin(async move {
            let provider = upstream.get().await?;
            match key {
                KeyUse::Sent => provider.fetch_catalogue(&id).await,
                KeyUse::Withheld => provider.fetch_catalogue_keyless(&id).await,
            }
        })
    });
    Catalogues::new(settings, fetch)
}

fn calibration(settings: &Settings) -> CalibrationFile {
    if settings.in_memory { CalibrationFile::absent() } else { CalibrationFile::of(&settings.data_dir) }
}

fn disconnect(upstream: &Arc<Lazy<Provider>>) -> Disconnect {
    let upstream = Arc::clone(upstream);
    Box::new(move || {
        if let Some(provider) = upstream.made() {
            provider.close();
        }
    })
}

/// Fails for a provider that needs a key and has none. One that code calls needs none.
fn check_key(
    upstream: &Arc<Lazy<Provider>>,
    callers: &Arc<BTreeMap<ProviderId, Arc<dyn Caller>>>,
) -> CheckKey {
    let callers = Arc::clone(callers);
    let of_ours = asking(upstream, |provider, id| Box::pin(async move { provider.check_key(&id).await }));
    Box::new(move |id| if callers.contains_key(&id) { Box::pin(async { Ok(()) }) } else { of_ours(id) })
}

/// A request to one provider and its future answer.
type Asking<T> = fn(Provider, ProviderId) -> BoxFuture<'static, Result<T, Failure>>;

/// Such a request as a port of the service. The client is made when it is first needed.
fn asking<T: 'static>(
    upstream: &Arc<Lazy<Provider>>,
    ask: Asking<T>,
) -> Box<dyn Fn(ProviderId) -> BoxFuture<'static, Result<T, Failure>> + Send + Sync> {
    let upstream = Arc::clone(upstream);
    Box::new(move |id| {
        let upstream = Arc::clone(&upstream);
        Box::pin(async move { ask(upstream.get().await?.clone(), id).await })
    })
}

/// Fetches public documents.
fn document_reader(settings: &Settings) -> ReadDocument {
    let settings = settings.clone();
    let documents: Arc<Lazy<Documents>> = Arc::new(Lazy::new(move || {
        let certificates = settings.ca_file.as_deref().map(certificates::read).transpose();
        let connect_timeout_ms = settings.connect_timeout_ms;
        Box::pin(async move { Ok(Documents::new(connect_timeout_ms, certificates?.unwrap_or_default())) })
    }));
    Box::new(move |address| {
        let documents = Arc::clone(&documents);
        Box::pin(async move { documents.get().await?.read(&address).await })
    })
}

/// Reaches the collector of telemetry, if one is named. One that cannot be reached fails nothing but the export.
fn telemetry_poster(settings: &Settings) -> Option<PostTelemetry> {
    let address = settings.telemetry.endpoint.clone()?;
    let made = make_collector(settings, &address);
    let collector = made.map(Arc::new).inspect_err(|failure| {
        tracing::warn!("nothing is exported: {failure}");
    });
    let collector = collector.ok()?;
    Some(Arc::new(move |path, body| {
        let collector = Arc::clone(&collector);
        Box::pin(async move { collector.post(path, body).await })
    }))
}

fn make_collector(settings: &Settings, address: &str) -> Result<Collector, Failure> {
    let read = |(name, value): &(String, SecretString)| {
        let header = HeaderName::from_bytes(name.as_bytes()).ok();
        header.zip(HeaderValue::from_str(value.expose_secret()).ok())
    };
    let headers: Option<HeaderMap> = settings.telemetry.headers.iter().map(read).collect();
    let unsendable = || {
        let message = "a header in `OTEL_EXPORTER_OTLP_HEADERS` cannot be sent";
        Failure::new(Code::SettingsInvalid, message)
    };
    let certificates = settings.ca_file.as_deref().map(certificates::read).transpose()?;
    let (headers, certificates) = (headers.ok_or_else(unsendable)?, certificates.unwrap_or_default());
    let connect_timeout_ms = settings.connect_timeout_ms;
    Collector::new(address, headers, connect_timeout_ms, certificates, settings.system_proxy)
}

fn lazy_store(settings: &Settings) -> Arc<Lazy<Store>> {
    let config = store_config(settings);
    let in_memory = settings.in_memory;
    Arc::new(Lazy::new(move || {
        let config = config.clone();
        Box::pin(async move {
            if in_memory {
                let failure = Failure::new(Code::Usage, "runs are kept in memory and end with it");
                return Err(failure.with_next(Advice::KeepRunsInFolder));
            }
            let store = Store::open(config?).await?;
            telemetry::log_interrupted(&store).await;
            Ok(store)
        })
    }))
}

/// Where the runs are kept. Fails for an address of a server that its driver cannot read.
fn store_config(settings: &Settings) -> Result<StoreConfig, Failure> {
    let config = match &settings.database_url {
        Some(url) => StoreConfig::on_server(url.expose().parse()?, &settings.data_dir),
        None => StoreConfig::new(settings.database()),
    };
    Ok(StoreConfig { spill_folders: settings.spill_folders(), ..config })
}

fn lazy_upstream(settings: &Settings) -> Arc<Lazy<Provider>> {
    let settings = settings.clone();
    Arc::new(Lazy::new(move || {
        let made = make_upstream(&settings);
        Box::pin(async move { made })
    }))
}

/// The client of every provider. A misconfigured provider fails only calls to itself.
pub fn make_upstream(settings: &Settings) -> Result<Provider, Failure> {
    let (mut endpoints, mut unusable) = (Vec::new(), BTreeMap::new());
    for provider in &settings.providers {
        match make_endpoint(provider) {
            Ok(endpoint) => endpoints.push(endpoint),
            Err(failure) => drop(unusable.insert(provider.id.clone(), failure)),
        }
    }
    let certificates = settings.ca_file.as_deref().map(certificates::read).transpose()?;
    Provider::new(ProviderConfig {
        endpoints,
        unusable,
        calls_per_key_max: settings.calls_per_key_max,
        calls_max: settings.calls_max,
        connect_timeout_ms: settings.connect_timeout_ms,
        app_title: settings.app_title.clone(),
        app_url: settings.app_url.clone(),
        certificates: certificates.unwrap_or_default(),
        process_id: process::id().to_owned(),
        traces: Traces {
            reach: settings.telemetry.trace_calls,
            begun: settings.telemetry.endpoint.is_some(),
        },
        system_proxy: settings.system_proxy,
    })
}

fn make_endpoint(provider: &ProviderSettings) -> Result<Endpoint, Failure> {
    let id = &provider.id;
    let base_url = provider.base_url.as_deref().ok_or_else(|| {
        Failure::new(Code::SettingsInvalid, format!("no base URL is set for `{id}`"))
            .with_next(provider.address_advice())
    })?;
    let key = match &provider.key {
        ProviderKey::Set { key, .. } => ApiKey::parse(key.expose_secret())
            .map_err(|failure| failure.with_next(MachineStep::CopyKey(id.0.clone().into())))?,
        ProviderKey::Command(_) | ProviderKey::Missing => None,
    };
    // An address in a file is checked where it stands, so a bad one is from the environment.
    let named = |failure: Failure| match provider.base_url_variable {
        Some(variable) => Failure { message: format!("{} (`{variable}`)", failure.message), ..failure },
        None => failure,
    };
    let mut endpoint = Endpoint::new(id.clone(), base_url, key, provider.dialect)
        .map_err(named)?
        .with_headers(headers(provider))
        .with_key_advice(provider.call_advice())
        .with_refused_key_advice(provider.refused_key_advice());
    if let ProviderKey::Command(words) = &provider.key {
        endpoint = endpoint.with_key_fetch(keys::fetch(id, words));
    }
    Ok(match provider.calls_max {
        Some(calls_max) => endpoint.with_calls_max(calls_max),
        None => endpoint,
    })
}

fn headers(provider: &ProviderSettings) -> HeaderMap {
    let read = |(name, value): &(String, SecretString)| {
        let read = "the settings took no header that cannot be sent";
        let value = HeaderValue::from_str(value.expose_secret()).expect(read);
        (HeaderName::from_bytes(name.as_bytes()).expect(read), value)
    };
    provider.headers.iter().map(read).collect()
}
