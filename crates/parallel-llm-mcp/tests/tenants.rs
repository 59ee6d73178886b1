//! Isolation of tenants: whatever a token holder asks of the service, the runs of others do not exist.
//!
//! Every call enters through the service, as every door does, against the simulator. Two holders and the owner each
//! have a run that has ended, one in progress and one that was interrupted; everybody tries every operation on each of
//! them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rules;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_app::wire;
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::event::{Attempt, Event, Recorded};
use parallel_llm_engine::{
    CallerSlot, Code, Failure, PicoUsd, RunId, RunPlan, RunRequest, RunStatus, SeatNumber,
};
use parallel_llm_service::{
    Continuation, CostBy, Grant, KnownRun, Order, Principal, PurgeSelection, Question, RunFilter, RunHandle,
    Scope, Services, TokenRequest, TokenState,
};
use parallel_llm_settings::settings::{Environment, Folders, Settings};
use parallel_llm_store::{Store, StoreConfig};
use parallel_llm_testkit::simulator::{Behaviour, Fault, Script, Simulator, SimulatorConfig};
use secrecy::ExposeSecret;
use tempfile::TempDir;

const QUICK: &str = "x-ai/grok-4.7";
const HANGING: &str = "deepseek/deepseek-v4-pro-0813";
/// The id of no run.
const UNKNOWN_ID: &str = "01KB3V00000000000000000000";

/// The service with a home and a simulator of its own.
struct Setup {
    home: TempDir,
    simulator: Simulator,
    owner: Services,
}

impl Setup {
    async fn new() -> Self {
        let config = SimulatorConfig { behaviour: Behaviour::instant(), ..SimulatorConfig::default() };
        let simulator = Simulator::start(config).await.unwrap();
        simulator.script(QUICK, Script::answering("Gold is heavy."));
        simulator.script(HANGING, Script::fault(Fault::Stall));
        let home = tempfile::tempdir().unwrap();
        let owner = wire(&settings(home.path(), &simulator));
        Self { home, simulator, owner }
    }

    /// A setup whose owner has a small budget and a preset with a large one.
    async fn with_expensive_preset() -> Self {
        let mut setup = Self::new().await;
        let written = "budget_usd = 0.0001\n[presets.dear]\nbudget_usd = 20\n";
        let folder = setup.home.path().join(".config/parallel-llm-mcp");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), written).unwrap();
        setup.owner = wire(&settings(setup.home.path(), &setup.simulator));
        setup
    }

    /// The service for the holder of a new token, who is identified by the token itself.
    async fn holder(&self, request: TokenRequest) -> Services {
        let made = self.owner.access.create_token(request).await.unwrap();
        let principal = self.owner.access.check_token(made.secret.expose_secret()).await.unwrap();
        self.owner.acting_for(principal)
    }

    fn database(&self) -> PathBuf {
        self.owner.settings.database()
    }
}

fn settings(home: &Path, simulator: &Simulator) -> Settings {
    let environment = Environment::with_folders(Folders::of_home(home))
        .with("OPENROUTER_BASE_URL", simulator.base_url())
        .with("OPENROUTER_API_KEY", simulator.api_key());
    Settings::load(&environment, home, &[]).unwrap()
}

fn token_request(name: &str) -> TokenRequest {
    let name = name.to_owned();
    TokenRequest { name, scopes: Vec::new(), budget_day: None, requests_per_minute: None, lifetime_ms: None }
}

fn request(model: &str, question: &str) -> RunRequest {
    RunRequest { models: Some(vec![model.to_owned()]), ..RunRequest::prompt(question) }
}

async fn ask(service: &Services, request: RunRequest) -> Result<RunHandle, Failure> {
    service.ask.begin(Question::of(request)).await
}

/// A holder with these scopes but without a token of ours, as an outside issuer makes one.
fn granted(scopes: &[Scope]) -> Principal {
    let scopes = scopes.to_vec();
    let grant = Grant { name: "claims/7".to_owned(), scopes, budget_day: None, requests_per_minute: None };
    Principal::TokenHolder(std::sync::Arc::new(grant))
}

