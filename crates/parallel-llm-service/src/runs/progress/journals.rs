//! The journal of each run: the store, or memory for runs that are not stored.

use parallel_llm_engine::PicoUsd;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parallel_llm_engine::port::memory::MemoryJournal;
use parallel_llm_engine::port::{Journal, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::event::{Attempt, Recorded};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{CallerSlot, Failure, RunId, RunPlan};
use parallel_llm_store::Store;

use crate::lazy::Lazy;

/// Routes each run by its plan's store mode. The store is opened by the first run that needs it.
#[derive(Clone)]
pub struct Journals {
    store: Arc<Lazy<Store>>,
    memory: MemoryJournal,
}

impl Journals {
    /// A journal over this store.
    pub fn new(store: Arc<Lazy<Store>>) -> Self {
        Self { store, memory: MemoryJournal::default() }
    }

    /// The store, if it has the events of this run.
    fn store_of(&self, run_id: RunId) -> Option<&Store> {
        self.store.made().filter(|_| !self.memory.holds(run_id))
    }
}

impl Journal for Journals {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        if plan.store == StoreMode::None {
            return self.memory.open(plan);
        }
        let store = Arc::clone(&self.store);
        Box::pin(async move { store.get().await?.open(plan).await })
    }

    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        let store = Arc::clone(&self.store);
        Box::pin(async move { store.get().await?.reopen(run_id, seq).await })
    }

    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        match self.store_of(lease.run_id) {
            Some(store) => store.append(lease, events),
            None => self.memory.append(lease, events),
        }
    }

    fn may_send(&self, lease: Lease) -> bool {
        self.store_of(lease.run_id).is_none_or(|store| store.may_send(lease))
    }

    fn overtaken(&self, lease: Lease) -> BoxFuture<'static, ()> {
        match self.store_of(lease.run_id) {
            Some(store) => store.overtaken(lease),
            None => self.memory.overtaken(lease),
        }
    }

    fn is_queue(&self) -> bool {
        // Memory takes every append at once.
        self.store.made().is_some_and(Journal::is_queue)
    }

    fn notice(&self, run_id: RunId) -> Option<Warning> {
        self.store_of(run_id)?.notice(run_id)
    }

    fn check_day(
        &self,
        plan: Arc<RunPlan>,
        slot: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        match self.store_of(plan.run_id) {
            Some(store) => store.check_day(plan, slot, worst_case),
            None => self.memory.check_day(plan, slot, worst_case),
        }
    }

    fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        match self.store_of(lease.run_id) {
            Some(store) => store.checkpoint(lease, attempt, text),
            None => self.memory.checkpoint(lease, attempt, text),
        }
    }
}
