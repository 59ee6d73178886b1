//! The doctor: checks everything that a run needs, and names a remedy for each problem.
//!
//! All checks are in one table and run concurrently; a new check is a new file and a row. A check reports and repairs
//! nothing, asks no model and costs nothing. It creates what the first run would create, the folders and the database,
//! because only that shows that they can be created. Asking the models themselves ([`probe`]) costs money and so is a
//! run.

mod anonymizer;
mod bundle;
mod clients;
mod clock;
mod collector;
mod credit;
mod database;
mod folder;
mod http;
mod keys;
mod limits;
mod local;
mod log;
mod models;
mod network;
mod probe;
mod program;
mod remedy;
mod settings;
mod system;
mod tokens;

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use parallel_llm_engine::value::next::Vocabulary;
use parallel_llm_engine::{Code, Failure, ProviderId};
use parallel_llm_store::Store;
use serde::Serialize;
use tokio::time::Instant;

use crate::access::Access;
use crate::access::Principal;
use crate::ask::Asking;
use crate::lazy::Lazy;
use crate::models::check::ConfiguredModels;
use crate::models::providers::Providers;
use crate::ports::{FetchCredit, FetchTime, PostTelemetry};
use crate::runs::History;
use parallel_llm_settings::settings::Settings;

pub use probe::{Probe, ProbeReport};
pub use remedy::Remedy;
pub use system::size;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The time limit of checks on this machine; only a disk that hangs takes longer.
const HERE_MAX: Duration = Duration::from_secs(4);
/// The time limit of checks that ask providers. The longest waits 10 s for a key command, then twice 5 s for a list of
/// models, and reports itself which of them was late.
const THERE_MAX: Duration = Duration::from_secs(25);
/// The time limit for opening the database, which waits up to 20 s for other processes, and checking it.
const DATABASE_MAX: Duration = Duration::from_secs(30);

/// The time limit by depth. Only a deep check of the database has a longer one.
const HERE: fn(Depth) -> Duration = |_| HERE_MAX;
const THERE: fn(Depth) -> Duration = |_| THERE_MAX;
const IN_DATABASE: fn(Depth) -> Duration = |depth| match depth {
    Depth::Quick => DATABASE_MAX,
    Depth::Deep => DATABASE_MAX.saturating_add(database::WHOLE_MAX),
};

/// How thorough the checks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// A check of a second or two.
    Quick,
    /// A check of the whole database, however long it takes.
    Deep,
}

/// A check with its name and time limit. A check that is late is reported and delays no other.
struct Check {
    name: &'static str,
    within: fn(Depth) -> Duration,
    examine: fn(&Doctor, Depth) -> BoxFuture<'_, Vec<Finding>>,
}

/// Every check, in the order of the report: what others depend on comes first.
const CHECKS: &[Check] = &[
    Check { name: "program", within: HERE, examine: |_, _| Box::pin(ready(program::examine())) },
    Check { name: "settings", within: HERE, examine: |doctor, _| Box::pin(settings::examine(doctor)) },
    Check { name: "network", within: HERE, examine: |doctor, _| Box::pin(ready(network::examine(doctor))) },
    Check { name: "keys", within: THERE, examine: |doctor, _| Box::pin(keys::examine(doctor)) },
    Check { name: "credit", within: THERE, examine: |doctor, _| Box::pin(credit::examine(doctor)) },
    Check { name: "models", within: THERE, examine: |doctor, _| Box::pin(models::examine(doctor)) },
    Check { name: "local servers", within: THERE, examine: |doctor, _| Box::pin(local::examine(doctor)) },
    Check { name: "collector", within: THERE, examine: |doctor, _| Box::pin(collector::examine(doctor)) },
    Check { name: "clock", within: THERE, examine: |doctor, _| Box::pin(clock::examine(doctor)) },
    Check { name: "data folder", within: HERE, examine: |doctor, _| Box::pin(folder::examine(doctor)) },
    Check { name: "run folder", within: HERE, examine: |doctor, _| Box::pin(folder::examine_output(doctor)) },
    Check {
        name: "database",
        within: IN_DATABASE,
        examine: |doctor, depth| Box::pin(database::examine(doctor, depth)),
    },
    Check { name: "log", within: HERE, examine: |doctor, _| Box::pin(log::examine(doctor)) },
    Check { name: "limits", within: HERE, examine: |doctor, _| Box::pin(ready(limits::examine(doctor))) },
    Check { name: "http", within: HERE, examine: |_, _| Box::pin(http::examine()) },
    Check { name: "tokens", within: HERE, examine: |doctor, _| Box::pin(tokens::examine(doctor)) },
    Check { name: "clients", within: HERE, examine: |doctor, _| Box::pin(clients::examine(doctor)) },
];