/// A principal and its runs.
struct Tenant {
    name: &'static str,
    service: Services,
    ended: String,
    running: RunHandle,
    interrupted: String,
}

impl Tenant {
    async fn new(setup: &Setup, name: &'static str, service: Services) -> Self {
        let ended = ask(&service, request(QUICK, "How heavy is gold?")).await.unwrap();
        ended.wait_closed().await;
        let running = ask(&service, request(HANGING, "How heavy is gold?")).await.unwrap();
        let plan = ended.with_run(|run| run.plan.clone());
        let interrupted = interrupted(&setup.database(), &plan).await;
        Self { name, service, ended: ended.id().to_string(), running, interrupted }
    }

    fn runs(&self) -> [(&'static str, String); 3] {
        [
            ("over", self.ended.clone()),
            ("under way", self.running.id().to_string()),
            ("interrupted", self.interrupted.clone()),
        ]
    }
}

/// A run like this one, whose request was sent and whose process is gone.
async fn interrupted(database: &Path, plan: &RunPlan) -> String {
    let run_id = RunId::from_parts(plan.run_id.unix_ms() + 60_000, u128::from(plan.run_id.unix_ms()));
    let plan = RunPlan { run_id, plan_hash: format!("interrupted {run_id}"), ..plan.clone() };
    let store = Store::open(StoreConfig::new(database)).await.unwrap();
    let lease = store.open(std::sync::Arc::new(plan)).await.unwrap();
    let attempt = Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 };
    let events = [
        Event::Started { plan_hash: "interrupted".to_owned(), reserved: PicoUsd::ZERO },
        Event::Sent { attempt, prompt: None, worst_case: None },
    ];
    let recorded = (1..).zip(events).map(|(seq, event)| Recorded { seq, elapsed_ms: seq, event }).collect();
    store.append(lease, recorded).await.unwrap();
    store.close().await;
    let sql = "UPDATE runs SET owner = 'elsewhere.1/1/1', lease_until_ms = 0 WHERE run_id = ?";
    let connection = rusqlite::Connection::open(database).unwrap();
    connection.execute(sql, [run_id.to_string()]).unwrap();
    run_id.to_string()
}

async fn tenants(setup: &Setup) -> [Tenant; 3] {
    let (a, b) = (setup.holder(token_request("anna")).await, setup.holder(token_request("bert")).await);
    [
        Tenant::new(setup, "owner", setup.owner.clone()).await,
        Tenant::new(setup, "anna", a).await,
        Tenant::new(setup, "bert", b).await,
    ]
}

type Operation = for<'a> fn(&'a Services, &'a str) -> BoxFuture<'a, Result<(), Failure>>;

/// Every operation on one run by its name.
const OPERATIONS: &[(&str, Operation)] = &[
    ("find", |service, name| Box::pin(async move { service.runs.find(name).await.map(drop) })),
    ("watch", |service, name| Box::pin(async move { service.runs.watch(name).await.map(drop) })),
    ("load", |service, name| {
        Box::pin(async move { service.runs.load(name.parse().unwrap()).await.map(drop) })
    }),
    ("run_id", |service, name| Box::pin(async move { service.runs.run_id(name).await.map(drop) })),
    ("follow-up", |service, name| {
        let continues = Some(name.to_owned());
        let question = Question { continues, ..Question::of(request(QUICK, "And?")) };
        Box::pin(async move { service.ask.quote(question).await.map(drop) })
    }),
    ("resume", |service, name| {
        let continuation = Continuation::Resume { resend: true, budget: None };
        Box::pin(async move { service.ask.begin(Order::on(name, continuation)).await.map(drop) })
    }),
    ("add", |service, name| {
        let continuation =
            Continuation::Add(RunRequest { models: Some(vec![QUICK.to_owned()]), ..RunRequest::default() });
        Box::pin(async move { service.ask.begin(Order::on(name, continuation)).await.map(drop) })
    }),
    ("rewrite", |service, name| {
        let continuation = Continuation::Rewrite(RunRequest {
            synthesizer: Some(QUICK.to_owned()),
            ..RunRequest::default()
        });
        Box::pin(async move { service.ask.begin(Order::on(name, continuation)).await.map(drop) })
    }),
    ("give_up", |service, name| Box::pin(async move { service.detached.give_up(name).await })),
    ("export", |service, name| {
        Box::pin(async move { service.runs.export(name.parse().unwrap(), None).await.map(drop) })
    }),
    ("purgeable", |service, name| {
        let selection = PurgeSelection::Named(vec![name.to_owned()]);
        Box::pin(async move { service.retention.purgeable(&selection).await.map(drop) })
    }),
    ("purge", |service, name| {
        let selection = PurgeSelection::Named(vec![name.to_owned()]);
        Box::pin(async move {
            service.retention.purge(&selection, &mut |_| ControlFlow::Continue(())).await.map(drop)
        })
    }),
];

