//! [`Services`]: the use cases as small structs, all made for one principal.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::{Failure, ProviderId};
use parallel_llm_settings::settings::{MetricsReach, Settings};
use parallel_llm_store::Store;
use parking_lot::Mutex;

use crate::access::{Access, BrowserSessions, Issuer, Principal, Scope};
use crate::ask::{Approvals, Asking, Detached, Holds, OpenApprovals, Planner};
use crate::attachment::{Attachments, Roots};
use crate::batch::Batches;
use crate::doctor::Doctor;
use crate::lazy::Lazy;
use crate::models::check::ConfiguredModels;
use crate::models::lists::Lists;
use crate::models::providers::Providers;
use crate::models::{Catalogues, Models};
use crate::ports::{CheckKey, Disconnect, FetchCredit, FetchTime, OpenCircuits, PostTelemetry};
use crate::readiness::{Readiness, Verdicts};
use crate::runs::{CalibrationFile, Database, History, Retention, Runs, Statistics};
use crate::telemetry::{LookAround, Meter, Moment, Telemetry};

/// The longest look at a folder for the figures.
const LOOK_MAX: Duration = Duration::from_secs(1);
/// The shortest time limit for closing the store: a checkpoint of its log takes milliseconds.
const CLOSE_MIN: Duration = Duration::from_millis(500);

/// The use cases, each on behalf of one principal.
#[derive(Clone)]
pub struct Services {
    shared: Arc<Shared>,
    checks: bool,
    /// Whether a caller may attach files of the folders that the user has allowed.
    reads_files: bool,
    /// The principal that every use case acts for.
    pub principal: Principal,
    /// The settings in force.
    pub settings: Arc<Settings>,
    /// Asks questions and continues runs.
    pub ask: Asking,
    /// Approvals that users have yet to give.
    pub approvals: Approvals,
    /// Runs that no caller waits for.
    pub detached: Detached,
    /// Runs in progress and stored runs.
    pub runs: History,
    /// Figures over stored runs.
    pub statistics: Statistics,
    /// Files of questions, each worked through as a run.
    pub batches: Batches,
    /// Purges stored runs.
    pub retention: Retention,
    /// The database of the runs.
    pub database: Database,
    /// The models on offer.
    pub models: Models,
    /// Tokens and their scopes.
    pub access: Access,
    /// Browsers that have signed in.
    pub sessions: BrowserSessions,
    /// Checks of the whole set-up.
    pub doctor: Doctor,
    /// Whether the server can take a question.
    pub readiness: Readiness,
}

/// The parts of [`Services`]. Parts that take time or may fail are lazy, so that a server starts at once and reports a
/// missing part to the caller that needs it.
pub struct Parts {
    /// The settings in force.
    pub settings: Settings,
    /// The lists of models.
    pub catalogues: Catalogues,
    /// Checks that a provider has its key.
    pub check_key: CheckKey,
    /// Fetches the credit left on a provider's key.
    pub fetch_credit: FetchCredit,
    /// Lists the models that are not asked for a while.
    pub circuits: OpenCircuits,
    /// An outside issuer whose tokens are accepted.
    pub issuer: Option<Arc<Issuer>>,
    /// Fetches a provider's clock.
    pub fetch_time: FetchTime,
    /// The table that turns agreement into confidence.
    pub calibration: Arc<CalibrationFile>,
    /// The runs in progress.
    pub runs: Lazy<Runs>,
    /// The store of runs.
    pub store: Arc<Lazy<Store>>,
    /// The figures and the export of this process.
    pub telemetry: Arc<Telemetry>,
    /// Reaches the collector of telemetry, if there is one.
    pub post_telemetry: Option<PostTelemetry>,
    /// Closes idle connections to providers.
    pub disconnect: Disconnect,
}

