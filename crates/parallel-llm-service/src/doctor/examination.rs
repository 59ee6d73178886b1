//! The examination: all checks are in one table and run concurrently; a new check is a new file and a row.

use std::collections::BTreeSet;
use std::future::ready;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use parallel_llm_engine::ProviderId;
use tokio::time::Instant;

use super::diagnosis::Diagnosis;
use super::finding::{Finding, Health};
use super::instruments::{Depth, Doctor, VERSION};
use super::machine::{clients, database, folder, http, limits, log, program, settings, tokens};
use super::servers::{clock, collector, credit, keys, local, models, network};

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

impl Doctor {
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

#[cfg(test)]
mod tests {
    use super::super::instruments::aside;
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
