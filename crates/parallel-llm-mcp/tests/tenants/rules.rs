//! Who may call each function of the service.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use parallel_llm_engine::{BatchId, Code, Failure, RunId, RunRequest};
use parallel_llm_service::{
    BatchChange, Batches, Consent, Continuation, CostBy, Depth, HistoryPlace, ModelQuery, Order,
    PurgeSelection, Question, RunFilter, RunsQuery, Scope, Services, WorkScope,
};
use tokio_util::sync::CancellationToken;

use parallel_llm_settings::settings::FlowFile;

use super::{Setup, UNKNOWN_ID, ask, granted, token_request};

/// Who may call a function of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// It constructs a service or describes one; doors do not expose it.
    Wiring,
    /// Anybody with a token.
    Anyone,
    /// Anybody with all of these scopes.
    Scopes(&'static [Scope]),
    /// Only the owner.
    Owner,
}

const ASK: Rule = Rule::Scopes(&[Scope::Ask]);
const READ: Rule = Rule::Scopes(&[Scope::Read]);
const METRICS: Rule = Rule::Scopes(&[Scope::Metrics]);
const BOTH: Rule = Rule::Scopes(&[Scope::Ask, Scope::Read]);

/// Every public function of the service. A function that is missing here fails the tests, so nobody may call a new one
/// by accident.
const RULES: &[(&str, Rule)] = &[
    ("Access::check_token", Rule::Anyone),
    ("Access::create_token", Rule::Owner),
    ("Access::find_token", Rule::Owner),
    ("Access::list_tokens", Rule::Owner),
    ("Access::revoke_token", Rule::Owner),
    ("Approvals::ask", Rule::Anyone),
    ("Approvals::fingerprint", Rule::Anyone),
    ("Approvals::redeem", Rule::Anyone),
    ("Asking::begin", BOTH),
    ("Asking::begin_unapproved", ASK),
    ("Asking::begin_with_consent", ASK),
    ("Asking::check_flow", ASK),
    // What a server does by itself, for nobody.
    ("Asking::continue_lost_runs", Rule::Wiring),
    ("Asking::quote", ASK),
    ("Asking::quote_unasked", ASK),
    ("Asking::sketch", ASK),
    ("Batches::change", Rule::Owner),
    ("Batches::find", Rule::Owner),
    ("Batches::get", Rule::Owner),
    ("Batches::list", Rule::Owner),
    ("Batches::remove", Rule::Owner),
    ("Batches::results", Rule::Owner),
    ("Batches::submit", Rule::Owner),
    ("Batches::unanswered", Rule::Owner),
    ("Batches::worker", Rule::Owner),
    ("Database::back_up", Rule::Owner),
    ("Database::check", Rule::Owner),
    ("Database::copy", Rule::Owner),
    ("Database::restore", Rule::Owner),
    ("Detached::give_up", BOTH),
    ("Detached::keep", Rule::Anyone),
    ("Doctor::bundle", Rule::Owner),
    ("Doctor::examine", Rule::Owner),
    ("Doctor::plan_probe", Rule::Owner),
    ("Doctor::probe", Rule::Owner),
    ("History::export", Rule::Owner),
    ("History::find", READ),
    ("History::interrupted_since", READ),
    ("History::list", READ),
    ("History::load", READ),
    ("History::page", READ),
    ("History::run_id", READ),
    ("History::run_ids", READ),
    ("History::search", READ),
    ("History::watch", READ),
    ("Models::cached_names", READ),
    ("Models::check", READ),
    ("Models::find", READ),
    ("Models::is_name", READ),
    ("Models::overview", READ),
    ("Readiness::check", Rule::Anyone),
    ("Retention::purge", Rule::Owner),
    ("Retention::purgeable", Rule::Owner),
    ("Services::abandon", Rule::Wiring),
    ("Services::abandon_within", Rule::Wiring),
    ("Services::acting_for", Rule::Wiring),
    ("Services::attachments", Rule::Wiring),
    ("Services::begin_export", Rule::Wiring),
    ("Services::close", Rule::Wiring),
    ("Services::close_and_live_on", Rule::Wiring),
    ("Services::figures", METRICS),
    ("Services::listens_at", Rule::Wiring),
    ("Services::meter", Rule::Wiring),
    ("Services::new", Rule::Wiring),
    ("Services::with_files", Rule::Wiring),
    ("Services::without_checks", Rule::Wiring),
    ("Statistics::costs", READ),
    ("Statistics::figures", READ),
    ("Statistics::insights", READ),
];

