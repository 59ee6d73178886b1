//! The doctor: is everything as it must be for a run, and what to do where it is not.
//!
//! A table of checks, done at once. One more check is one more file and one more row. A check looks and tells; it
//! mends nothing, asks no model and pays for nothing. It makes what the first run would make: the folders and the
//! database, because only so is it known that they can be made. Asking the models themselves is another thing
//! ([`probe`]), which is paid for and so is a run.

mod anonymizer;
mod bundle;
mod clients;
mod clock;
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
use crate::ports::{FetchCredit, FetchTime};
use crate::runs::History;
use parallel_llm_settings::settings::Settings;

pub use probe::{Probe, ProbeReport};
pub use remedy::Remedy;
pub use system::size;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What asks nobody but this machine is done at once; only a disk that hangs takes longer.
const HERE_MAX: Duration = Duration::from_secs(4);
/// For what asks providers. The longest waits 10 s for a program that keeps a key, then twice 5 s for a list of models,
/// and each of them says better what was late.
const THERE_MAX: Duration = Duration::from_secs(25);
/// For opening the database, which waits up to 20 s for others who do it, and looking through it.
const DATABASE_MAX: Duration = Duration::from_secs(30);

/// How long each kind of check may take. Only the database is looked at longer where everything is to be known.
const HERE: fn(Depth) -> Duration = |_| HERE_MAX;
const THERE: fn(Depth) -> Duration = |_| THERE_MAX;
const IN_DATABASE: fn(Depth) -> Duration = |depth| match depth {
    Depth::Quick => DATABASE_MAX,
    Depth::Deep => DATABASE_MAX.saturating_add(database::WHOLE_MAX),
};

/// How far the doctor looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// As far as takes a second or two.
    Quick,
    /// Through the whole database, however long that takes.
    Deep,
}

/// A check by its name, what does it, and how long it may take: one that has said nothing by then is told as such, and
/// holds up nobody else.
struct Check {
    name: &'static str,
    within: fn(Depth) -> Duration,
    look: fn(&Doctor, Depth) -> BoxFuture<'_, Vec<Finding>>,
}

/// Every check, in the order they are told: what others rest on comes first.
const CHECKS: &[Check] = &[
    Check { name: "program", within: HERE, look: |_, _| Box::pin(ready(program::look())) },
    Check { name: "settings", within: HERE, look: |doctor, _| Box::pin(settings::look(doctor)) },
    Check { name: "network", within: HERE, look: |doctor, _| Box::pin(ready(network::look(doctor))) },
    Check { name: "keys", within: THERE, look: |doctor, _| Box::pin(keys::look(doctor)) },
    Check { name: "credit", within: THERE, look: |doctor, _| Box::pin(credit::look(doctor)) },
    Check { name: "models", within: THERE, look: |doctor, _| Box::pin(models::look(doctor)) },
    Check { name: "local servers", within: THERE, look: |doctor, _| Box::pin(local::look(doctor)) },
    Check { name: "clock", within: THERE, look: |doctor, _| Box::pin(clock::look(doctor)) },
    Check { name: "data folder", within: HERE, look: |doctor, _| Box::pin(folder::look(doctor)) },
    Check { name: "run folder", within: HERE, look: |doctor, _| Box::pin(folder::look_at_runs(doctor)) },
    Check {
        name: "database",
        within: IN_DATABASE,
        look: |doctor, depth| Box::pin(database::look(doctor, depth)),
    },
    Check { name: "log", within: HERE, look: |doctor, _| Box::pin(log::look(doctor)) },
    Check { name: "limits", within: HERE, look: |doctor, _| Box::pin(ready(limits::look(doctor))) },
    Check { name: "http", within: HERE, look: |_, _| Box::pin(http::look()) },
    Check { name: "tokens", within: HERE, look: |doctor, _| Box::pin(tokens::look(doctor)) },
    Check { name: "clients", within: HERE, look: |doctor, _| Box::pin(clients::look(doctor)) },
];

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Worth a look; runs are possible.
    Warning,
    /// In the way of a run.
    Failed,
}

