//! Asking: quotes, new runs and continued runs.

mod approvals;
mod continuing;
mod conversation;
mod detached;
mod fitness;
pub mod form;
mod joining;
mod lost;
mod order;
pub(crate) mod plan;
mod quote;
mod repeats;
mod terms;
mod waiting;

use futures_util::future::{BoxFuture, FutureExt as _};
use std::sync::Arc;

use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, RunId, RunPlan, RunRequest};
use parallel_llm_settings::settings::{FlowErrors, FlowFile};

use crate::access::Scope;
use crate::lazy::Lazy;
use crate::runs::History;
use crate::runs::{RunHandle, Runs};

pub(crate) use approvals::OpenApprovals;
pub use approvals::{Approvals, DECISION_MAX, Fingerprint, UnknownApproval};
pub use continuing::Continuation;
pub use detached::Detached;
pub(crate) use detached::Holds;
pub use order::{Begun, Consent, ConsentReply, Decision, Excess, Order, Unapproved};
use plan::Planned;
pub(crate) use plan::Planner;
pub use plan::Question;
use quote::Resolved;
pub use quote::{Quote, QuotedCost};
pub use waiting::{CLIENT_TIMEOUT_UNKNOWN, Leaving, Shutdown, Waiting};

/// Asks questions and continues runs, for one principal.
#[derive(Clone)]
pub struct Asking {
    pub(crate) planner: Planner,
    pub(crate) history: History,
    pub(crate) live: Arc<Lazy<Runs>>,
}

impl Asking {
    /// Begins an order within its own budget, whatever the settings allow: for callers who decide on that. Fails before anything
    /// is paid. If the same question is in progress, or was asked with the same
    /// idempotency key, returns that run.
    pub async fn begin(&self, order: impl Into<Order>) -> Result<RunHandle, Failure> {
        self.quote(order).await?.begin().await
    }

    /// The quote of an order. Fails if it cannot be begun at any cost.
    pub fn quote(&self, order: impl Into<Order>) -> BoxFuture<'_, Result<Quote, Failure>> {
        let order = order.into();
        async move {
            self.planner.principal.check(Scope::Ask)?;
            let resolved = match order {
                Order::Ask(question) => self.resolve_question(question).await?,
                Order::Continue { run, continuation } => {
                    // The result includes its earlier answers.
                    self.planner.principal.check(Scope::Read)?;
                    Resolved::Part(self.resolve_part(&run, continuation).await?)
                }
            };
            Ok(Quote::new(self, resolved))
        }
        .boxed()
    }

    async fn resolve_question(&self, question: Question) -> Result<Resolved, Failure> {
        let cache_ms = question.cache_ms;
        if cache_ms.is_some() {
            // A cached answer is read from the history.
            self.planner.principal.check(Scope::Read)?;
        }
        // A repeated question needs no room, and only its key can tell it from others before it is planned.
        if question.request.idempotency_key.is_none() && cache_ms.is_none() {
            self.check_room()?;
        }
        let conversation = match &question.continues {
            Some(run) => Some(self.conversation(run, &question.request).await?),
            None => None,
        };
        let Planned { plan, unlisted } = self.planner.plan(question, conversation).await?;
        Ok(Resolved::Ask { plan: Box::new(plan), cache_ms, unlisted })
    }

    /// Fails if there is no room for a run, which is cheaper to find out than to plan it.
    fn check_room(&self) -> Result<(), Failure> {
        let asked_by = self.planner.principal.name();
        self.live.made().map_or(Ok(()), |runs| runs.check_room(asked_by))
    }

    /// The plan of a question that nobody asks yet: to show a preset or a flow. It needs no key, and its worst case may
    /// exceed its budget.
    pub fn sketch(&self, question: Question) -> BoxFuture<'_, Result<RunPlan, Failure>> {
        async move {
            self.planner.principal.check(Scope::Ask)?;
            self.planner.sketch(question).await
        }
        .boxed()
    }

    /// The plan of the flow in a file, as [`Asking::sketch`] makes it of a question, or every mistake in the file.
    pub fn check_flow<'a>(
        &'a self,
        file: &'a FlowFile,
        request: RunRequest,
    ) -> BoxFuture<'a, Result<Result<RunPlan, FlowErrors>, Failure>> {
        async move {
            self.planner.principal.check(Scope::Ask)?;
            Ok(match &file.flow {
                Ok(flow) => self.planner.check_flow(flow, request).await,
                Err(errors) => Err(errors.clone()),
            })
        }
        .boxed()
    }

    /// Begins a quoted run, or returns the newest run of the very same question that is at most `cache_ms` old.
    pub(super) async fn begin_or_reuse(
        &self,
        plan: RunPlan,
        cache_ms: Option<u64>,
    ) -> Result<RunHandle, Failure> {
        let Some(within_ms) = cache_ms else { return self.begin_run(plan).await };
        let Some(id) = self.find_cached(&plan, within_ms).await? else { return self.begin_run(plan).await };
        let note = Failure::new(Code::Repeated, format!("this is the answer of run {id}"));
        let past = self.history.read(id).await?;
        let cost = past.run.cost();
        let handle = self.join(past, plan.budget).await?.spending_since(cost);
        Ok(handle.with_note(Warning::of("nothing was asked again", &note)))
    }

    /// The newest run of the very same question that is at most this old.
    pub(super) async fn find_cached(&self, plan: &RunPlan, within_ms: u64) -> Result<Option<RunId>, Failure> {
        let within_ms = i64::try_from(within_ms).unwrap_or(i64::MAX);
        let asked_by = plan.asked_by.as_deref();
        self.history.store.get().await?.find_same(&plan.plan_hash, asked_by, within_ms).await
    }
}
