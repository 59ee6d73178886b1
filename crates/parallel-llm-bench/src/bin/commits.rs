//! Counts the commits that the caller of one stored run waits for.
//!
//! Makes a run against an upstream whose seats answer one after the other, and prints the number: all commits except those
//! while other seats had not answered, and the last, which closes the run after its answer.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::store::plan;
use parallel_llm_bench::terminal::{self, print};
use parallel_llm_engine::plan::Identity;
use parallel_llm_engine::{Engine, RunId};
use parallel_llm_provider::{ApiKey, Dialect, Endpoint, Provider, ProviderConfig};
use parallel_llm_service::Runs;
use parallel_llm_settings::settings::{Environment, ProviderKey, Settings};
use parallel_llm_store::{Store, StoreConfig};
use secrecy::ExposeSecret;
use serde_json::json;

fn main() -> ExitCode {
    terminal::end("commits", run())
}

fn run() -> Outcome<()> {
    let here = std::env::current_dir()?;
    let settings = Settings::load(&Environment::read(), &here, &[])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(commits(&settings));
    runtime.shutdown_background();
    done
}

/// Counts the commits of one run that its caller waited for. Another run is made first, because the store begins with a
/// heartbeat.
async fn commits(settings: &Settings) -> Outcome<()> {
    let store = Store::open(StoreConfig::new(settings.data_dir.join("commits.db"))).await?;
    let engine = Engine::new(Arc::new(provider(settings)?), Arc::new(store.clone()));
    let runs = Runs::new(engine, Duration::ZERO, Arc::default());
    let mut counted = 0;
    for number in 1..=2 {
        let identity = Identity { run_id: RunId::from_parts(1, number), seed: 1 };
        let plan = plan::of(settings, "How many commits is this?", identity)?;
        let seats = plan.seats.len() as u64;
        let before = store.commits();
        let handle = runs.start(plan, settings.data_dir.join("runs")).await?;
        let status = handle.wait_closed().await.status;
        // Each seat but the last is committed while others have not answered; the last commit closes the run.
        counted = (store.commits() - before).saturating_sub(seats);
        if status != "complete" {
            return Err(Failure::new(format!("the run whose commits are counted is {status}")));
        }
    }
    store.close().await;
    print(&json!({ "waited_for": counted }).to_string())
}

fn provider(settings: &Settings) -> Outcome<Provider> {
    let openrouter = settings.default_provider();
    let key = match &openrouter.key {
        ProviderKey::Set { key, .. } => ApiKey::parse(key.expose_secret())?,
        ProviderKey::Command(_) | ProviderKey::Missing => None,
    };
    let base_url = openrouter.base_url.as_deref().unwrap_or_default();
    let endpoint = Endpoint::new(openrouter.id.clone(), base_url, key, Dialect::OPENROUTER);
    let config = ProviderConfig { endpoints: vec![endpoint?], ..ProviderConfig::default() };
    Provider::new(config).map_err(Failure::from)
}