/// The parts that the services of all principals share.
struct Shared {
    settings: Arc<Settings>,
    lists: Lists,
    circuits: Arc<OpenCircuits>,
    look: LookAround,
    issuer: Option<Arc<Issuer>>,
    sessions: BrowserSessions,
    fetch_credit: Arc<FetchCredit>,
    fetch_time: Arc<FetchTime>,
    calibration: Arc<CalibrationFile>,
    live: Arc<Lazy<Runs>>,
    store: Arc<Lazy<Store>>,
    telemetry: Arc<Telemetry>,
    post_telemetry: Option<PostTelemetry>,
    verdict: Arc<Verdicts>,
    disconnect: Disconnect,
    approvals: OpenApprovals,
    detached: Arc<Mutex<Holds>>,
}

impl Services {
    /// Services of these parts, for the owner of the data folder.
    pub fn new(parts: Parts) -> Self {
        let settings = Arc::new(parts.settings);
        let providers = Providers::new(&settings, parts.check_key);
        let circuits = Arc::new(parts.circuits);
        let look = look_around(&parts.store, &circuits);
        let sessions = if settings.in_memory {
            BrowserSessions::in_memory()
        } else {
            BrowserSessions::of_store(Arc::clone(&parts.store))
        };
        parts.telemetry.look_with(Arc::clone(&look));
        let shared = Shared {
            settings,
            lists: Lists { providers, catalogues: Arc::new(parts.catalogues) },
            circuits,
            look,
            issuer: parts.issuer,
            sessions,
            fetch_credit: Arc::new(parts.fetch_credit),
            fetch_time: Arc::new(parts.fetch_time),
            calibration: parts.calibration,
            live: Arc::new(parts.runs),
            store: parts.store,
            telemetry: parts.telemetry,
            post_telemetry: parts.post_telemetry,
            verdict: Arc::default(),
            disconnect: parts.disconnect,
            approvals: OpenApprovals::default(),
            detached: Arc::default(),
        };
        Self::of(Arc::new(shared), Principal::Owner, true)
    }

    /// The same services for a caller that the owner has started on this machine: it may attach files of the folders that
    /// the setting `attach_roots` allows. Without this no path is read for a caller.
    #[must_use]
    pub fn with_files(self) -> Self {
        Self { reads_files: true, ..self }
    }

    /// No attachments, within the limits of the settings.
    pub fn attachments(&self) -> Attachments {
        let none = Attachments::new(self.settings.attachment_bytes_max);
        let may_read = self.reads_files && self.principal == Principal::Owner;
        if may_read { none.with_roots(Roots::new(&self.settings.attach_roots)) } else { none }
    }

    /// The same services for this principal.
    #[must_use]
    pub fn acting_for(&self, principal: Principal) -> Self {
        let reads_files = self.reads_files;
        Self { reads_files, ..Self::of(Arc::clone(&self.shared), principal, self.checks) }
    }