/// Operations that only the owner may perform, whatever the run.
const OWNER_ONLY: [&str; 3] = ["export", "purgeable", "purge"];

/// The text of a refusal, with a placeholder for the requested id.
fn outcome_text(refused: &Result<(), Failure>, name: &str) -> String {
    match refused {
        Ok(()) => "done".to_owned(),
        Err(failure) => {
            let Failure { code, message, run_id, .. } = failure;
            let text = format!("{code:?}: {message} (next: {}) {run_id:?}", failure.next_step());
            text.replace(name, "<id>")
        }
    }
}

#[tokio::test]
async fn the_runs_of_others_get_the_refusal_of_unknown_runs() {
    let setup = Setup::new().await;
    let tenants = tenants(&setup).await;
    let mut cases = 0;
    for principal in tenants.iter().filter(|tenant| tenant.name != "owner") {
        for (operation, perform) in OPERATIONS {
            let unknown = outcome_text(&perform(&principal.service, UNKNOWN_ID).await, UNKNOWN_ID);
            let expected = if OWNER_ONLY.contains(operation) { "ScopeMissing: " } else { "RunNotFound: " };
            assert!(unknown.starts_with(expected), "{operation}: {unknown}");
            for other in tenants.iter().filter(|other| other.name != principal.name) {
                for (kind, id) in other.runs() {
                    let refused = perform(&principal.service, &id).await;
                    let case = format!("{} tries {operation} on {}'s run {kind}", principal.name, other.name);
                    assert_eq!(outcome_text(&refused, &id), unknown, "{case}");
                    // For those who may see a run, the beginning of its id is as good as the id.
                    let beginning = &id[..22];
                    if !matches!(*operation, "load" | "export") {
                        let refused = outcome_text(&perform(&principal.service, beginning).await, beginning);
                        let unknown = perform(&principal.service, &UNKNOWN_ID[..22]).await;
                        assert_eq!(
                            refused,
                            outcome_text(&unknown, &UNKNOWN_ID[..22]),
                            "{case}, by its beginning"
                        );
                    }
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 2 * 12 * 2 * 3);
    for tenant in &tenants {
        // None of the attempts has touched the run.
        assert!(
            tenant.running.with_run(|run| run.status == RunStatus::Running && !run.closed),
            "{}",
            tenant.name
        );
        for (kind, id) in tenant.runs() {
            for (operation, perform) in OPERATIONS.iter().take(4) {
                let own = outcome_text(&perform(&tenant.service, &id).await, &id);
                let by_owner = outcome_text(&perform(&setup.owner, &id).await, &id);
                assert_eq!(
                    (own.as_str(), by_owner.as_str()),
                    ("done", "done"),
                    "{} {operation} {kind}",
                    tenant.name
                );
            }
        }
    }
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn lists_searches_and_costs_contain_only_own_runs() {
    let setup = Setup::new().await;
    let tenants = tenants(&setup).await;
    let all: BTreeSet<String> = tenants.iter().flat_map(Tenant::runs).map(|(_, id)| id).collect();
    for tenant in &tenants {
        let Tenant { name, service, .. } = tenant;
        let own: BTreeSet<String> = tenant.runs().map(|(_, id)| id).into();
        let visible = if *name == "owner" { &all } else { &own };
        let listed = service.runs.list(RunFilter::default()).await.unwrap();
        let listed: BTreeSet<String> = listed.iter().map(|run| run.run_id.to_string()).collect();
        assert_eq!(&listed, visible, "{name}");
        let ids = service.runs.run_ids(None, None).await.unwrap();
        assert_eq!(&ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>(), visible, "{name}");
        let left = service.runs.interrupted_since(0).await.unwrap();
        assert_eq!(left.len(), visible.len() / 3, "{name}");
        let found = service.runs.search("heavy gold", 99).await.unwrap().hits;
        let found: BTreeSet<String> = found.iter().map(|found| found.run_id.to_string()).collect();
        assert_eq!(&found, visible, "{name}");
        let costs = service.statistics.costs(CostBy::Model, None).await.unwrap();
        let runs: u64 = costs.lines.iter().filter_map(|line| line.runs).sum();
        assert_eq!(runs, visible.len() as u64, "{name}");
        let spent = service.statistics.costs(CostBy::Principal, None).await.unwrap();
        let spent: BTreeSet<String> = spent.lines.into_iter().filter_map(|line| line.name).collect();
        let names: &[&str] = if *name == "owner" { &["-", "anna", "bert"] } else { &[*name] };
        assert_eq!(spent.iter().collect::<Vec<_>>(), names, "{name}");
        let newest = service.runs.find("@").await.unwrap().run().plan.asked_by.clone();
        let expected = if *name == "owner" { newest.clone() } else { Some((*name).to_owned()) };
        assert_eq!(newest, expected, "{name}");
        service.statistics.insights(None).await.unwrap();
        let figures = service.statistics.figures(Some(0)).await.unwrap();
        assert_eq!((figures.calls.count, figures.budget.limit_usd), (visible.len() as u64, None), "{name}");
    }
    let limited = TokenRequest { budget_day: Some(PicoUsd::from_usd(2)), ..token_request("limited") };
    let figures = setup.holder(limited).await.statistics.figures(None).await.unwrap();
    assert_eq!((figures.budget.limit_usd, figures.budget.spent_usd), (Some(2.0), Some(0.0)));
    let other_holder = setup.owner.acting_for(granted(&Scope::ALL));
    assert_eq!(other_holder.runs.list(RunFilter::default()).await.unwrap(), []);
    assert_eq!(
        outcome_text(&other_holder.runs.find("@").await.map(drop), "@"),
        outcome_text(&no_runs().await, "@")
    );
    setup.owner.close(Duration::ZERO).await;
}

/// The refusal for the newest run if there is no run at all.
async fn no_runs() -> Result<(), Failure> {
    let setup = Setup::new().await;
    setup.owner.runs.find("@").await.map(drop)
}

#[tokio::test]
async fn the_same_question_of_two_principals_is_two_runs() {
    let setup = Setup::new().await;
    let (a, b) = (setup.holder(token_request("anna")).await, setup.holder(token_request("bert")).await);
    let principals = [&a, &b, &setup.owner];
    // In progress.
    let mut ids = BTreeSet::new();
    for service in principals {
        let first = ask(service, request(HANGING, "Why?")).await.unwrap();
        let again = ask(service, request(HANGING, "Why?")).await.unwrap();
        assert_eq!((first.id(), again.note().is_some()), (again.id(), true));
        assert_eq!(first.with_run(|run| run.plan.asked_by.clone()).as_deref(), service.principal.name());
        ids.insert(first.id());
    }
    assert_eq!(ids.len(), 3);
    // With the same key: neither the same run nor a conflict with another question.
    for (service, question) in principals.into_iter().zip(["One?", "Two?", "One?"]) {
        let keyed = || RunRequest { idempotency_key: Some("k".to_owned()), ..request(QUICK, question) };
        let first = ask(service, keyed()).await.unwrap();
        first.wait_closed().await;
        assert_eq!(ask(service, keyed()).await.unwrap().id(), first.id(), "{question}");
        ids.insert(first.id());
    }
    assert_eq!(ids.len(), 6);
    // From the history.
    let cached = |question| Question { cache_ms: Some(600_000), ..Question::of(request(QUICK, question)) };
    for service in principals {
        let first = service.ask.begin(cached("Old?")).await.unwrap();
        first.wait_closed().await;
        assert_eq!(service.ask.begin(cached("Old?")).await.unwrap().id(), first.id());
        ids.insert(first.id());
    }
    assert_eq!(ids.len(), 9);
    // A holder cannot ask in the name of another.
    let posing = RunRequest { asked_by: Some("anna".to_owned()), ..request(QUICK, "Who?") };
    let posed = ask(&b, posing).await.unwrap();
    assert_eq!(posed.with_run(|run| run.plan.asked_by.clone()).as_deref(), Some("bert"));
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_run_that_is_not_stored_is_hidden_from_other_holders() {
    let setup = Setup::new().await;
    let (a, b) = (setup.holder(token_request("anna")).await, setup.holder(token_request("bert")).await);
    let unstored = RunRequest { store: Some(StoreMode::None), ..request(QUICK, "Why?") };
    let handle = ask(&a, unstored).await.unwrap();
    handle.wait_closed().await;
    let id = handle.id().to_string();
    assert!(a.runs.find(&id).await.is_ok() && setup.owner.runs.find(&id).await.is_ok());
    for (operation, perform) in OPERATIONS {
        let unknown = outcome_text(&perform(&b, UNKNOWN_ID).await, UNKNOWN_ID);
        assert_eq!(outcome_text(&perform(&b, &id).await, &id), unknown, "{operation}");
    }
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_resumes_and_cancels_its_own_runs() {
    let setup = Setup::new().await;
    let anna = Tenant::new(&setup, "anna", setup.holder(token_request("anna")).await).await;
    let continuation = Continuation::Resume { resend: true, budget: None };
    let resumed = anna.service.ask.begin(Order::on(&anna.interrupted, continuation)).await.unwrap();
    assert_eq!(resumed.wait_closed().await.status, "complete");
    let KnownRun::Live(seen) = anna.service.runs.find(&anna.running.id().to_string()).await.unwrap() else {
        panic!("it is in progress")
    };
    // The scope `read` does not allow cancelling.
    let reader = setup.owner.acting_for(Principal::TokenHolder(std::sync::Arc::new(Grant {
        name: "anna".to_owned(),
        scopes: vec![Scope::Read],
        budget_day: None,
        requests_per_minute: None,
    })));
    let KnownRun::Live(read_only) = reader.runs.find(&seen.id().to_string()).await.unwrap() else {
        panic!("it is in progress")
    };
    read_only.cancel();
    reader.runs.watch(&seen.id().to_string()).await.unwrap().abort();
    assert!(!read_only.is_here() && seen.with_run(|run| !run.closed));
    seen.cancel();
    assert_eq!(seen.wait_closed().await.status, "cancelled");
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_can_never_raise_its_own_limits() {
    let setup = Setup::new().await;
    let anna = setup.holder(TokenRequest { budget_day: Some(PicoUsd::ZERO), ..token_request("anna") }).await;
    let refused = async |request| ask(&anna, request).await.map(drop).map_err(|failure| failure.code);
    assert_eq!(refused(request(QUICK, "Why?")).await, Err(Code::Budget), "a budget of zero allows nothing");
    let unstored = RunRequest { store: Some(StoreMode::None), ..request(QUICK, "Why?") };
    assert_eq!(refused(unstored).await, Err(Code::Usage), "an unstored run would not count");
    assert_eq!(setup.simulator.requests().iter().filter(|request| request.path.contains("chat")).count(), 0);

    let bert = setup.holder(token_request("bert")).await;
    let above = setup.owner.settings.budget.plus(PicoUsd::from_usd(1));
    let expensive = RunRequest { budget: Some(above), ..request(QUICK, "Why?") };
    let failure = ask(&bert, expensive.clone()).await.map(drop).unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (Code::Budget, "a budget of $4.00 is above the owner's setting, which allows $3.00")
    );
    let ended = ask(&bert, request(QUICK, "Why?")).await.unwrap();
    ended.wait_closed().await;
    for continuation in [
        Continuation::Resume { resend: false, budget: Some(above) },
        Continuation::Add(RunRequest { budget: Some(above), ..request(QUICK, "") }),
        Continuation::Rewrite(RunRequest { budget: Some(above), ..RunRequest::default() }),
    ] {
        let failure =
            bert.ask.begin(Order::on(ended.id().to_string(), continuation)).await.map(drop).unwrap_err();
        assert_eq!(failure.code, Code::Budget, "{}", failure.message);
    }
    // The owner at the terminal may.
    assert!(ask(&setup.owner, expensive).await.is_ok());
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_calls_no_server_that_the_owner_has_not_set_up() {
    let setup = Setup::new().await;
    let anna = setup.holder(token_request("anna")).await;
    let ended = ask(&anna, request(QUICK, "Why?")).await.unwrap();
    ended.wait_closed().await;
    for name in ["vllm:x", "ollama:x", "lmstudio:x"] {
        let added = Continuation::Add(request(name, ""));
        let refused = [
            ask(&anna, request(name, "Why?")).await.map(drop),
            ask(&anna, RunRequest { synthesizer: Some(name.to_owned()), ..request(QUICK, "Why?") })
                .await
                .map(drop),
            anna.ask.begin(Order::on(ended.id().to_string(), added)).await.map(drop),
        ];
        for failure in refused.map(Result::unwrap_err) {
            let provider = name.trim_end_matches(":x");
            assert_eq!(failure.message, format!("`{provider}` is no provider that can be asked here"));
        }
    }
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_preset_of_the_owner_does_not_raise_the_budget_of_a_holder() {
    let setup = Setup::with_expensive_preset().await;
    let anna = setup.holder(token_request("anna")).await;
    let expensive = || Question { preset: Some("dear".to_owned()), ..Question::of(request(QUICK, "Why?")) };
    let failure = anna.ask.begin(expensive()).await.map(drop).unwrap_err();
    assert_eq!(failure.code, Code::Budget, "{}", failure.message);
    assert!(setup.owner.ask.begin(expensive()).await.is_ok(), "the owner may use the preset");
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_check_command_is_run_only_for_its_owner() {
    let mut setup = Setup::new().await;
    let folder = setup.home.path().join(".config/parallel-llm-mcp");
    std::fs::create_dir_all(&folder).unwrap();
    let ran = setup.home.path().join("checked");
    let script = format!("echo x >> '{}'", ran.display());
    let written = format!("check_command = ['/bin/sh', '-c', {script:?}]\nstrategy = 'auto'\n");
    std::fs::write(folder.join("config.toml"), written).unwrap();
    setup.owner = wire(&settings(setup.home.path(), &setup.simulator));
    let anna = setup.holder(token_request("anna")).await;
    let checked =
        || RunRequest { strategy: Some("best-of-n@by=check".to_owned()), ..request(QUICK, "Which design?") };
    let refused = |failure: Failure| (failure.code, format!("{}; {}", failure.message, failure.next_step()));
    let expected = "`best-of-n@by=check` runs the owner's check command, which is not available over HTTP; name another strategy, such as `best-of-n`";
    let failure = ask(&anna, checked()).await.map(drop).unwrap_err();
    assert_eq!(refused(failure), (Code::ScopeMissing, expected.to_owned()));
    // A strategy that is chosen for a holder does not check either, and no continuation can add a check.
    let handle = ask(&anna, request(QUICK, "Which design?")).await.unwrap();
    assert_eq!(handle.wait_closed().await.strategy, "synthesize");
    let rewrite = Continuation::Rewrite(RunRequest { models: None, ..checked() });
    let failure = anna.ask.begin(Order::on(handle.id().to_string(), rewrite)).await.map(drop).unwrap_err();
    assert_eq!(refused(failure), (Code::ScopeMissing, expected.to_owned()));
    // A caller who reaches a server without a token is no holder, but is not known to be the owner either.
    let reached = setup.owner.clone().without_checks();
    let failure = ask(&reached, checked()).await.map(drop).unwrap_err();
    assert_eq!(refused(failure), (Code::ScopeMissing, expected.to_owned()));
    assert!(!ran.exists());
    let report = ask(&setup.owner, checked()).await.unwrap().wait_closed().await;
    assert_eq!((report.checks.len(), report.checks[0].passed), (1, Some(true)), "{}", report.line());
    assert!(ran.exists());
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_writes_no_files_and_sees_no_path() {
    let setup = Setup::new().await;
    let anna = setup.holder(token_request("anna")).await;
    let with_files = RunRequest { files: Some(true), ..request(QUICK, "Why?") };
    let refused = ask(&anna, with_files).await.map(drop).unwrap_err();
    assert_eq!(refused.message, "files are written for the owner of the data folder only");
    let handle = ask(&anna, request(QUICK, "Why?")).await.unwrap();
    let report = handle.wait_closed().await;
    let home = setup.home.path().display().to_string();
    assert!(!report.line().contains(&home), "{}", report.line());
    assert!(!setup.owner.settings.data_dir.join("runs").join(&report.run_id).exists());
    // The owner may export the files. Nobody else sees their path.
    assert!(
        setup
            .owner
            .runs
            .export(handle.id(), None)
            .await
            .unwrap()
            .starts_with(setup.owner.settings.data_dir.join("runs"))
    );
    assert!(!anna.runs.load(handle.id()).await.unwrap().report().line().contains(&home));
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_is_warned_of_a_broken_calibration_table_without_its_path() {
    let setup = Setup::new().await;
    let data_dir = &setup.owner.settings.data_dir;
    std::fs::create_dir_all(data_dir).unwrap();
    std::fs::write(data_dir.join("calibration.json"), "{").unwrap();
    let handle = ask(&setup.holder(token_request("anna")).await, request(QUICK, "Why?")).await.unwrap();
    let (report, plan) = (handle.wait_closed().await, handle.with_run(|run| run.plan.clone()));
    let shown = |principal: &Principal| {
        let plan = serde_json::to_string(&*principal.redact_plan(&plan)).unwrap();
        [principal.redact_report(report.clone()).line(), plan]
    };
    let home = setup.home.path().display().to_string();
    assert!(shown(&Principal::Owner).iter().all(|shown| shown.contains(&home)));
    let is_redacted =
        |shown: &String| !shown.contains(&home) && shown.contains("a setting of this server cannot be used");
    assert!(shown(&granted(&[])).iter().all(is_redacted), "{:?}", shown(&granted(&[])));
    setup.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_token_is_valid_until_it_expires_or_is_revoked() {
    let setup = Setup::new().await;
    let limited = TokenRequest {
        scopes: vec![Scope::Read, Scope::Ask, Scope::Read],
        budget_day: PicoUsd::from_decimal("2.5"),
        requests_per_minute: Some(60),
        ..token_request("ci")
    };
    let made = setup.owner.access.create_token(limited).await.unwrap();
    let secret = made.secret.expose_secret();
    let principal = setup.owner.access.check_token(secret).await.unwrap();
    let expected = Grant {
        name: "ci".to_owned(),
        scopes: Scope::USUAL.to_vec(),
        budget_day: PicoUsd::from_decimal("2.5"),
        requests_per_minute: Some(60),
    };
    assert_eq!(principal, Principal::TokenHolder(std::sync::Arc::new(expected)));
    // Another process revokes it.
    let other = wire(&settings(setup.home.path(), &setup.simulator));
    assert_eq!(other.access.revoke_token("ci").await.unwrap().state, TokenState::Revoked);
    let revoked = setup.owner.access.check_token(secret).await.unwrap_err();
    let short_lived = setup
        .owner
        .access
        .create_token(TokenRequest { lifetime_ms: Some(1), ..token_request("brief") })
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let ended = setup.owner.access.check_token(short_lived.secret.expose_secret()).await.unwrap_err();
    let elsewhere = Setup::new().await;
    let unknown = elsewhere.owner.access.check_token(secret).await.unwrap_err();
    assert_eq!(
        (revoked.code, revoked.message.as_str()),
        (Code::TokenRefused, "this token is unknown, revoked or expired")
    );
    assert_eq!((&revoked, &revoked), (&ended, &unknown));
    for mistyped in ["", "plm_", &secret[..52], &secret.to_uppercase(), "Bearer x"] {
        let failure = setup.owner.access.check_token(mistyped).await.unwrap_err();
        assert_eq!(failure.message, "this is not a complete token of this server", "{mistyped}");
    }
    let listed = setup.owner.access.list_tokens().await.unwrap();
    let states: Vec<_> = listed.iter().map(|token| (token.id, token.name.as_str(), token.state)).collect();
    assert_eq!(states, [(1, "ci", TokenState::Revoked), (2, "brief", TokenState::Expired)]);
    other.close(Duration::ZERO).await;
}

/// Appends the paths and contents of all files of a folder.
fn read_files(folder: &Path, bytes: &mut Vec<u8>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        bytes.extend(path.as_os_str().as_encoded_bytes());
        if path.is_dir() {
            read_files(&path, bytes);
        } else {
            bytes.extend(std::fs::read(&path).unwrap());
        }
    }
}

#[tokio::test]
async fn a_token_is_stored_and_printed_nowhere() {
    let setup = Setup::new().await;
    let made = setup.owner.access.create_token(token_request("anna")).await.unwrap();
    let secret = made.secret.expose_secret();
    let mut recorded = format!("{made:?}").into_bytes();
    let principal = setup.owner.access.check_token(secret).await.unwrap();
    recorded.extend(format!("{principal:?}").into_bytes());
    let anna = setup.owner.acting_for(principal);
    let handle = ask(&anna, request(QUICK, "Why?")).await.unwrap();
    recorded.extend(handle.wait_closed().await.pretty().into_bytes());
    recorded.extend(format!("{:?}", setup.owner.access.list_tokens().await).into_bytes());
    for failure in [
        setup.owner.access.check_token(&secret[..52]).await.map(drop).unwrap_err(),
        setup.owner.access.find_token(secret).await.map(drop).unwrap_err(),
        setup.owner.access.revoke_token(secret).await.map(drop).unwrap_err(),
        setup.owner.access.create_token(token_request(secret)).await.map(drop).unwrap_err(),
    ] {
        recorded.extend(format!("{failure:?} {}", failure.next_step()).into_bytes());
    }
    setup.owner.access.revoke_token("anna").await.unwrap();
    recorded.extend(format!("{:?}", setup.owner.access.check_token(secret).await).into_bytes());
    for request in setup.simulator.requests() {
        recorded.extend(format!("{request:?}").into_bytes());
    }
    // Before the write-ahead log is merged into the database, and after.
    read_files(setup.home.path(), &mut recorded);
    setup.owner.close(Duration::ZERO).await;
    read_files(setup.home.path(), &mut recorded);
    // Only its last four characters are shown.
    for piece in [&secret[4..16], &secret[20..32], &secret[secret.len() - 6..]] {
        let holds = recorded.windows(piece.len()).any(|window| window == piece.as_bytes());
        assert!(!holds, "a piece of the token was stored or printed");
    }
}
