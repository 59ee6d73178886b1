//! A run that a visitor looks at: its handle, its events, and whether the visitor can steer it.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Failure, Recorded};
use parallel_llm_service::report::Report;
use parallel_llm_service::{KnownRun, RunHandle};

use crate::visit::Visit;

/// A run that a visitor looks at.
pub(crate) struct Viewed {
    pub(crate) handle: RunHandle,
    pub(crate) can_steer: bool,
    pub(crate) events: Vec<Recorded>,
}

impl Viewed {
    /// The run of this name.
    pub(crate) async fn find(visit: &Visit, name: &str) -> Result<Self, Failure> {
        let handle = match visit.services.runs.find(name).await? {
            KnownRun::Live(handle) => handle,
            KnownRun::Past(past) => {
                let events = past.events.clone();
                return Ok(Self { handle: past.watch(), can_steer: false, events });
            }
        };
        let can_steer = handle.is_here() && visit.may_ask();
        let is_stored = handle.with_run(|run| run.plan.store != StoreMode::None);
        let events = if is_stored { visit.services.runs.load(handle.id()).await?.events } else { Vec::new() };
        Ok(Self { handle, can_steer, events })
    }
}

/// A report in the visitor's words.
pub(crate) fn worded(visit: &Visit, report: Report) -> Report {
    visit.principal().redact_report(report).in_vocabulary(visit.vocabulary())
}
