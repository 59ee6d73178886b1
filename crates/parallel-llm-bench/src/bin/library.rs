//! The program without its door: what the library costs by itself, and how often it commits.
//!
//! Without a word it is asked like the program itself, in the words of MCP, and reads them as simply as can be.
//! With the word `commits` it does one run against an upstream whose seats answer one after the other, and prints
//! the commits its caller waited for: all but those made while a seat was still out, which nobody waited for.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_engine::plan::{Identity, Terms};
use parallel_llm_engine::{Engine, ProviderId, RunId, RunPlan, RunRequest};
use parallel_llm_mcp::app;
use parallel_llm_provider::{ApiKey, Dialect, Endpoint, Provider, ProviderConfig, embedded_catalogue};
use parallel_llm_service::report::Report;
use parallel_llm_service::{OPENROUTER, Question, Runs, Services};
use parallel_llm_settings::settings::{Environment, ProviderKey, Settings};
use parallel_llm_store::{Store, StoreConfig};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

/// The longest that runs under way are waited for at the end; the harness asks for none then.
const CLOSE_MAX: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let wants_commits = std::env::args().nth(1).as_deref() == Some("commits");
    match run(wants_commits) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            #[expect(clippy::print_stderr, reason = "a tool of the measurement, talking to a terminal")]
            {
                eprintln!("library: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(wants_commits: bool) -> Outcome<()> {
    let here = std::env::current_dir()?;
    let settings = Settings::load(&Environment::read(), &here, &[]).map_err(told)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = if wants_commits {
        runtime.block_on(commits(&settings))
    } else {
        runtime.block_on(serve(&app::wire(&settings)))
    };
    runtime.shutdown_background();
    done
}

fn told(failure: parallel_llm_engine::Failure) -> Failure {
    Failure::new(failure.message)
}

fn say(line: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Answers each line that has an id.
async fn serve(service: &Services) -> Outcome<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut answering = JoinSet::new();
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => {
                    let message: Value = serde_json::from_str(&line)?;
                    answering.spawn(answer(service.clone(), message));
                }
                None => break,
            },
            Some(answered) = answering.join_next() => {
                answered.map_err(|error| Failure::new(format!("an answer came to nothing: {error}")))??;
            }
        }
    }
    service.close(CLOSE_MAX).await;
    Ok(())
}

async fn answer(service: Services, message: Value) -> Outcome<()> {
    let Some(id) = message.get("id") else { return Ok(()) };
    let Some(prompt) = message["params"]["arguments"]["prompt"].as_str() else {
        return say(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string());
    };
    let report = report(&service, prompt).await?;
    say(&json!({ "jsonrpc": "2.0", "id": id, "result": { "structuredContent": report.to_json() } })
        .to_string())
}

async fn report(service: &Services, prompt: &str) -> Outcome<Report> {
    let question = Question::of(RunRequest::prompt(prompt));
    let handle = service.ask.ask(question).await.map_err(told)?;
    Ok(handle.wait(None).await)
}

/// Counts the commits of one run that its caller waited for. One run goes before, because the store's first work is
/// its heartbeat.
async fn commits(settings: &Settings) -> Outcome<()> {
    let store = Store::open(StoreConfig::new(settings.data_dir.join("commits.db"))).await.map_err(told)?;
    let engine = Engine::new(Arc::new(provider(settings)?), Arc::new(store.clone()));
    let runs = Runs::new(engine, Duration::ZERO);
    let mut counted = 0;
    for number in 1..=2 {
        let plan = plan(settings, number)?;
        let seats = plan.seats.len() as u64;
        let before = store.commits();
        let handle = runs.start(plan, settings.data_dir.join("runs")).await.map_err(told)?;
        let status = handle.wait(None).await.status;
        // Each seat but the last is committed while others are out.
        counted = (store.commits() - before).saturating_sub(seats - 1);
        if status != "complete" {
            return Err(Failure::new(format!("the run whose commits are counted is {status}")));
        }
        handle.wait_closed().await;
    }
    store.close().await;
    say(&json!({ "waited_for": counted }).to_string())
}

fn plan(settings: &Settings, number: u128) -> Outcome<RunPlan> {
    let catalogues = [(openrouter(), Arc::new(embedded_catalogue()))].into();
    let terms = Terms { defaults: &settings.defaults(), providers: &[openrouter()], catalogues: &catalogues };
    let identity = Identity { run_id: RunId::from_parts(1, number), seed: 1 };
    RunPlan::resolve(RunRequest::prompt("How many commits is this?"), &terms, identity).map_err(told)
}

fn openrouter() -> ProviderId {
    ProviderId(OPENROUTER.to_owned())
}

fn provider(settings: &Settings) -> Outcome<Provider> {
    let openrouter = settings.default_provider();
    let key = match &openrouter.key {
        ProviderKey::Set { key, .. } => ApiKey::parse(key.expose_secret()).map_err(told)?,
        ProviderKey::Command(_) | ProviderKey::Missing => None,
    };
    let base_url = openrouter.base_url.as_deref().unwrap_or_default();
    let endpoint = Endpoint::new(openrouter.id.clone(), base_url, key, Dialect::OPENROUTER);
    let config = ProviderConfig { endpoints: vec![endpoint.map_err(told)?], ..ProviderConfig::default() };
    Provider::new(config).map_err(told)
}