/// The state of the checked item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// No problem.
    Ok,
    /// A problem that does not prevent runs.
    Warning,
    /// A problem that prevents runs.
    Failed,
}

impl Health {
    /// The name in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// A finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: &'static str,
    /// The state.
    pub state: Health,
    /// The finding.
    pub found: String,
    /// The remedy; null if none is needed.
    pub next: Option<Remedy>,
    /// The provider that cannot be called because of this finding.
    #[serde(skip)]
    mutes: Option<ProviderId>,
}

/// The findings of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// The version of this format. Fields are added, never changed.
    pub schema: u32,
    /// The version of this program.
    pub version: &'static str,
    /// The worst of all findings.
    pub state: Health,
    /// The duration of the checks, in milliseconds.
    pub elapsed_ms: u64,
    /// The findings in the order of the checks.
    pub findings: Vec<Finding>,
    /// The result of asking each model of the panel; left out if they were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeReport>,
}

/// Checks everything that a run needs, for one principal.
#[derive(Clone)]
pub struct Doctor {
    pub(crate) settings: Arc<Settings>,
    pub(crate) principal: Principal,
    pub(crate) access: Access,
    pub(crate) configured: ConfiguredModels,
    pub(crate) history: History,
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) asking: Asking,
    pub(crate) fetch_credit: Arc<FetchCredit>,
    pub(crate) fetch_time: Arc<FetchTime>,
    pub(crate) post_telemetry: Option<PostTelemetry>,
}

impl Doctor {
    fn providers(&self) -> &Providers {
        &self.configured.lists.providers
    }

    /// Runs all checks concurrently.
    pub async fn examine(&self, depth: Depth) -> Diagnosis {
        let began = Instant::now();
        let findings = match self.principal.check_owner() {
            Ok(()) => join_all(CHECKS.iter().map(|check| check.run(self, depth))).await,
            Err(failure) => vec![vec![Finding::failed(failure.message.clone(), failure.next_steps())]],
        };
        let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let nothing = Vec::new();
        let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
        self.weigh(&mut findings);
        let mut diagnosis = Diagnosis {
            schema: 1,
            version: VERSION,
            state: Health::Ok,
            elapsed_ms,
            findings: nothing,
            probe: None,
        };
        diagnosis.add(findings);
        diagnosis
    }

    /// Raises findings to `failed` if they make every provider of the panel unusable: one usable provider is enough for
    /// a run.
    fn weigh(&self, findings: &mut [Finding]) {
        let named = self.configured.models();
        let panel: BTreeSet<&ProviderId> =
            named.iter().filter(|named| named.is_of_panel()).map(|named| &named.model.provider).collect();
        let mutes = |provider: &ProviderId| findings.iter().any(|it| it.mutes.as_ref() == Some(provider));
        if !panel.iter().copied().all(mutes) {
            return;
        }
        let is_of_panel = |it: &&mut Finding| it.mutes.as_ref().is_some_and(|it| panel.contains(it));
        findings.iter_mut().filter(is_of_panel).for_each(|it| it.state = Health::Failed);
    }
}