    /// The same services without the user's check command. A caller's question decides part of the command's input, and a
    /// caller of a server need not own the machine.
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
        let detached = Detached { holds: Arc::clone(&shared.detached), history: history.clone() };
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
            post_telemetry: shared.post_telemetry.clone(),
        };
        Self {
            readiness: Readiness {
                live: Arc::clone(&shared.live),
                store: store(),
                verdicts: Arc::clone(&shared.verdict),
            },
            statistics: Statistics {
                store: store(),
                principal: who(),
                budget_day: shared.settings.budget_day,
            },
            batches: Batches { asking: ask.clone(), store: store() },
            retention: Retention { history: history.clone() },
            database: Database { settings: settings(), store: store(), principal: who() },
            models: Models {
                lists: shared.lists.clone(),
                configured: configured.clone(),
                circuits: Arc::clone(&shared.circuits),
                principal: who(),
            },
            settings: settings(),
            runs: history,
            ask,
            approvals: Approvals { all: Arc::clone(&shared.approvals), principal: who() },
            detached,
            access,
            sessions: shared.sessions.clone(),
            doctor,
            shared,
            principal,
            checks,
            reads_files: false,
        }
    }

    /// Notes where this process listens, so that it asks no provider that is itself. Returns the providers of the settings
    /// that are.
    pub fn listens_at(&self, address: SocketAddr, urls: &[String]) -> Vec<ProviderId> {
        let providers = &self.shared.lists.providers;
        providers.own.set(address, urls);
        let own = providers.all().filter(|provider| providers.own.are_of(provider));
        own.map(|provider| provider.id.clone()).collect()
    }

    /// The figures of this process, counted from the first call on.
    pub fn meter(&self) -> &Meter {
        self.shared.telemetry.meter()
    }

    /// The figures as text, for the owner, or for a token that the owner made for them.
    pub async fn figures(&self) -> Result<String, Failure> {
        if self.settings.telemetry.metrics != MetricsReach::Open {
            self.principal.check(Scope::Metrics)?;
        }
        let moment = (self.shared.look)().await;
        Ok(self.meter().text(&moment))
    }

    /// Begins to send figures to the collector, if there is one: a server has figures before its first run.
    pub fn begin_export(&self) {
        self.shared.telemetry.begin_export();
    }

    /// Waits at most this long for the runs in progress, then closes the store. A run that does not end in time is
    /// `interrupted` and keeps its answers.
    pub async fn close(&self, within: Duration) {
        if let Some(runs) = self.shared.live.made() {
            runs.drain(within).await;
        }
        self.close_store(within).await;
    }

    /// Like [`Services::close`] for a process that lives on: the runs that do not end in time are given up and closed. As long
    /// as this process lives, they would count as running, and nobody could resume them.
    pub async fn close_and_live_on(&self, within: Duration) {
        if let Some(runs) = self.shared.live.made() {
            runs.drain_or_give_up(within).await;
        }
        self.close_store(within).await;
    }

    async fn close_store(&self, within: Duration) {
        let closing = async {
            if let Some(store) = self.shared.store.made() {
                // Everything acknowledged is on disk already; closing only truncates the log.
                let _ = tokio::time::timeout(within.max(CLOSE_MIN), store.close()).await;
            }
        };
        tokio::join!(closing, self.shared.telemetry.close(within));
    }

    /// [`Services::abandon`], and waits at most this long for the last events of the runs.
    pub async fn abandon_within(&self, limit: Duration) {
        self.abandon();
        if let Some(runs) = self.shared.live.made() {
            runs.given_up(limit).await;
        }
    }

    /// Gives up every run in progress and closes all connections, for a caller that cannot wait. Answers so far are kept.
    pub fn abandon(&self) {
        if let Some(runs) = self.shared.live.made() {
            runs.abort();
        }
        (self.shared.disconnect)();
    }
}

/// Looks at what the figures need of the store and of the models that are not asked for a while.
fn look_around(store: &Arc<Lazy<Store>>, circuits: &Arc<OpenCircuits>) -> LookAround {
    let (store, circuits) = (Arc::clone(store), Arc::clone(circuits));
    Arc::new(move || {
        let (store, circuits) = (Arc::clone(&store), Arc::clone(&circuits));
        Box::pin(async move {
            let (commit_queue, spill_files) = match store.made() {
                Some(store) => (store.queued(), spill_files(store.clone()).await),
                None => (0, 0),
            };
            let open = circuits().into_iter().map(|circuit| circuit.model.provider.0);
            Moment { commit_queue, spill_files, open_circuits: open.collect() }
        })
    })
}

/// The files that the database has yet to take. Their folder may not answer, and then nothing is known.
async fn spill_files(store: Store) -> usize {
    let counting = tokio::task::spawn_blocking(move || store.spills().waiting.len());
    tokio::time::timeout(LOOK_MAX, counting).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// The parent of the runs' folders.
fn output_dir(settings: &Settings) -> PathBuf {
    settings.output_dir.clone().unwrap_or_else(|| settings.data_dir.join("runs"))
}
