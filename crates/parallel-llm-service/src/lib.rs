//! What the program can do, one file per use case. Doors call it and render what it gives; it knows no door.

mod access;
mod ask;
pub mod attachment;
mod doctor;
mod import;
mod later;
mod models;
mod redaction;
pub mod report;
mod runs;
pub mod telemetry;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::{Failure, ProviderId};
use parallel_llm_provider::{Circuit, Credit};
use parallel_llm_store::Store;

pub use access::{
    Access, Grant, Issuer, MadeToken, Principal, ReadDocument, Scope, TokenLine, TokenState, TokenWish,
};
pub use ask::{
    Approvals, Asking, Begun, CLIENT_TIMEOUT_UNKNOWN, Consent, Continuation, DECISION_MAX, Decision,
    Detached, Excess, Fingerprint, Order, Question, Quote, QuotedCost, Shutdown, Unapproved, UnknownApproval,
    Waiting,
};
pub use doctor::{Depth, Diagnosis, Doctor, Finding, Health, Probe, ProbeReport, Remedy, size};
pub use import::{Import, Importing, Item, KeyImport};
pub use later::Later;
pub use models::{
    Catalogues, CheckedModel, Fetch, FoundModels, KeyUse, ListLine, LocalServer, ModelCheck, ModelLine,
    ModelQuery, ModelSort, ModelState, Models, Overview,
};
pub use parallel_llm_store::{CostBy, Found, FoundIn, Matches, RunFilter, RunSummary, Soundness};
pub use redaction::redacted;
pub use runs::{
    CalibrationFile, Costs, Database, Doomed, History, Hold, Insights, Journals, KnownRun, ModelInsight,
    PastRun, PurgeStage, Purging, Retention, RunHandle, Runs, Spending, Statistics, StoreCheck, Verdict,
    checker, files,
};

use ask::{OpenApprovals, Planner};
use models::check::ConfiguredModels;
use models::lists::Lists;
use models::providers::Providers;
use parallel_llm_settings::settings::Settings;

/// The name of the provider that is always configured.
pub const OPENROUTER: &str = "openrouter";
/// Closing the store is given at least this long: a checkpoint of its log takes milliseconds.
const CLOSE_MIN: Duration = Duration::from_millis(500);

/// Asks a provider what may still be spent with its key; `None` where it cannot say.
pub type FetchCredit =
    Box<dyn Fn(ProviderId) -> BoxFuture<'static, Result<Option<Credit>, Failure>> + Send + Sync>;

/// Tells whether calls to a provider can have a key, where they need one; the failure names what to set.
pub type CheckKey = Box<dyn Fn(ProviderId) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// Asks a provider what time it is, in milliseconds since 1970; `None` where it does not say.
pub type FetchTime =
    Box<dyn Fn(ProviderId) -> BoxFuture<'static, Result<Option<u64>, Failure>> + Send + Sync>;

/// Tells which models are not asked for a while, because they keep failing.
pub type LookAtCircuits = Box<dyn Fn() -> Vec<Circuit> + Send + Sync>;

/// The use cases, each on behalf of one principal.
#[derive(Clone)]
pub struct Services {
    shared: Arc<Shared>,
    checks: bool,
    /// On whose behalf.
    pub principal: Principal,
    /// The settings in force.
    pub settings: Arc<Settings>,
    /// Questions, and further parts of runs.
    pub ask: Asking,
    /// Users' approvals that are waited for.
    pub approvals: Approvals,
    /// Runs whose callers do not wait for them.
    pub detached: Detached,
    /// Runs under way and remembered.
    pub runs: History,
    /// What they come to as numbers.
    pub statistics: Statistics,
    /// What is kept of them.
    pub retention: Retention,
    /// The database they lie in.
    pub database: Database,
    /// The models that can be asked.
    pub models: Models,
    /// Tokens.
    pub access: Access,
    /// Whether everything is as it must be.
    pub doctor: Doctor,
    /// The settings of the Python server.
    pub import: Importing,
}

/// What the services are made of. What takes time or may fail is made when it is first needed, so that a server
/// starts at once and says what is missing to whoever asks for it.
pub struct Parts {
    /// The settings in force.
    pub settings: Settings,
    /// The models known.
    pub catalogues: Catalogues,
    /// Whether a provider has the key it needs.
    pub check_key: CheckKey,
    /// What may still be spent with a provider's key.
    pub fetch_credit: FetchCredit,
    /// Which models are not asked for a while.
    pub circuits: LookAtCircuits,
    /// Somebody besides this program whose tokens are taken.
    pub issuer: Option<Arc<Issuer>>,
    /// What time it is at a provider.
    pub fetch_time: FetchTime,
    /// How often answers that agree are right.
    pub calibration: Arc<CalibrationFile>,
    /// The runs under way.
    pub runs: Later<Runs>,
    /// The runs remembered.
    pub store: Arc<Later<Store>>,
}

