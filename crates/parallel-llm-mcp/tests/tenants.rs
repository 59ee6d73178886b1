//! Tenants that never meet: whatever the holder of a token asks of the service, the runs of others do not exist.
//!
//! Everything enters by the service, as every door does, against the simulator. Two holders and the owner each have a run
//! that is over, one under way and one that was interrupted; every operation is tried on each of them by each.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::event::{Attempt, Event, Recorded};
use parallel_llm_engine::{
    CallerSlot, Code, Failure, PicoUsd, RunId, RunPlan, RunRequest, RunStatus, SeatNumber,
};
use parallel_llm_mcp::app;
use parallel_llm_service::{
    Consent, Continuation, CostBy, Depth, Grant, KnownRun, ModelQuery, Order, Principal, PurgeSelection,
    Question, RunFilter, RunHandle, Scope, Services, TokenRequest, TokenState,
};
use parallel_llm_settings::settings::{Environment, Folders, Settings};
use parallel_llm_store::{Store, StoreConfig};
use parallel_llm_testkit::simulator::{Behaviour, Fault, Script, Simulator, SimulatorConfig};
use secrecy::ExposeSecret;
use tempfile::TempDir;

const QUICK: &str = "x-ai/grok-4.7";
const HANGING: &str = "deepseek/deepseek-v4-pro-0813";
/// No run has this id.
const NOBODYS: &str = "01KB3V00000000000000000000";

/// The service in a home of its own.
struct House {
    home: TempDir,
    simulator: Simulator,
    owner: Services,
}

impl House {
    async fn new() -> Self {
        let config = SimulatorConfig { behaviour: Behaviour::instant(), ..SimulatorConfig::default() };
        let simulator = Simulator::start(config).await.unwrap();
        simulator.script(QUICK, Script::answering("Gold is heavy."));
        simulator.script(HANGING, Script::fault(Fault::Stall));
        let home = tempfile::tempdir().unwrap();
        let owner = app::wire(&settings(home.path(), &simulator));
        Self { home, simulator, owner }
    }

