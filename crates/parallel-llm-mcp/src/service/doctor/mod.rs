//! The doctor: is everything as it must be for a run, and what to do where it is not.
//!
//! A table of checks, done at once. One more check is one more file and one more row. A check looks and tells; it
//! mends nothing, asks no model and pays for nothing. It makes what the first run would make: the data folder and the
//! database, because only so is it known that they can be made.

mod credit;
mod database;
mod folder;
mod keys;
mod local;
mod models;
mod settings;

use std::future::ready;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use serde::Serialize;

use super::Service;

/// A check that has said nothing by then is told as such. The longest one waits 10 s for a program that keeps a key,
/// then twice 5 s for a list of models, and each of them says better what was late.
const CHECK_MAX: Duration = Duration::from_secs(25);

/// A check by its name, and what does it.
struct Check {
    name: &'static str,
    look: fn(&Service) -> BoxFuture<'_, Vec<Finding>>,
}

/// Every check, in the order they are told: what others rest on comes first.
const CHECKS: &[Check] = &[
    Check { name: "settings", look: |service| Box::pin(ready(settings::look(service))) },
    Check { name: "keys", look: |service| Box::pin(keys::look(service)) },
    Check { name: "credit", look: |service| Box::pin(credit::look(service)) },
    Check { name: "models", look: |service| Box::pin(models::look(service)) },
    Check { name: "local servers", look: |service| Box::pin(local::look(service)) },
    Check { name: "data folder", look: |service| Box::pin(folder::look(service)) },
    Check { name: "database", look: |service| Box::pin(database::look(service)) },
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
    pub next: Option<String>,
}

/// What all checks found.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// The version of this shape. Fields are added, never changed.
    pub schema: u32,
    /// The worst of all findings.
    pub state: Health,
    /// What was found, in the order of the checks.
    pub findings: Vec<Finding>,
}

impl Service {
    /// Does every check, all at once.
    pub async fn examine(&self) -> Diagnosis {
        if let Err(failure) = self.asker().check_owner() {
            let refused = Finding::failed(failure.message.clone(), failure.next_step());
            return Diagnosis { schema: 1, state: Health::Failed, findings: vec![refused] };
        }
        let all = join_all(CHECKS.iter().map(|check| check.run(self))).await;
        let findings: Vec<Finding> = all.into_iter().flatten().collect();
        let state = findings.iter().map(|finding| finding.state).max().unwrap_or(Health::Ok);
        Diagnosis { schema: 1, state, findings }
    }
}

impl Check {
    async fn run(&self, service: &Service) -> Vec<Finding> {
        let late = || {
            let found = format!("nothing was found within {} s", CHECK_MAX.as_secs());
            vec![Finding::warning(found, "try again; a disk or a network is slow")]
        };
        let found = tokio::time::timeout(CHECK_MAX, (self.look)(service)).await.unwrap_or_else(|_| late());
        found.into_iter().map(|finding| Finding { check: self.name, ..finding }).collect()
    }
}

impl Finding {
    fn ok(found: impl Into<String>) -> Self {
        Self::of(Health::Ok, found, None)
    }

    fn warning(found: impl Into<String>, next: impl Into<String>) -> Self {
        Self::of(Health::Warning, found, Some(next.into()))
    }

    fn failed(found: impl Into<String>, next: impl Into<String>) -> Self {
        Self::of(Health::Failed, found, Some(next.into()))
    }

    /// The check's name is put in by [`Check::run`], so that no check can go by another's.
    fn of(state: Health, found: impl Into<String>, next: Option<String>) -> Self {
        Self { check: "", state, found: found.into(), next }
    }
}
