//! Puts the program together: the only place where its parts are made.
//!
//! Nothing here takes time: what needs a disk or a network is made when it is first used.

use std::sync::Arc;

use parallel_llm_engine::port::Journal;
use parallel_llm_engine::{Code, Engine, Failure, ProviderId};
use parallel_llm_provider::{ApiKey, Dialect, Endpoint, Provider, ProviderConfig, embedded_catalogue};
use parallel_llm_simulator::{Simulator, SimulatorConfig};
use parallel_llm_store::{Store, StoreConfig};
use secrecy::{ExposeSecret, SecretString};

use crate::service::{Catalogues, Journals, Later, OPENROUTER, Parts, Runs, Service};
use crate::settings::Settings;

/// The name of the database inside the data folder.
const DATABASE: &str = "runs.db";

/// The program over these settings.
pub fn wire(settings: &Settings) -> Service {
    let store = later_store(settings);
    let provider = later_provider(settings);
    let catalogues = Catalogues::new(embedded_catalogue(), {
        let provider = Arc::clone(&provider);
        Box::new(move || {
            let provider = Arc::clone(&provider);
            Box::pin(async move { provider.get().await?.fetch_catalogue(&openrouter()).await })
        })
    });
    let runs = {
        let store = Arc::clone(&store);
        Later::new(move || {
            let (provider, store) = (Arc::clone(&provider), Arc::clone(&store));
            Box::pin(async move {
                let caller = Arc::new(provider.get().await?.clone());
                // Without a key no seat could answer: said once, before a run is begun for it.
                caller.check_key(&openrouter()).await?;
                let journal: Arc<dyn Journal> = Arc::new(Journals::new(store));
                Ok(Runs::new(Engine::new(caller, journal)))
            })
        })
    };
    Service::new(Parts { settings: settings.clone(), providers: vec![openrouter()], catalogues, runs, store })
}

/// The program against a pretend provider it starts itself, in a data folder of its own that is emptied first.
pub async fn stage_demo(settings: &Settings) -> Result<(Simulator, Service), Failure> {
    let unusable = |what: &str, error: std::io::Error| {
        Failure::new(Code::OutputUnwritable, format!("the demo cannot use {what}: {error}"))
    };
    let data_dir = settings.data_dir.join("demo");
    match std::fs::remove_dir_all(&data_dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(unusable(&data_dir.display().to_string(), error));
        }
        _ => {}
    }
    let simulator =
        Simulator::start(SimulatorConfig::demo()).await.map_err(|error| unusable("a local port", error))?;
    let service = wire(&Settings {
        data_dir,
        output_dir: None,
        openrouter_key: Some(SecretString::from(simulator.api_key())),
        openrouter_base_url: simulator.base_url(),
        ..settings.clone()
    });
    Ok((simulator, service))
}

fn openrouter() -> ProviderId {
    ProviderId(OPENROUTER.to_owned())
}

fn later_store(settings: &Settings) -> Arc<Later<Store>> {
    let path = settings.data_dir.join(DATABASE);
    Arc::new(Later::new(move || Box::pin(Store::open(StoreConfig::new(path.clone())))))
}

fn later_provider(settings: &Settings) -> Arc<Later<Provider>> {
    let settings = settings.clone();
    Arc::new(Later::new(move || {
        let made = make_provider(&settings);
        Box::pin(async move { made })
    }))
}

fn make_provider(settings: &Settings) -> Result<Provider, Failure> {
    let key =
        settings.openrouter_key.as_ref().map(|key| ApiKey::parse(key.expose_secret())).transpose()?.flatten();
    let base_url = &settings.openrouter_base_url;
    let endpoint = Endpoint::new(openrouter(), base_url, key, Dialect::of_base_url(base_url))?;
    Provider::new(ProviderConfig {
        endpoints: vec![endpoint],
        calls_per_key_max: settings.calls_per_key_max,
        calls_max: settings.calls_max,
        connect_timeout_ms: settings.connect_timeout_ms,
        app_title: Some(env!("CARGO_PKG_NAME").to_owned()),
        app_url: None,
        certificates: Vec::new(),
    })
}
