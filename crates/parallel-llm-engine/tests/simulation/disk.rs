//! The journal that survives a process, and a disk that is slow, breaks, or kills its process.

use parallel_llm_engine::PicoUsd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parallel_llm_engine::plan::RunPlan;
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::port::{Journal, Lease};
use parallel_llm_engine::run::event::{Attempt, Recorded};
use parallel_llm_engine::{Code, Failure, RunId};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::simulation::process::{Crash, CrashMoment};
use crate::transcript;

#[derive(Default)]
struct Kept {
    commits: Vec<Vec<Recorded>>,
    epoch: u64,
}

/// What survives a process: the commits and the newest lease.
#[derive(Clone, Default)]
pub(super) struct Durable(Arc<Mutex<Kept>>);

impl Durable {
    pub(super) fn commits(&self) -> Vec<Vec<Recorded>> {
        self.kept().commits.clone()
    }

    pub(super) fn events(&self) -> Vec<Recorded> {
        self.kept().commits.concat()
    }

    fn next_seq(&self) -> u64 {
        self.kept().commits.iter().flatten().last().map_or(1, |recorded| recorded.seq + 1)
    }

    fn lease(&self, run_id: RunId) -> Lease {
        let next_seq = self.next_seq();
        let mut kept = self.kept();
        kept.epoch += 1;
        Lease { run_id, epoch: kept.epoch, next_seq }
    }

    /// Makes events durable as a store would: numbered without gaps, and only by the newest process.
    fn keep(&self, lease: Lease, events: Vec<Recorded>) -> Result<(), String> {
        let next = self.next_seq();
        let numbers = events.iter().map(|recorded| recorded.seq);
        if !numbers.eq(next..next + events.len() as u64) || events.is_empty() {
            return Err(format!("events are numbered on from {next}: {events:?}"));
        }
        if lease.epoch != self.kept().epoch {
            return Err("a process that was overtaken writes".to_owned());
        }
        self.kept().commits.push(events);
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The disk of one process.
pub(super) struct Disk {
    pub(super) durable: Durable,
    pub(super) ledger: Ledger,
    pub(super) commit_ms: u64,
    pub(super) breaks_at: Option<usize>,
    pub(super) crash: Option<Crash>,
    /// Notified when the process has to die.
    pub(super) died: Arc<Notify>,
    pub(super) state: Mutex<DiskState>,
}

/// What was observed at a disk.
#[derive(Default)]
pub(super) struct DiskState {
    appends: usize,
    pub(super) broke: bool,
    /// Forbidden uses of the journal. They are collected, because a panic here could be taken for one of a call.
    pub(super) complaints: Vec<String>,
}

impl Disk {
    pub(super) fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the process dies at this append, and after how long.
    fn fate(&self, append: usize) -> Option<(CrashMoment, Duration)> {
        match self.crash {
            Some(Crash::Commit { commit, kind, ms }) if commit == append => {
                Some((kind, Duration::from_millis(ms)))
            }
            _ => None,
        }
    }

    fn keep(&self, lease: Lease, events: Vec<Recorded>) {
        let names: Vec<String> = events.iter().map(|recorded| transcript::short(&recorded.event)).collect();
        if let Err(complaint) = self.durable.keep(lease, events) {
            self.state().complaints.push(complaint);
        }
        self.ledger.note(format_args!("durable: {}", names.join(", ")));
    }

    async fn append(self: Arc<Self>, lease: Lease, events: Vec<Recorded>) -> Result<(), Failure> {
        let append = {
            let mut state = self.state();
            state.appends += 1;
            state.appends
        };
        if self.breaks_at.is_some_and(|from| append >= from) {
            self.state().broke = true;
            return Err(Failure::new(Code::Storage, "the disk is full"));
        }
        let fate = self.fate(append);
        match fate {
            Some((CrashMoment::Before, _)) => return self.die().await,
            Some((kind @ (CrashMoment::MiddleLost | CrashMoment::MiddleKept), wait)) => {
                sleep(wait).await;
                if kind == CrashMoment::MiddleKept {
                    self.keep(lease, events);
                }
                return self.die().await;
            }
            _ => {}
        }
        if self.commit_ms > 0 {
            sleep(Duration::from_millis(self.commit_ms)).await;
        }
        self.keep(lease, events);
        if fate.is_some() {
            self.died.notify_one();
        }
        Ok(())
    }

    /// The process dies before this append is acknowledged.
    async fn die(&self) -> Result<(), Failure> {
        self.died.notify_one();
        std::future::pending().await
    }
}

/// The journal as seen by one process.
pub(super) struct ProcessJournal(pub(super) Arc<Disk>);

impl Journal for ProcessJournal {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        let lease = self.0.durable.lease(plan.run_id);
        async move { Ok(lease) }.boxed()
    }

    fn reopen(&self, run_id: RunId, _: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        let lease = self.0.durable.lease(run_id);
        async move { Ok(lease) }.boxed()
    }

    fn check_day(
        &self,
        _: Arc<RunPlan>,
        _: CallerSlot,
        _: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        Arc::clone(&self.0).append(lease, events).boxed()
    }

    fn checkpoint(&self, _: Lease, _: Attempt, _: String) -> BoxFuture<'static, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }
}
