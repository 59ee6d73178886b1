//! Implements the engine's journal: makes a run's events durable.
//!
//! It refuses a run that is not to be stored; the service gives such a run to the in-memory journal.

use parallel_llm_engine::PicoUsd;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use parallel_llm_engine::port::{Journal, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{CallerSlot, Code, Failure, Recorded, RunId, RunPlan};

use super::store::Store;
use crate::row::new_run::NewRun;
use crate::writer::leases::lease::EPOCH_FIRST;

impl Journal for Store {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        if plan.store == StoreMode::None {
            let message = format!("the run {} is not to be stored, and was given to the store", plan.run_id);
            return ready(Err(Failure::new(Code::Internal, message))).boxed();
        }
        let lease = Lease { run_id: plan.run_id, epoch: EPOCH_FIRST, next_seq: 1 };
        ready(self.shared.writer.runs.open(NewRun::of(plan)).map(|()| lease)).boxed()
    }

    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        let store = self.clone();
        async move { store.shared.writer.take_over(run_id, Some(seq)).await }.boxed()
    }

    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        let store = self.clone();
        async move { store.shared.writer.append(lease, events).await }.boxed()
    }

    fn is_queue(&self) -> bool {
        true
    }

    fn may_send(&self, lease: Lease) -> bool {
        self.shared.writer.leases.holds(lease)
    }

    fn overtaken(&self, lease: Lease) -> BoxFuture<'static, ()> {
        let leases = Arc::clone(&self.shared.writer.leases);
        async move { leases.overtaken(lease).await }.boxed()
    }

    fn notice(&self, run_id: RunId) -> Option<Warning> {
        self.shared.writer.runs.notice(run_id)
    }

    fn check_day(
        &self,
        plan: Arc<RunPlan>,
        slot: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        let store = self.clone();
        async move { store.check_call(&plan, slot, worst_case).await }.boxed()
    }

    fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        let store = self.clone();
        async move { store.shared.writer.checkpoint(lease, attempt, text).await }.boxed()
    }
}