impl Health {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// What one check found of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: &'static str,
    /// How it is.
    pub state: Health,
    /// What was found.
    pub found: String,
    /// What to do; null where there is nothing to do.
    pub next: Option<Remedy>,
    /// The provider that no call would reach, or that would refuse every call, for this.
    #[serde(skip)]
    mutes: Option<ProviderId>,
}

/// What all checks found.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// The version of this shape. Fields are added, never changed.
    pub schema: u32,
    /// The version of this program.
    pub version: &'static str,
    /// The worst of all findings.
    pub state: Health,
    /// How long the checks took, in milliseconds.
    pub elapsed_ms: u64,
    /// What was found, in the order of the checks.
    pub findings: Vec<Finding>,
    /// What came of asking each model of the panel; left out where they were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeReport>,
}

/// Looks whether everything is as it must be for a run, for one principal.
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
}

impl Doctor {
    fn providers(&self) -> &Providers {
        &self.configured.lists.providers
    }

    /// Does every check, all at once.
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

    /// One provider that can be asked is enough for a run. Where the panel has none, what is wrong with each of its own is
    /// in the way of every run.
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

/// Whether calls would fail for this, too. Who says nothing of its keys or its models may still answer.
fn is_in_the_way(code: &str) -> bool {
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
    /// Takes in more findings, such as a door's own.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.state = self.findings.iter().map(|finding| finding.state).max().unwrap_or(Health::Ok);
    }
}

impl Check {
    async fn run(&self, doctor: &Doctor, depth: Depth) -> Vec<Finding> {
        let found = found_within((self.within)(depth), (self.look)(doctor, depth)).await;
        found.into_iter().map(|finding| Finding { check: self.name, ..finding }).collect()
    }
}

async fn found_within(within: Duration, looking: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    tokio::time::timeout(within, looking).await.unwrap_or_else(|_| vec![late(within)])
}

fn late(within: Duration) -> Finding {
    let found = format!("nothing was found within {} s", within.as_secs());
    Finding::warning(found, "try again; a disk or a network is slow")
}

/// Does what may wait for a disk where nobody waits for it. Its findings; one of its own where it came to grief.
async fn aside(look: impl FnOnce() -> Vec<Finding> + Send + 'static) -> Vec<Finding> {
    tokio::task::spawn_blocking(look).await.unwrap_or_else(|_| {
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
    /// A finding of a door's own check.
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

    /// Why a provider cannot be asked. How bad that is depends on the others: see [`Doctor::weigh`].
    fn muting(provider: &ProviderId, found: impl Into<String>, next: impl Into<Remedy>) -> Self {
        Self { mutes: Some(provider.clone()), ..Self::warning(found, next) }
    }

    /// What came of asking a provider for something other than an answer.
    fn refused(provider: &ProviderId, failure: &Failure) -> Self {
        let mutes = is_in_the_way(failure.code.as_str()).then(|| provider.clone());
        Self { mutes, ..Self::warning(failure.message.clone(), failure.next_steps()) }
    }

    /// The check's name is put in by [`Check::run`], so that no check can go by another's.
    fn of(state: Health, found: impl Into<String>, next: Option<Remedy>) -> Self {
        Self { check: "", state, found: found.into(), next, mutes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_that_hangs_is_told_and_one_that_breaks_too() {
        let found = aside(|| panic!("a defect")).await;
        assert_eq!((found.len(), found[0].state), (1, Health::Warning));
        let hanging = std::future::pending();
        let found = found_within(Duration::from_millis(1), hanging).await;
        assert_eq!((found.len(), found[0].state), (1, Health::Warning));
        assert!(found[0].found.starts_with("nothing was found within "), "{found:?}");
    }
}