    /// One whose owner has a small budget, and a preset with a large one.
    async fn with_dear_preset() -> Self {
        let mut house = Self::new().await;
        let written = "budget_usd = 0.0001\n[presets.dear]\nbudget_usd = 20\n";
        let folder = house.home.path().join(".config/parallel-llm-mcp");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), written).unwrap();
        house.owner = app::wire(&settings(house.home.path(), &house.simulator));
        house
    }

    /// The service for the holder of a new token, who comes with the token itself.
    async fn holder(&self, wish: TokenRequest) -> Services {
        let made = self.owner.access.create_token(wish).await.unwrap();
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

fn wish(name: &str) -> TokenRequest {
    let name = name.to_owned();
    TokenRequest { name, scopes: Vec::new(), budget_day: None, requests_per_minute: None, lifetime_ms: None }
}

fn request(model: &str, question: &str) -> RunRequest {
    RunRequest { models: Some(vec![model.to_owned()]), ..RunRequest::prompt(question) }
}

async fn ask(service: &Services, request: RunRequest) -> Result<RunHandle, Failure> {
    service.ask.ask(Question::of(request)).await
}

/// A holder with these scopes, as a door makes one of other things than tokens.
fn granted(scopes: &[Scope]) -> Principal {
    let scopes = scopes.to_vec();
    let grant = Grant { name: "claims/7".to_owned(), scopes, budget_day: None, requests_per_minute: None };
    Principal::TokenHolder(std::sync::Arc::new(grant))
}

/// What one principal has.
struct Tenant {
    name: &'static str,
    service: Services,
    over: String,
    under_way: RunHandle,
    interrupted: String,
}

impl Tenant {
    async fn new(house: &House, name: &'static str, service: Services) -> Self {
        let over = ask(&service, request(QUICK, "How heavy is gold?")).await.unwrap();
        over.wait_closed().await;
        let under_way = ask(&service, request(HANGING, "How heavy is gold?")).await.unwrap();
        let plan = over.with_run(|run| run.plan.clone());
        let interrupted = interrupted(&house.database(), &plan).await;
        Self { name, service, over: over.id().to_string(), under_way, interrupted }
    }

    fn runs(&self) -> [(&'static str, String); 3] {
        [
            ("over", self.over.clone()),
            ("under way", self.under_way.id().to_string()),
            ("interrupted", self.interrupted.clone()),
        ]
    }
}

/// A run like this one that was sent and whose process is gone.
async fn interrupted(database: &Path, plan: &RunPlan) -> String {
    use sqlx::ConnectOptions as _;
    let run_id = RunId::from_parts(plan.run_id.unix_ms() + 60_000, u128::from(plan.run_id.unix_ms()));
    let plan = RunPlan { run_id, plan_hash: format!("interrupted {run_id}"), ..plan.clone() };
    let store = Store::open(StoreConfig::new(database)).await.unwrap();
    let lease = store.open(std::sync::Arc::new(plan)).await.unwrap();
    let attempt = Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 };
    let events = [
        Event::Started { plan_hash: "interrupted".to_owned(), reserved: PicoUsd::ZERO },
        Event::Sent { attempt },
    ];
    let recorded = (1..).zip(events).map(|(seq, event)| Recorded { seq, elapsed_ms: seq, event }).collect();
    store.append(lease, recorded).await.unwrap();
    store.close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(database);
    let sql = "UPDATE runs SET owner = 'elsewhere.1/1/1', lease_until_ms = 0 WHERE run_id = ?";
    let mut stranger = options.connect().await.unwrap();
    sqlx::query(sql).bind(run_id.to_string()).execute(&mut stranger).await.unwrap();
    run_id.to_string()
}

async fn tenants(house: &House) -> [Tenant; 3] {
    let (a, b) = (house.holder(wish("anna")).await, house.holder(wish("bert")).await);
    [
        Tenant::new(house, "owner", house.owner.clone()).await,
        Tenant::new(house, "anna", a).await,
        Tenant::new(house, "bert", b).await,
    ]
}

type Operation = for<'a> fn(&'a Services, &'a str) -> BoxFuture<'a, Result<(), Failure>>;

/// Everything that is done with one run by its name.
const OPERATIONS: &[(&str, Operation)] = &[
    ("find", |service, name| Box::pin(async move { service.runs.find(name).await.map(drop) })),
    ("watch", |service, name| Box::pin(async move { service.runs.watch(name).await.map(drop) })),
    ("load", |service, name| {
        Box::pin(async move { service.runs.load(name.parse().unwrap()).await.map(drop) })
    }),
    ("run_id", |service, name| Box::pin(async move { service.runs.run_id(name).await.map(drop) })),
    ("conversation", |service, name| {
        Box::pin(async move { service.runs.conversation(name).await.map(drop) })
    }),
    ("resume", |service, name| {
        let continuation = Continuation::Resume { resend: true, budget: None };
        Box::pin(async move { service.ask.continue_run(name, continuation).await.map(drop) })
    }),
    ("add", |service, name| {
        let continuation =
            Continuation::Add(RunRequest { models: Some(vec![QUICK.to_owned()]), ..RunRequest::default() });
        Box::pin(async move { service.ask.continue_run(name, continuation).await.map(drop) })
    }),
    ("rewrite", |service, name| {
        let continuation = Continuation::Rewrite(RunRequest {
            synthesizer: Some(QUICK.to_owned()),
            ..RunRequest::default()
        });
        Box::pin(async move { service.ask.continue_run(name, continuation).await.map(drop) })
    }),
    ("give_up", |service, name| Box::pin(async move { service.detached.give_up(name).await })),
    ("export", |service, name| {
        Box::pin(async move { service.runs.export(name.parse().unwrap(), None).await.map(drop) })
    }),
    ("purgeable", |service, name| {
        let doomed = PurgeSelection::Named(vec![name.to_owned()]);
        Box::pin(async move { service.retention.purgeable(&doomed).await.map(drop) })
    }),
    ("purge", |service, name| {
        let doomed = PurgeSelection::Named(vec![name.to_owned()]);
        Box::pin(async move { service.retention.purge(&doomed, |_| ()).await.map(drop) })
    }),
];

/// What is for the owner, whichever run it is about.
const OWNERS: [&str; 3] = ["export", "purgeable", "purge"];

/// A refusal, whole, but for the id that was asked for.
fn told(refused: &Result<(), Failure>, name: &str) -> String {
    match refused {
        Ok(()) => "done".to_owned(),
        Err(failure) => {
            let Failure { code, message, run_id, .. } = failure;
            let told = format!("{code:?}: {message} (next: {}) {run_id:?}", failure.next_step());
            told.replace(name, "<id>")
        }
    }
}

#[tokio::test]
async fn the_runs_of_others_are_word_for_word_as_if_there_were_none() {
    let house = House::new().await;
    let tenants = tenants(&house).await;
    let mut cases = 0;
    for principal in tenants.iter().filter(|tenant| tenant.name != "owner") {
        for (operation, perform) in OPERATIONS {
            let nobodys = told(&perform(&principal.service, NOBODYS).await, NOBODYS);
            let expected = if OWNERS.contains(operation) { "ScopeMissing: " } else { "RunNotFound: " };
            assert!(nobodys.starts_with(expected), "{operation}: {nobodys}");
            for other in tenants.iter().filter(|other| other.name != principal.name) {
                for (kind, id) in other.runs() {
                    let refused = perform(&principal.service, &id).await;
                    let of = format!("{} tries {operation} on {}'s run {kind}", principal.name, other.name);
                    assert_eq!(told(&refused, &id), nobodys, "{of}");
                    // The beginning of an id is as good as the id to whoever may see the run.
                    let beginning = &id[..22];
                    if !matches!(*operation, "load" | "export") {
                        let refused = told(&perform(&principal.service, beginning).await, beginning);
                        let nobodys = perform(&principal.service, &NOBODYS[..22]).await;
                        assert_eq!(refused, told(&nobodys, &NOBODYS[..22]), "{of}, by its beginning");
                    }
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 2 * 12 * 2 * 3);
    for tenant in &tenants {
        // Nothing that was tried has touched them.
        assert!(
            tenant.under_way.with_run(|run| run.status == RunStatus::Running && !run.closed),
            "{}",
            tenant.name
        );
        for (kind, id) in tenant.runs() {
            for (operation, perform) in OPERATIONS.iter().take(4) {
                let own = told(&perform(&tenant.service, &id).await, &id);
                let owners = told(&perform(&house.owner, &id).await, &id);
                assert_eq!(
                    (own.as_str(), owners.as_str()),
                    ("done", "done"),
                    "{} {operation} {kind}",
                    tenant.name
                );
            }
        }
    }
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn lists_searches_and_sums_hold_ones_own_runs_only() {
    let house = House::new().await;
    let tenants = tenants(&house).await;
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
    }
    let stranger = house.owner.acting_for(granted(&Scope::ALL));
    assert_eq!(stranger.runs.list(RunFilter::default()).await.unwrap(), []);
    assert_eq!(told(&stranger.runs.find("@").await.map(drop), "@"), told(&no_runs().await, "@"));
    house.owner.close(Duration::ZERO).await;
}

/// What is said of the newest run where there is none at all.
async fn no_runs() -> Result<(), Failure> {
    let house = House::new().await;
    house.owner.runs.find("@").await.map(drop)
}

#[tokio::test]
async fn the_same_question_of_two_askers_is_two_runs() {
    let house = House::new().await;
    let (a, b) = (house.holder(wish("anna")).await, house.holder(wish("bert")).await);
    let principals = [&a, &b, &house.owner];
    // Under way.
    let mut ids = BTreeSet::new();
    for service in principals {
        let first = ask(service, request(HANGING, "Why?")).await.unwrap();
        let again = ask(service, request(HANGING, "Why?")).await.unwrap();
        assert_eq!((first.id(), again.note().is_some()), (again.id(), true));
        assert_eq!(first.with_run(|run| run.plan.asked_by.clone()).as_deref(), service.principal.name());
        ids.insert(first.id());
    }
    assert_eq!(ids.len(), 3);
    // Under the same key: neither the same run, nor in the way of another question.
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
        let first = service.ask.ask(cached("Old?")).await.unwrap();
        first.wait_closed().await;
        assert_eq!(service.ask.ask(cached("Old?")).await.unwrap().id(), first.id());
        ids.insert(first.id());
    }
    assert_eq!(ids.len(), 9);
    // A holder cannot ask in another's name.
    let posing = RunRequest { asked_by: Some("anna".to_owned()), ..request(QUICK, "Who?") };
    let posed = ask(&b, posing).await.unwrap();
    assert_eq!(posed.with_run(|run| run.plan.asked_by.clone()).as_deref(), Some("bert"));
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_run_that_is_stored_nowhere_is_its_askers_alone() {
    let house = House::new().await;
    let (a, b) = (house.holder(wish("anna")).await, house.holder(wish("bert")).await);
    let unstored = RunRequest { store: Some(StoreMode::None), ..request(QUICK, "Why?") };
    let handle = ask(&a, unstored).await.unwrap();
    handle.wait_closed().await;
    let id = handle.id().to_string();
    assert!(a.runs.find(&id).await.is_ok() && house.owner.runs.find(&id).await.is_ok());
    for (operation, perform) in OPERATIONS {
        let nobodys = told(&perform(&b, NOBODYS).await, NOBODYS);
        assert_eq!(told(&perform(&b, &id).await, &id), nobodys, "{operation}");
    }
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_goes_on_with_its_own_runs_and_gives_up_its_own() {
    let house = House::new().await;
    let anna = Tenant::new(&house, "anna", house.holder(wish("anna")).await).await;
    let continuation = Continuation::Resume { resend: true, budget: None };
    let resumed = anna.service.ask.continue_run(&anna.interrupted, continuation).await.unwrap();
    assert_eq!(resumed.wait_closed().await.status, "complete");
    let KnownRun::Live(seen) = anna.service.runs.find(&anna.under_way.id().to_string()).await.unwrap() else {
        panic!("it is under way")
    };
    // To read is not to give up.
    let reader = house.owner.acting_for(Principal::TokenHolder(std::sync::Arc::new(Grant {
        name: "anna".to_owned(),
        scopes: vec![Scope::Read],
        budget_day: None,
        requests_per_minute: None,
    })));
    let KnownRun::Live(looked_at) = reader.runs.find(&seen.id().to_string()).await.unwrap() else {
        panic!("it is under way")
    };
    looked_at.cancel();
    reader.runs.watch(&seen.id().to_string()).await.unwrap().abort();
    assert!(!looked_at.is_here() && seen.with_run(|run| !run.closed));
    seen.cancel();
    assert_eq!(seen.wait_closed().await.status, "cancelled");
    house.owner.close(Duration::ZERO).await;
}

/// Who may call a function of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// It makes a service or tells what it is made of; doors do not hand it on.
    Wiring,
    /// Anybody who comes with a token.
    Anyone,
    /// Whoever has all of these.
    Scopes(&'static [Scope]),
    /// The owner alone.
    Owner,
}

const ASK: Rule = Rule::Scopes(&[Scope::Ask]);
const READ: Rule = Rule::Scopes(&[Scope::Read]);
const BOTH: Rule = Rule::Scopes(&[Scope::Ask, Scope::Read]);

/// Every public function of the service. What is in no row is not to be there: a new one is for nobody until it is here.
const RULES: &[(&str, Rule)] = &[
    ("Access::check_token", Rule::Anyone),
    ("Access::create_token", Rule::Owner),
    ("Access::find_token", Rule::Owner),
    ("Access::list_tokens", Rule::Owner),
    ("Access::revoke_token", Rule::Owner),
    ("Approvals::ask", Rule::Anyone),
    ("Approvals::fingerprint", Rule::Anyone),
    ("Approvals::redeem", Rule::Anyone),
    ("Asking::ask", ASK),
    ("Asking::begin_order", ASK),
    ("Asking::begin_unapproved", ASK),
    ("Asking::continue_run", BOTH),
    ("Asking::quote", ASK),
    ("Asking::quote_continuation", BOTH),
    ("Database::back_up", Rule::Owner),
    ("Database::check", Rule::Owner),
    ("Database::restore", Rule::Owner),
    ("Detached::give_up", BOTH),
    ("Detached::keep", Rule::Anyone),
    ("Doctor::bundle", Rule::Owner),
    ("Doctor::examine", Rule::Owner),
    ("Doctor::plan_probe", Rule::Owner),
    ("Doctor::probe", Rule::Owner),
    ("History::conversation", READ),
    ("History::export", Rule::Owner),
    ("History::find", READ),
    ("History::interrupted_since", READ),
    ("History::list", READ),
    ("History::load", READ),
    ("History::run_id", READ),
    ("History::run_ids", READ),
    ("History::search", READ),
    ("History::watch", READ),
    ("Importing::read", Rule::Owner),
    ("Models::cached_names", READ),
    ("Models::check", READ),
    ("Models::find", READ),
    ("Models::overview", READ),
    ("Retention::purge", Rule::Owner),
    ("Retention::purgeable", Rule::Owner),
    ("Services::acting_for", Rule::Wiring),
    ("Services::close", Rule::Wiring),
    ("Services::new", Rule::Wiring),
    ("Services::without_checks", Rule::Wiring),
    ("Statistics::costs", READ),
    ("Statistics::insights", READ),
];

/// Calls a function of the service; what it gives does not matter.
async fn call(service: &Services, name: &str) -> Result<(), Failure> {
    let nobodys: RunId = NOBODYS.parse().unwrap();
    let doomed = PurgeSelection::Named(vec![NOBODYS.to_owned()]);
    match name {
        // Nothing of another's can be reached by a word or a handle.
        "Approvals::ask" | "Approvals::fingerprint" | "Approvals::redeem" | "Detached::keep" => Ok(()),
        // What was quoted is all that can be begun.
        "Asking::begin_order" | "Asking::begin_unapproved" => {
            let order = Order::Ask(Question::of(RunRequest::prompt("")));
            service.ask.begin_order(order, Consent::CannotBeAsked).await.map(drop)
        }
        "Detached::give_up" => service.detached.give_up(NOBODYS).await.map(drop),
        "Asking::ask" => ask(service, RunRequest::prompt("")).await.map(drop),
        "Doctor::bundle" => {
            let diagnosis = service.doctor.examine(Depth::Quick).await;
            service.doctor.bundle(&diagnosis).await.map(drop)
        }
        "Access::check_token" => service.access.check_token("plm_").await.map(drop),
        "Statistics::costs" => service.statistics.costs(CostBy::Day, None).await.map(drop),
        "Access::create_token" => service.access.create_token(wish("-")).await.map(drop),
        "Doctor::examine" => {
            let found = service.doctor.examine(Depth::Quick).await.findings;
            let refusal = Failure::new(Code::ScopeMissing, "refused");
            if found.iter().any(|finding| finding.found.contains("no token allows")) {
                Err(refusal)
            } else {
                Ok(())
            }
        }
        "History::conversation" => service.runs.conversation(NOBODYS).await.map(drop),
        "History::export" => service.runs.export(nobodys, None).await.map(drop),
        "History::find" => service.runs.find(NOBODYS).await.map(drop),
        "Models::find" => service.models.find(&ModelQuery::default()).await.map(drop),
        "Access::find_token" => service.access.find_token("x").await.map(drop),
        "Asking::continue_run" => {
            let continuation = Continuation::Resume { resend: false, budget: None };
            service.ask.continue_run(NOBODYS, continuation).await.map(drop)
        }
        "Statistics::insights" => service.statistics.insights(None).await.map(drop),
        "History::interrupted_since" => service.runs.interrupted_since(0).await.map(drop),
        "History::list" => service.runs.list(RunFilter::default()).await.map(drop),
        "Access::list_tokens" => service.access.list_tokens().await.map(drop),
        "History::load" => service.runs.load(nobodys).await.map(drop),
        "Models::cached_names" => service.models.cached_names().await.map(drop),
        "Models::overview" => service.models.overview("").await.map(drop),
        // What was planned is all that can be asked.
        "Doctor::plan_probe" | "Doctor::probe" => service.doctor.plan_probe().await.map(drop),
        "Retention::purge" => service.retention.purge(&doomed, |_| ()).await.map(drop),
        "Retention::purgeable" => service.retention.purgeable(&doomed).await.map(drop),
        "Importing::read" => service.import.read(Path::new("nowhere")).await.map(drop),
        "Database::back_up" => service.database.back_up(Path::new("nowhere/at/all")).await.map(drop),
        "Database::check" => service.database.check(false).await.map(drop),
        "Database::restore" => service.database.restore(Path::new("nowhere")).await.map(drop),
        "Access::revoke_token" => service.access.revoke_token("x").await.map(drop),
        "Models::check" => service.models.check().await.map(drop),
        "History::run_id" => service.runs.run_id(NOBODYS).await.map(drop),
        "History::run_ids" => service.runs.run_ids(None, None).await.map(drop),
        "Asking::quote" => service.ask.quote(Question::of(RunRequest::prompt(""))).await.map(drop),
        "Asking::quote_continuation" => {
            let continuation = Continuation::Resume { resend: false, budget: None };
            service.ask.quote_continuation(NOBODYS, continuation).await.map(drop)
        }
        "History::search" => service.runs.search("gold", 1).await.map(drop),
        "History::watch" => service.runs.watch(NOBODYS).await.map(drop),
        other => panic!("`{other}` is in the table and is not tried"),
    }
}

#[tokio::test]
async fn every_function_asks_for_what_the_table_says() {
    let house = House::new().await;
    let grants: [&[Scope]; 4] = [&[], &[Scope::Ask], &[Scope::Read], &Scope::ALL];
    for (name, rule) in RULES.iter().filter(|(_, rule)| *rule != Rule::Wiring) {
        for scopes in grants {
            let holder = house.owner.acting_for(granted(scopes));
            let refused = call(&holder, name).await.is_err_and(|failure| failure.code == Code::ScopeMissing);
            let allowed = match rule {
                // Whoever may ask may read what it asked for.
                Rule::Scopes(needed) => {
                    needed.iter().all(|scope| scopes.contains(scope) || scopes.contains(&Scope::Ask))
                }
                Rule::Owner => false,
                Rule::Wiring | Rule::Anyone => true,
            };
            assert_eq!(!refused, allowed, "{name} with {scopes:?}");
        }
        let refused = call(&house.owner, name).await.is_err_and(|failure| failure.code == Code::ScopeMissing);
        assert!(!refused, "{name} for the owner");
    }
    let missing = ask(&house.owner.acting_for(granted(&[])), RunRequest::prompt("Why?")).await.map(drop);
    assert_eq!(missing.unwrap_err().message, "this token lacks the scope `ask`");
}

/// The holder of the rooms, and what does something in each.
const ROOMS: [&str; 12] = [
    "Services",
    "Approvals",
    "Detached",
    "Asking",
    "History",
    "Statistics",
    "Retention",
    "Database",
    "Models",
    "Access",
    "Doctor",
    "Importing",
];

/// The names of the functions that anybody outside may call on one of the rooms of a [`Services`].
fn public_functions(folder: &Path, names: &mut BTreeSet<String>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            public_functions(&path, names);
            continue;
        }
        let code = std::fs::read_to_string(&path).unwrap();
        let mut room = None;
        for line in code.lines() {
            match line.strip_prefix("impl ").and_then(|line| line.strip_suffix(" {")) {
                Some(name) => room = ROOMS.into_iter().find(|room| *room == name),
                None if line == "}" => room = None,
                None => {}
            }
            let Some(room) = room else { continue };
            let declared = line.strip_prefix("    pub ").and_then(|rest| rest.split_once("fn "));
            // What is declared `pub(super)` or `pub(crate)` begins otherwise.
            names.extend(
                declared.map(|(_, rest)| format!("{room}::{}", rest.split(['(', '<']).next().unwrap())),
            );
        }
    }
}

#[test]
fn the_table_names_every_public_function_of_the_service() {
    let mut names = BTreeSet::new();
    public_functions(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../parallel-llm-service/src"), &mut names);
    let table: BTreeSet<String> = RULES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names, table);
}

#[tokio::test]
async fn a_holder_can_never_raise_its_own_limits() {
    let house = House::new().await;
    let anna = house.holder(TokenRequest { budget_day: Some(PicoUsd::ZERO), ..wish("anna") }).await;
    let refused = async |request| ask(&anna, request).await.map(drop).map_err(|failure| failure.code);
    assert_eq!(refused(request(QUICK, "Why?")).await, Err(Code::Budget), "nothing is left of nothing");
    let unstored = RunRequest { store: Some(StoreMode::None), ..request(QUICK, "Why?") };
    assert_eq!(refused(unstored).await, Err(Code::Usage), "what is not remembered is not counted");
    assert_eq!(house.simulator.requests().iter().filter(|request| request.path.contains("chat")).count(), 0);

    let bert = house.holder(wish("bert")).await;
    let above = house.owner.settings.budget.plus(PicoUsd::from_usd(1));
    let dear = RunRequest { budget: Some(above), ..request(QUICK, "Why?") };
    let failure = ask(&bert, dear.clone()).await.map(drop).unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (Code::Budget, "a budget of $4.00 is above the owner's setting, which allows $3.00")
    );
    let over = ask(&bert, request(QUICK, "Why?")).await.unwrap();
    over.wait_closed().await;
    for continuation in [
        Continuation::Resume { resend: false, budget: Some(above) },
        Continuation::Add(RunRequest { budget: Some(above), ..request(QUICK, "") }),
        Continuation::Rewrite(RunRequest { budget: Some(above), ..RunRequest::default() }),
    ] {
        let failure =
            bert.ask.continue_run(&over.id().to_string(), continuation).await.map(drop).unwrap_err();
        assert_eq!(failure.code, Code::Budget, "{}", failure.message);
    }
    // A person at the terminal may.
    assert!(ask(&house.owner, dear).await.is_ok());
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_calls_no_server_that_the_owner_has_not_set_up() {
    let house = House::new().await;
    let anna = house.holder(wish("anna")).await;
    let over = ask(&anna, request(QUICK, "Why?")).await.unwrap();
    over.wait_closed().await;
    for name in ["vllm:x", "ollama:x", "lmstudio:x"] {
        let added = Continuation::Add(request(name, ""));
        let refused = [
            ask(&anna, request(name, "Why?")).await.map(drop),
            ask(&anna, RunRequest { synthesizer: Some(name.to_owned()), ..request(QUICK, "Why?") })
                .await
                .map(drop),
            anna.ask.continue_run(&over.id().to_string(), added).await.map(drop),
        ];
        for failure in refused.map(Result::unwrap_err) {
            let provider = name.trim_end_matches(":x");
            assert_eq!(failure.message, format!("`{provider}` is no provider that can be asked here"));
        }
    }
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_preset_of_the_owners_gives_a_holder_no_more_to_spend() {
    let house = House::with_dear_preset().await;
    let anna = house.holder(wish("anna")).await;
    let dear = || Question { preset: Some("dear".to_owned()), ..Question::of(request(QUICK, "Why?")) };
    let failure = anna.ask.ask(dear()).await.map(drop).unwrap_err();
    assert_eq!(failure.code, Code::Budget, "{}", failure.message);
    assert!(house.owner.ask.ask(dear()).await.is_ok(), "it is the owner's own wish");
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_check_command_is_run_for_its_owner_alone() {
    let mut house = House::new().await;
    let folder = house.home.path().join(".config/parallel-llm-mcp");
    std::fs::create_dir_all(&folder).unwrap();
    let ran = house.home.path().join("checked");
    let script = format!("echo x >> '{}'", ran.display());
    let written = format!("check_command = ['/bin/sh', '-c', {script:?}]\nstrategy = 'auto'\n");
    std::fs::write(folder.join("config.toml"), written).unwrap();
    house.owner = app::wire(&settings(house.home.path(), &house.simulator));
    let anna = house.holder(wish("anna")).await;
    let checked =
        || RunRequest { strategy: Some("best-of-n@by=check".to_owned()), ..request(QUICK, "Which design?") };
    let refused = |failure: Failure| (failure.code, format!("{}; {}", failure.message, failure.next_step()));
    let told = "`best-of-n@by=check` runs the owner's check command, which is not available over HTTP; name another strategy, such as `best-of-n`";
    let failure = ask(&anna, checked()).await.map(drop).unwrap_err();
    assert_eq!(refused(failure), (Code::ScopeMissing, told.to_owned()));
    // What is chosen for a holder is not checked either, and nothing turns a run of its own into one that is.
    let handle = ask(&anna, request(QUICK, "Which design?")).await.unwrap();
    assert_eq!(handle.wait_closed().await.strategy, "synthesize");
    let rewrite = Continuation::Rewrite(RunRequest { models: None, ..checked() });
    let failure = anna.ask.continue_run(&handle.id().to_string(), rewrite).await.map(drop).unwrap_err();
    assert_eq!(refused(failure), (Code::ScopeMissing, told.to_owned()));
    // Who reaches a server without a token is no holder, and still not known to be the owner.
    let reached = house.owner.clone().without_checks();
    let failure = ask(&reached, checked()).await.map(drop).unwrap_err();
    assert_eq!(refused(failure), (Code::ScopeMissing, told.to_owned()));
    assert!(!ran.exists());
    let report = ask(&house.owner, checked()).await.unwrap().wait_closed().await;
    assert_eq!((report.checks.len(), report.checks[0].passed), (1, Some(true)), "{}", report.line());
    assert!(ran.exists());
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_writes_no_files_and_is_told_no_path() {
    let house = House::new().await;
    let anna = house.holder(wish("anna")).await;
    let wished = RunRequest { files: Some(true), ..request(QUICK, "Why?") };
    let refused = ask(&anna, wished).await.map(drop).unwrap_err();
    assert_eq!(refused.message, "files are written for the owner of the data folder only");
    let handle = ask(&anna, request(QUICK, "Why?")).await.unwrap();
    let report = handle.wait_closed().await;
    let home = house.home.path().display().to_string();
    assert!(!report.line().contains(&home), "{}", report.line());
    assert!(!house.owner.settings.data_dir.join("runs").join(&report.run_id).exists());
    // The owner may have its files made. Where they are is told to nobody else.
    assert!(
        house
            .owner
            .runs
            .export(handle.id(), None)
            .await
            .unwrap()
            .starts_with(house.owner.settings.data_dir.join("runs"))
    );
    assert!(!anna.runs.load(handle.id()).await.unwrap().report().line().contains(&home));
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_holder_is_warned_of_a_broken_calibration_table_and_not_told_where_it_lies() {
    let house = House::new().await;
    let data_dir = &house.owner.settings.data_dir;
    std::fs::create_dir_all(data_dir).unwrap();
    std::fs::write(data_dir.join("calibration.json"), "{").unwrap();
    let handle = ask(&house.holder(wish("anna")).await, request(QUICK, "Why?")).await.unwrap();
    let (report, plan) = (handle.wait_closed().await, handle.with_run(|run| run.plan.clone()));
    let told = |principal: &Principal| {
        let plan = serde_json::to_string(&*principal.redact_plan(&plan)).unwrap();
        [principal.redact_report(report.clone()).line(), plan]
    };
    let home = house.home.path().display().to_string();
    assert!(told(&Principal::Owner).iter().all(|told| told.contains(&home)));
    let softened =
        |told: &String| !told.contains(&home) && told.contains("a setting of this server cannot be used");
    assert!(told(&granted(&[])).iter().all(softened), "{:?}", told(&granted(&[])));
    house.owner.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_token_lets_in_until_it_is_over_or_revoked() {
    let house = House::new().await;
    let limited = TokenRequest {
        scopes: vec![Scope::Read, Scope::Ask, Scope::Read],
        budget_day: PicoUsd::from_decimal("2.5"),
        requests_per_minute: Some(60),
        ..wish("ci")
    };
    let made = house.owner.access.create_token(limited).await.unwrap();
    let secret = made.secret.expose_secret();
    let principal = house.owner.access.check_token(secret).await.unwrap();
    let expected = Grant {
        name: "ci".to_owned(),
        scopes: Scope::ALL.to_vec(),
        budget_day: PicoUsd::from_decimal("2.5"),
        requests_per_minute: Some(60),
    };
    assert_eq!(principal, Principal::TokenHolder(std::sync::Arc::new(expected)));
    // Another process revokes it.
    let other = app::wire(&settings(house.home.path(), &house.simulator));
    assert_eq!(other.access.revoke_token("ci").await.unwrap().state, TokenState::Revoked);
    let revoked = house.owner.access.check_token(secret).await.unwrap_err();
    let brief = house
        .owner
        .access
        .create_token(TokenRequest { lifetime_ms: Some(1), ..wish("brief") })
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let over = house.owner.access.check_token(brief.secret.expose_secret()).await.unwrap_err();
    let elsewhere = House::new().await;
    let unknown = elsewhere.owner.access.check_token(secret).await.unwrap_err();
    assert_eq!(
        (revoked.code, revoked.message.as_str()),
        (Code::TokenRefused, "this token is unknown, revoked or expired")
    );
    assert_eq!((&revoked, &revoked), (&over, &unknown));
    for mistyped in ["", "plm_", &secret[..52], &secret.to_uppercase(), "Bearer x"] {
        let failure = house.owner.access.check_token(mistyped).await.unwrap_err();
        assert_eq!(failure.message, "this is not a complete token of this server", "{mistyped}");
    }
    let listed = house.owner.access.list_tokens().await.unwrap();
    let told: Vec<_> = listed.iter().map(|token| (token.id, token.name.as_str(), token.state)).collect();
    assert_eq!(told, [(1, "ci", TokenState::Revoked), (2, "brief", TokenState::Expired)]);
    other.close(Duration::ZERO).await;
}

/// Where the program keeps or says anything.
fn everything(folder: &Path, bytes: &mut Vec<u8>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        bytes.extend(path.as_os_str().as_encoded_bytes());
        if path.is_dir() {
            everything(&path, bytes);
        } else {
            bytes.extend(std::fs::read(&path).unwrap());
        }
    }
}

#[tokio::test]
async fn a_token_is_nowhere_but_in_the_hands_of_its_holder() {
    let house = House::new().await;
    let made = house.owner.access.create_token(wish("anna")).await.unwrap();
    let secret = made.secret.expose_secret();
    let mut said = format!("{made:?}").into_bytes();
    let principal = house.owner.access.check_token(secret).await.unwrap();
    said.extend(format!("{principal:?}").into_bytes());
    let anna = house.owner.acting_for(principal);
    let handle = ask(&anna, request(QUICK, "Why?")).await.unwrap();
    said.extend(handle.wait_closed().await.pretty().into_bytes());
    said.extend(format!("{:?}", house.owner.access.list_tokens().await).into_bytes());
    for failure in [
        house.owner.access.check_token(&secret[..52]).await.map(drop).unwrap_err(),
        house.owner.access.find_token(secret).await.map(drop).unwrap_err(),
        house.owner.access.revoke_token(secret).await.map(drop).unwrap_err(),
        house.owner.access.create_token(wish(secret)).await.map(drop).unwrap_err(),
    ] {
        said.extend(format!("{failure:?} {}", failure.next_step()).into_bytes());
    }
    house.owner.access.revoke_token("anna").await.unwrap();
    said.extend(format!("{:?}", house.owner.access.check_token(secret).await).into_bytes());
    for request in house.simulator.requests() {
        said.extend(format!("{request:?}").into_bytes());
    }
    // Before the log of the database is brought home, and after.
    everything(house.home.path(), &mut said);
    house.owner.close(Duration::ZERO).await;
    everything(house.home.path(), &mut said);
    // Its last four characters are shown; no more than those.
    for piece in [&secret[4..16], &secret[20..32], &secret[secret.len() - 6..]] {
        let holds = said.windows(piece.len()).any(|window| window == piece.as_bytes());
        assert!(!holds, "a piece of the token was kept or said");
    }
}
