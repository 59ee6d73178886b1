//! The doctor with its instruments: what a check may look at, and how it waits for a disk.

use std::sync::Arc;

use parallel_llm_settings::settings::Settings;
use parallel_llm_store::Store;

use super::finding::Finding;
use crate::access::{Access, Principal};
use crate::ask::Asking;
use crate::lazy::Lazy;
use crate::models::check::ConfiguredModels;
use crate::models::providers::Providers;
use crate::ports::{FetchCredit, FetchTime, PostTelemetry};
use crate::runs::History;

/// The version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How thorough the checks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// A check of a second or two.
    Quick,
    /// A check of the whole database, however long it takes.
    Deep,
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
    pub(super) fn providers(&self) -> &Providers {
        &self.configured.lists.providers
    }
}

/// Runs a check that may wait for a disk on a blocking thread. A panic becomes a finding.
pub(super) async fn aside(check: impl FnOnce() -> Vec<Finding> + Send + 'static) -> Vec<Finding> {
    tokio::task::spawn_blocking(check).await.unwrap_or_else(|_| {
        vec![Finding::warning("a defect ended this check", "report it, best with `doctor --bundle FILE`")]
    })
}
