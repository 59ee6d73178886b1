//! Asking: what a question may cost, beginning it, and continuing a run. What all of it comes to is a run under way.

mod approvals;
mod continuing;
mod detached;
mod fitness;
mod joining;
mod order;
pub(crate) mod plan;
mod quote;
mod repeats;
mod terms;
mod waiting;

use std::sync::Arc;

use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, RunPlan};

use crate::access::Scope;
use crate::lazy::Lazy;
use crate::runs::History;
use crate::runs::{RunHandle, Runs};
use quote::Resolved;

pub(crate) use approvals::OpenApprovals;
pub use approvals::{Approvals, DECISION_MAX, Fingerprint, UnknownApproval};
pub use continuing::Continuation;
pub use detached::Detached;
pub use order::{Begun, Consent, Decision, Excess, Order, Unapproved};
pub(crate) use plan::Planner;
pub use plan::Question;
pub use quote::{Quote, QuotedCost};
pub use waiting::{CLIENT_TIMEOUT_UNKNOWN, Shutdown, Waiting};

/// Questions and further parts of runs, for one principal.
#[derive(Clone)]
pub struct Asking {
    pub(crate) planner: Planner,
    pub(crate) history: History,
    pub(crate) live: Arc<Lazy<Runs>>,
}

impl Asking {
    /// Begins a run. Whatever is wrong is said here, before anything is paid. Where the same question is being answered
    /// already, or was asked under the same idempotency key, that run is given instead.
    pub async fn ask(&self, question: Question) -> Result<RunHandle, Failure> {
        // Boxed, because every door holds what a question waits in, and a plan is large.
        Box::pin(async { self.quote(question).await?.begin().await }).await
    }

    /// Says what a question may cost, without beginning it. Fails where it cannot be asked whatever it costs.
    pub async fn quote(&self, question: Question) -> Result<Quote, Failure> {
        self.planner.principal.check(Scope::Ask)?;
        let cache_ms = question.cache_ms;
        if cache_ms.is_some() {
            // What is in the history is read.
            self.planner.principal.check(Scope::Read)?;
        }
        let plan = self.planner.plan(question).await?;
        Ok(Quote::new(self, Resolved::Ask { plan: Box::new(plan), cache_ms }))
    }

    /// Continues a run. Whatever is wrong is said before anything is paid.
    pub async fn continue_run(&self, name: &str, continuation: Continuation) -> Result<RunHandle, Failure> {
        self.quote_continuation(name, continuation).await?.begin().await
    }

    /// Says what continuing a run may cost, without beginning it. Fails where it cannot be continued whatever it costs.
    pub async fn quote_continuation(&self, name: &str, continuation: Continuation) -> Result<Quote, Failure> {
        // The answers it has are given too.
        self.planner.principal.check(Scope::Ask)?;
        self.planner.principal.check(Scope::Read)?;
        self.resolve_continuation(name, continuation).await
    }

    /// Begins a run that was quoted, or gives the newest answer to the very same question, where one is wanted that is no
    /// older than this.
    pub(super) async fn begin_or_reuse(
        &self,
        plan: RunPlan,
        cache_ms: Option<u64>,
    ) -> Result<RunHandle, Failure> {
        let Some(within_ms) = cache_ms else { return self.begin(plan).await };
        let within_ms = i64::try_from(within_ms).unwrap_or(i64::MAX);
        let asked_by = plan.asked_by.as_deref();
        let same = self.history.store.get().await?.find_same(&plan.plan_hash, asked_by, within_ms).await?;
        let Some(id) = same else { return self.begin(plan).await };
        let note = Failure::new(Code::Repeated, format!("this is the answer of run {id}"));
        let past = self.history.read(id).await?;
        let cost = past.run.cost();
        let handle = self.join(past, plan.budget).await?.spending_since(cost);
        Ok(handle.with_note(Warning::of("nothing was asked anew", &note)))
    }
}
