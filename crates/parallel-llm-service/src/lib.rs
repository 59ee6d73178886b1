//! What the program can do, one file per use case. Doors call it and render what it gives; it knows no door.

mod access;
mod ask;
pub mod attachment;
mod discretion;
mod doctor;
mod import;
mod later;
mod models;
pub mod render;
mod runs;
pub mod telemetry;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::{Failure, ProviderId};
use parallel_llm_provider::{Circuit, Credit};
use parallel_llm_store::Store;

pub use access::{Asker, Grant, Issuer, MadeToken, ReadDocument, Scope, TokenLine, TokenState, TokenWish};
pub use ask::{Further, Proposal, Question, Stake};
pub use discretion::discreet;
pub use doctor::{Depth, Diagnosis, Finding, Health, Probe, ProbeReport, size};
pub use import::{Import, Item, KeyImport};
pub use later::Later;
pub use models::{
    Catalogues, Fetch, FoundModels, KeyUse, ListLine, LocalServer, ModelLine, ModelQuery, ModelSort,
    Overview, Present, RollCall, Standing,
};
pub use parallel_llm_store::{CostBy, Found, FoundIn, Matches, RunFilter, RunSummary, Soundness};
pub use runs::{
    CalibrationFile, Costs, Doomed, Hold, Insights, Journals, Kept, ModelInsight, PastRun, PurgeStage,
    Purging, RunHandle, Runs, Spending, StoreCheck, Verdict, checker, files,
};

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

/// Everything a door may ask for, on behalf of one asker.
#[derive(Clone)]
pub struct Service {
    parts: Arc<Parts>,
    asker: Asker,
    /// Whether the owner may have answers run through the check command.
    checks: bool,
}

/// What a service is made of. What takes time or may fail is made when it is first needed, so that a server
/// starts at once and says what is missing to whoever asks for it.
pub struct Parts {
    /// The settings in force.
    pub settings: Settings,
    /// The configured providers, the default one first.
    pub providers: Vec<ProviderId>,
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

impl Service {
    /// A service of these parts, for the owner of the data folder.
    pub fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts), asker: Asker::Owner, checks: true }
    }

    /// The same service for this asker.
    #[must_use]
    pub fn acting_for(&self, asker: Asker) -> Self {
        Self { parts: Arc::clone(&self.parts), asker, checks: self.checks }
    }

    /// The same service where nobody may have answers checked. Whoever chooses the question has a say in what the check command
    /// is given, and whoever reaches a server need not be who owns the machine.
    #[must_use]
    pub fn without_checks(self) -> Self {
        Self { checks: false, ..self }
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.parts.settings
    }

    /// Where runs' folders lie.
    pub fn output_dir(&self) -> PathBuf {
        let settings = self.settings();
        settings.output_dir.clone().unwrap_or_else(|| settings.data_dir.join("runs"))
    }

    /// Lets the runs under way end, but no longer than this, and closes the store. Runs that do not make it are
    /// found `interrupted` later, with what they had.
    pub async fn close(&self, within: Duration) {
        if let Some(runs) = self.parts.runs.made() {
            runs.drain(within).await;
        }
        if let Some(store) = self.parts.store.made() {
            // What was acknowledged is on the disk already; closing only tidies up.
            let _ = tokio::time::timeout(within.max(CLOSE_MIN), store.close()).await;
        }
    }

    async fn runs(&self) -> Result<&Runs, Failure> {
        self.parts.runs.get().await
    }

    async fn store(&self) -> Result<&Store, Failure> {
        self.parts.store.get().await
    }
}