/// Whether calls would fail for the same reason. A provider that refuses other requests may still answer questions.
fn blocks_calls(code: &str) -> bool {
    const CODES: [Code; 10] = [
        Code::KeyMissing,
        Code::Auth,
        Code::Forbidden,
        Code::KeyLimit,
        Code::Credits,
        Code::Connection,
        Code::Timeout,
        Code::SettingsInvalid,
        Code::InsecureUrl,
        Code::HostRefused,
    ];
    CODES.iter().any(|one| one.as_str() == code)
}

impl Diagnosis {
    /// Adds findings, such as a door's own.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.state = self.findings.iter().map(|finding| finding.state).max().unwrap_or(Health::Ok);
    }
}

impl Check {
    async fn run(&self, doctor: &Doctor, depth: Depth) -> Vec<Finding> {
        let found = found_within((self.within)(depth), (self.examine)(doctor, depth)).await;
        found.into_iter().map(|finding| Finding { check: self.name, ..finding }).collect()
    }
}

async fn found_within(within: Duration, check: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    tokio::time::timeout(within, check).await.unwrap_or_else(|_| vec![late(within)])
}

fn late(within: Duration) -> Finding {
    let found = format!("nothing was found within {} s", within.as_secs());
    Finding::warning(found, "try again; a disk or a network is slow")
}

/// Runs a check that may wait for a disk on a blocking thread. A panic becomes a finding.
async fn aside(check: impl FnOnce() -> Vec<Finding> + Send + 'static) -> Vec<Finding> {
    tokio::task::spawn_blocking(check).await.unwrap_or_else(|_| {
        vec![Finding::warning("a defect ended this check", "report it, best with `doctor --bundle FILE`")]
    })
}

impl Diagnosis {
    /// The same with its remedies in a door's vocabulary.
    #[must_use]
    pub fn in_vocabulary(mut self, vocabulary: &Vocabulary) -> Self {
        for finding in &mut self.findings {
            finding.next = finding.next.take().map(|next| Remedy::Text(next.render(vocabulary)));
        }
        self
    }
}

impl Finding {
    /// A finding of a check that a door makes itself.
    pub fn described(
        check: &'static str,
        state: Health,
        found: impl Into<String>,
        next: Option<Remedy>,
    ) -> Self {
        Self { check, ..Self::of(state, found, next) }
    }

    fn ok(found: impl Into<String>) -> Self {
        Self::of(Health::Ok, found, None)
    }

    fn warning(found: impl Into<String>, next: impl Into<Remedy>) -> Self {
        Self::of(Health::Warning, found, Some(next.into()))
    }

    fn failed(found: impl Into<String>, next: impl Into<Remedy>) -> Self {
        Self::of(Health::Failed, found, Some(next.into()))
    }

    /// A finding that makes a provider unusable. [`Doctor::weigh`] sets its severity, which depends on the other
    /// providers.
    fn muting(provider: &ProviderId, found: impl Into<String>, next: impl Into<Remedy>) -> Self {
        Self { mutes: Some(provider.clone()), ..Self::warning(found, next) }
    }

    /// The finding for a failed request to a provider, other than a question.
    fn refused(provider: &ProviderId, failure: &Failure) -> Self {
        let mutes = blocks_calls(failure.code.as_str()).then(|| provider.clone());
        Self { mutes, ..Self::warning(failure.message.clone(), failure.next_steps()) }
    }

    /// [`Check::run`] sets the check's name, so that no check can use another's.
    fn of(state: Health, found: impl Into<String>, next: Option<Remedy>) -> Self {
        Self { check: "", state, found: found.into(), next, mutes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_that_hangs_or_panics_is_reported() {
        let found = aside(|| panic!("a defect")).await;
        assert_eq!((found.len(), found[0].state), (1, Health::Warning));
        let hanging = std::future::pending();
        let found = found_within(Duration::from_millis(1), hanging).await;
        assert_eq!((found.len(), found[0].state), (1, Health::Warning));
        assert!(found[0].found.starts_with("nothing was found within "), "{found:?}");
    }
}