/// Calls a function of the service and ignores what it returns.
async fn call(service: &Services, name: &str) -> Result<(), Failure> {
    let unknown: RunId = UNKNOWN_ID.parse().unwrap();
    let selection = PurgeSelection::Named(vec![UNKNOWN_ID.to_owned()]);
    match name {
        asking if asking.starts_with("Asking::") => call_asking(service, asking).await,
        batches if batches.starts_with("Batches::") => call_batches(&service.batches, batches).await,
        // An approval or a handle reaches nothing of another principal.
        "Approvals::ask" | "Approvals::fingerprint" | "Approvals::redeem" | "Detached::keep" => Ok(()),
        "Detached::give_up" => service.detached.give_up(UNKNOWN_ID).await.map(drop),
        "Doctor::bundle" => {
            let diagnosis = service.doctor.examine(Depth::Quick).await;
            service.doctor.bundle(&diagnosis).await.map(drop)
        }
        "Access::check_token" => service.access.check_token("plm_").await.map(drop),
        "Statistics::costs" => service.statistics.costs(CostBy::Day, None).await.map(drop),
        "Access::create_token" => service.access.create_token(token_request("-")).await.map(drop),
        "Doctor::examine" => {
            let found = service.doctor.examine(Depth::Quick).await.findings;
            let refusal = Failure::new(Code::ScopeMissing, "refused");
            if found.iter().any(|finding| finding.found.contains("no token allows")) {
                Err(refusal)
            } else {
                Ok(())
            }
        }
        "Readiness::check" => {
            service.readiness.check().await.map_err(|reasons| reasons.into_iter().next().unwrap())
        }
        "Services::figures" => service.figures().await.map(drop),
        "History::export" => service.runs.export(unknown, None).await.map(drop),
        "History::find" => service.runs.find(UNKNOWN_ID).await.map(drop),
        "Models::find" => service.models.find(&ModelQuery::default()).await.map(drop),
        "Access::find_token" => service.access.find_token("x").await.map(drop),
        "Statistics::figures" => service.statistics.figures(None).await.map(drop),
        "Statistics::insights" => service.statistics.insights(None).await.map(drop),
        "History::interrupted_since" => service.runs.interrupted_since(0).await.map(drop),
        "History::list" => service.runs.list(RunFilter::default()).await.map(drop),
        "Access::list_tokens" => service.access.list_tokens().await.map(drop),
        "History::load" => service.runs.load(unknown).await.map(drop),
        "Models::cached_names" => service.models.cached_names().await.map(drop),
        "Models::is_name" => service.models.is_name("x").await.map(drop),
        "Models::overview" => service.models.overview("").await.map(drop),
        // Only a probe that was planned can run.
        "Doctor::plan_probe" | "Doctor::probe" => service.doctor.plan_probe().await.map(drop),
        "Retention::purge" => {
            service.retention.purge(&selection, &mut |_| ControlFlow::Continue(())).await.map(drop)
        }
        "Retention::purgeable" => service.retention.purgeable(&selection).await.map(drop),
        "Database::back_up" => service.database.back_up(Path::new("nowhere/at/all")).await.map(drop),
        "Database::check" => service.database.check(false).await.map(drop),
        "Database::copy" => {
            let (from, to) = (HistoryPlace::DataFolder, HistoryPlace::Server);
            service.database.copy(&from, &to).await.map(drop)
        }
        "Database::restore" => service.database.restore(Path::new("nowhere")).await.map(drop),
        "Access::revoke_token" => service.access.revoke_token("x").await.map(drop),
        "Models::check" => service.models.check().await.map(drop),
        "History::run_id" => service.runs.run_id(UNKNOWN_ID).await.map(drop),
        "History::run_ids" => service.runs.run_ids(None, None).await.map(drop),
        "History::page" => service.runs.page(RunsQuery::default()).await.map(drop),
        "History::search" => service.runs.search("gold", 1).await.map(drop),
        "History::watch" => service.runs.watch(UNKNOWN_ID).await.map(drop),
        other => panic!("`{other}` is in the table and is not tried"),
    }
}

