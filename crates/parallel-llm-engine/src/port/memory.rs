//! A journal in memory, for runs that are not stored and for tests.
//!
//! It drops a run when the run closes, so its size is bounded by the runs under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use parking_lot::Mutex;

use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::port::{Journal, Lease};
use crate::run::event::{Attempt, EventPhase, Recorded};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::id::RunId;
use crate::value::money::PicoUsd;

/// The events of a run: one entry per commit.
pub type Commits = Vec<Vec<Recorded>>;

/// A journal of the runs under way.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    runs: Arc<Mutex<BTreeMap<RunId, Commits>>>,
    keep_closed: bool,
}

impl MemoryJournal {
    /// A journal that keeps closed runs, for tests.
    pub fn keeping_closed() -> Self {
        Self { keep_closed: true, ..Self::default() }
    }

    /// Whether the run is under way here.
    pub fn holds(&self, run_id: RunId) -> bool {
        self.runs.lock().contains_key(&run_id)
    }

    /// The commits of a run so far.
    pub fn commits(&self, run_id: RunId) -> Commits {
        self.runs.lock().get(&run_id).cloned().unwrap_or_default()
    }
}

impl Journal for MemoryJournal {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        let mut runs = self.runs.lock();
        let lease = Lease { run_id: plan.run_id, epoch: 1, next_seq: 1 };
        let taken = runs.insert(plan.run_id, Commits::new()).is_some();
        let failure = || Failure::new(Code::Storage, format!("the run {} exists already", plan.run_id));
        Box::pin(ready(if taken { Err(failure()) } else { Ok(lease) }))
    }

    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        let commits = self.commits(run_id);
        let lease = match commits.iter().flatten().last() {
            Some(newest) if newest.seq == seq => Ok(Lease { run_id, epoch: 2, next_seq: seq + 1 }),
            Some(_) => Err(Failure::new(Code::Busy, format!("the run {run_id} has continued"))),
            None => Err(Failure::new(Code::RunNotFound, format!("there is no run `{run_id}`"))),
        };
        Box::pin(ready(lease))
    }

    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        let mut runs = self.runs.lock();
        let closes = events.iter().any(|recorded| recorded.event.phase() == EventPhase::Closes);
        if closes && !self.keep_closed {
            runs.remove(&lease.run_id);
        } else {
            runs.entry(lease.run_id).or_default().push(events);
        }
        Box::pin(ready(Ok(())))
    }

    fn check_day(
        &self,
        _: Arc<RunPlan>,
        _: CallerSlot,
        _: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(ready(Ok(())))
    }

    fn checkpoint(&self, _: Lease, _: Attempt, _: String) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(ready(Ok(())))
    }
}