/// What the services of all principals have in common.
struct Shared {
    settings: Arc<Settings>,
    lists: Lists,
    circuits: Arc<LookAtCircuits>,
    issuer: Option<Arc<Issuer>>,
    fetch_credit: Arc<FetchCredit>,
    fetch_time: Arc<FetchTime>,
    calibration: Arc<CalibrationFile>,
    live: Arc<Later<Runs>>,
    store: Arc<Later<Store>>,
    approvals: OpenApprovals,
    detached: Arc<Mutex<Vec<Hold>>>,
}

impl Services {
    /// Services of these parts, for the owner of the data folder.
    pub fn new(parts: Parts) -> Self {
        let settings = Arc::new(parts.settings);
        let providers = Providers::new(&settings, parts.check_key);
        let shared = Shared {
            settings,
            lists: Lists { providers, catalogues: Arc::new(parts.catalogues) },
            circuits: Arc::new(parts.circuits),
            issuer: parts.issuer,
            fetch_credit: Arc::new(parts.fetch_credit),
            fetch_time: Arc::new(parts.fetch_time),
            calibration: parts.calibration,
            live: Arc::new(parts.runs),
            store: parts.store,
            approvals: OpenApprovals::default(),
            detached: Arc::default(),
        };
        Self::of(Arc::new(shared), Principal::Owner, true)
    }

    /// The same services for this principal.
    #[must_use]
    pub fn acting_for(&self, principal: Principal) -> Self {
        Self::of(Arc::clone(&self.shared), principal, self.checks)
    }

    /// The same services where nobody may have answers checked. Whoever chooses the question has a say in what the check
    /// command is given, and whoever reaches a server need not be who owns the machine.
    #[must_use]
    pub fn without_checks(self) -> Self {
        Self::of(self.shared, self.principal, false)
    }

    fn of(shared: Arc<Shared>, principal: Principal, checks: bool) -> Self {
        let who = || principal.clone();
        let (settings, store) = (|| Arc::clone(&shared.settings), || Arc::clone(&shared.store));
        let configured = ConfiguredModels { lists: shared.lists.clone() };
        let history = History {
            store: store(),
            live: Arc::clone(&shared.live),
            calibration: Arc::clone(&shared.calibration),
            output_dir: output_dir(&shared.settings),
            principal: who(),
        };
        let planner = Planner {
            principal: who(),
            checks,
            lists: shared.lists.clone(),
            calibration: Arc::clone(&shared.calibration),
        };
        let ask = Asking { planner, history: history.clone(), live: Arc::clone(&shared.live) };
        let detached = Detached { all: Arc::clone(&shared.detached), history: history.clone() };
        let issuer = shared.issuer.clone();
        let access = Access { settings: settings(), store: store(), issuer, principal: who() };
        let doctor = Doctor {
            settings: settings(),
            principal: who(),
            access: access.clone(),
            configured: configured.clone(),
            history: history.clone(),
            store: store(),
            asking: ask.clone(),
            fetch_credit: Arc::clone(&shared.fetch_credit),
            fetch_time: Arc::clone(&shared.fetch_time),
        };
        Self {
            statistics: Statistics { store: store(), principal: who() },
            retention: Retention { history: history.clone() },
            database: Database { settings: settings(), store: store(), principal: who() },
            models: Models {
                lists: shared.lists.clone(),
                configured: configured.clone(),
                circuits: Arc::clone(&shared.circuits),
                principal: who(),
            },
            import: Importing { settings: settings(), principal: who(), configured },
            settings: settings(),
            runs: history,
            ask,
            approvals: Approvals { all: Arc::clone(&shared.approvals), principal: who() },
            detached,
            access,
            doctor,
            shared,
            principal,
            checks,
        }
    }

    /// Lets the runs under way end, but no longer than this, and closes the store. Runs that do not make it are
    /// found `interrupted` later, with what they had.
    pub async fn close(&self, within: Duration) {
        if let Some(runs) = self.shared.live.made() {
            runs.drain(within).await;
        }
        if let Some(store) = self.shared.store.made() {
            // What was acknowledged is on the disk already; closing only tidies up.
            let _ = tokio::time::timeout(within.max(CLOSE_MIN), store.close()).await;
        }
    }
}

/// Where runs' folders lie.
fn output_dir(settings: &Settings) -> PathBuf {
    settings.output_dir.clone().unwrap_or_else(|| settings.data_dir.join("runs"))
}