/// [`call`] for the functions of batches.
async fn call_batches(batches: &Batches, name: &str) -> Result<(), Failure> {
    let unknown: BatchId = UNKNOWN_ID.parse().unwrap();
    match name {
        "Batches::change" => batches.change(unknown, BatchChange::Pause).await.map(drop),
        "Batches::find" => batches.find(None).await.map(drop),
        "Batches::get" => batches.get(unknown).await.map(drop),
        "Batches::list" => batches.list().await.map(drop),
        "Batches::remove" => batches.remove(unknown).await.map(drop),
        "Batches::results" => batches.results(unknown).await.map(drop),
        "Batches::submit" => batches.submit("x", None).await.map(drop),
        "Batches::unanswered" => batches.unanswered(unknown, true, 1).await.map(drop),
        "Batches::worker" => batches.worker(WorkScope::All, 1, CancellationToken::new()).await.map(drop),
        other => panic!("`{other}` is in the table and is not tried"),
    }
}

/// [`call`] for the functions that begin runs.
async fn call_asking(service: &Services, name: &str) -> Result<(), Failure> {
    let resume = Continuation::Resume { resend: false, budget: None };
    match name {
        // Only an order that was quoted can begin.
        "Asking::begin_with_consent" | "Asking::begin_unapproved" => {
            let order = Order::Ask(Question::of(RunRequest::prompt("")));
            service.ask.begin_with_consent(order, Consent::CannotBeAsked).await.map(drop)
        }
        "Asking::sketch" => service.ask.sketch(Question::of(RunRequest::prompt("Why?"))).await.map(drop),
        "Asking::check_flow" => {
            let file = FlowFile::read(Path::new("none.toml"));
            service.ask.check_flow(&file, RunRequest::prompt("Why?")).await.map(drop)
        }
        // Continuing a run shows what it has.
        "Asking::begin" => service.ask.begin(Order::on(UNKNOWN_ID, resume)).await.map(drop),
        "Asking::quote" => service.ask.quote(Question::of(RunRequest::prompt(""))).await.map(drop),
        "Asking::quote_unasked" => {
            service.ask.quote_unasked(Question::of(RunRequest::prompt(""))).await.map(drop)
        }
        other => panic!("`{other}` is in the table and is not tried"),
    }
}

#[tokio::test]
async fn every_function_requires_the_scopes_of_the_table() {
    let setup = Setup::new().await;
    let grants: [&[Scope]; 5] = [&[], &[Scope::Ask], &[Scope::Read], &[Scope::Metrics], &Scope::ALL];
    for (name, rule) in RULES.iter().filter(|(_, rule)| *rule != Rule::Wiring) {
        for scopes in grants {
            let holder = setup.owner.acting_for(granted(scopes));
            let refused = call(&holder, name).await.is_err_and(|failure| failure.code == Code::ScopeMissing);
            let allowed = match rule {
                // Whoever may ask may also read the result.
                Rule::Scopes(needed) => needed.iter().all(|scope| {
                    scopes.contains(scope) || *scope == Scope::Read && scopes.contains(&Scope::Ask)
                }),
                Rule::Owner => false,
                Rule::Wiring | Rule::Anyone => true,
            };
            assert_eq!(!refused, allowed, "{name} with {scopes:?}");
        }
        let refused = call(&setup.owner, name).await.is_err_and(|failure| failure.code == Code::ScopeMissing);
        assert!(!refused, "{name} for the owner");
    }
    let missing = ask(&setup.owner.acting_for(granted(&[])), RunRequest::prompt("Why?")).await.map(drop);
    assert_eq!(missing.unwrap_err().message, "this token lacks the scope `ask`");
}

/// The type that holds the use cases, and the types of the use cases.
const SERVICE_TYPES: [&str; 13] = [
    "Batches",
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
    "Readiness",
];

/// Collects the names of the public functions of [`Services`] and its use cases.
fn public_functions(folder: &Path, names: &mut BTreeSet<String>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            public_functions(&path, names);
            continue;
        }
        let code = std::fs::read_to_string(&path).unwrap();
        let mut current = None;
        for line in code.lines() {
            match line.strip_prefix("impl ").and_then(|line| line.strip_suffix(" {")) {
                Some(name) => current = SERVICE_TYPES.into_iter().find(|known| *known == name),
                None if line == "}" => current = None,
                None => {}
            }
            let Some(current) = current else { continue };
            let declared = line.strip_prefix("    pub ").and_then(|rest| rest.split_once("fn "));
            // Functions declared `pub(super)` or `pub(crate)` begin differently.
            names.extend(
                declared.map(|(_, rest)| format!("{current}::{}", rest.split(['(', '<']).next().unwrap())),
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
