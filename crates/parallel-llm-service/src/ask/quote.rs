//! Quotes: what a run or a part of one may cost, known before it begins.
//!
//! A quote is resolved once and begun once; until then nothing is paid. Invariant: a quote whose worst case
//! is unknown or exceeds its budget is not begun.

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::plan::worst_case::WorstCase;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure, PicoUsd, Reopening, RunId, RunPlan};

use super::Asking;
use crate::runs::RunHandle;

/// What it may cost, and its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedCost {
    /// What it will cost if replies are of the usual length. It decides nothing.
    pub likely: PicoUsd,
    /// The most it can cost.
    pub worst_case: WorstCase,
    /// The budget: its own, else that of its preset, else that of the settings; of a part of a run, what is left of that
    /// run's budget.
    pub budget: PicoUsd,
}

/// A resolved and valid question or continuation, at any cost.
pub struct Quote {
    asking: Asking,
    resolved: Resolved,
}

/// The subject of a quote.
pub(super) enum Resolved {
    /// Begin a run.
    Ask {
        plan: Box<RunPlan>,
        /// The greatest age of a cached answer that may be given instead; `None` for no cached answer.
        cache_ms: Option<u64>,
        /// Why the list is missing that would tell a price that is unknown.
        unlisted: Option<Failure>,
    },
    /// Continue a run.
    Part(Part),
}

/// What continues a run.
pub(super) enum Part {
    /// It is in progress: wait for it.
    Join(RunHandle),
    /// Ask for what it lacks.
    Reopen {
        run: Box<Run>,
        reopening: Box<Reopening>,
        /// The part's own budget; `None` for the rest of the run's.
        budget: Option<PicoUsd>,
    },
}

impl Part {
    fn cost(&self) -> QuotedCost {
        match self {
            Self::Join(_) => {
                QuotedCost { likely: PicoUsd::ZERO, worst_case: WorstCase::ZERO, budget: PicoUsd::UNLIMITED }
            }
            Self::Reopen { run, reopening, budget } => QuotedCost {
                likely: reopening.likely_cost(&run.plan, run.chain()),
                worst_case: reopening.worst_case(&run.plan, run.chain()),
                budget: budget.unwrap_or_else(|| reopening.budget_left(run.so_far())),
            },
        }
    }

    fn check(&self) -> Result<(), Failure> {
        let QuotedCost { worst_case, budget, .. } = self.cost();
        worst_case.check("this part of the run", budget)
    }

    /// Begins it, or fails if the worst case is unknown or exceeds the budget.
    pub(super) async fn begin(self, asking: &Asking) -> Result<RunHandle, Failure> {
        self.check()?;
        match self {
            Self::Join(handle) => handle.join().ok_or_else(|| {
                Failure::new(Code::Busy, format!("the run {} was given up a moment ago", handle.id()))
                    .with_run(handle.id())
            }),
            Self::Reopen { run, reopening, budget } => asking.reopen(*run, *reopening, budget).await,
        }
    }
}

impl Quote {
    pub(super) fn new(asking: &Asking, resolved: Resolved) -> Self {
        Self { asking: asking.clone(), resolved }
    }

    /// The cost and its budget.
    pub fn cost(&self) -> QuotedCost {
        match &self.resolved {
            Resolved::Ask { plan, .. } => QuotedCost {
                likely: plan.likely_cost(),
                worst_case: plan.worst_case.clone(),
                budget: plan.budget,
            },
            Resolved::Part(part) => part.cost(),
        }
    }

    /// The plan of a new run; `None` if a run that is there already answers the question.
    pub fn plan(&self) -> Option<&RunPlan> {
        match &self.resolved {
            Resolved::Ask { plan, .. } => Some(plan),
            Resolved::Part(_) => None,
        }
    }

    /// The stored run whose answer would be given instead of asking, if the caller accepts one and there is one.
    pub async fn cached(&self) -> Result<Option<RunId>, Failure> {
        match &self.resolved {
            Resolved::Ask { plan, cache_ms: Some(within_ms), .. } => {
                self.asking.find_cached(plan, *within_ms).await
            }
            _ => Ok(None),
        }
    }

    /// The same with a budget of at most this.
    #[must_use]
    pub(crate) fn at_most(mut self, limit: PicoUsd) -> Self {
        match &mut self.resolved {
            Resolved::Ask { plan, .. } => plan.budget = plan.budget.min(limit),
            Resolved::Part(Part::Reopen { budget, .. }) => {
                *budget = budget.map(|budget| budget.min(limit));
            }
            Resolved::Part(Part::Join(_)) => {}
        }
        self
    }

    /// Fails if the worst case is unknown or exceeds the budget.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.resolved {
            Resolved::Ask { plan, unlisted, .. } => check_plan(plan, unlisted.as_ref()),
            Resolved::Part(part) => part.check(),
        }
    }

    /// Fails if the limits of the day leave no room for a new run, as beginning it would.
    pub async fn check_day(&self) -> Result<(), Failure> {
        match self.plan() {
            Some(plan) if !plan.limits.is_empty() => {
                self.asking.history.store.get().await?.check_limits(plan).await
            }
            _ => Ok(()),
        }
    }

    /// Begins it, or fails if the worst case is unknown or exceeds the budget.
    pub fn begin(self) -> BoxFuture<'static, Result<RunHandle, Failure>> {
        async move {
            let Self { asking, resolved } = self;
            match resolved {
                Resolved::Ask { plan, cache_ms, unlisted } => {
                    check_plan(&plan, unlisted.as_ref())?;
                    asking.begin_or_reuse(*plan, cache_ms).await
                }
                Resolved::Part(part) => part.begin(&asking).await,
            }
        }
        .boxed()
    }
}

/// Fails if the worst case of a plan is unknown, for the reason why the list is missing that would tell it, or exceeds the budget.
fn check_plan(plan: &RunPlan, unlisted: Option<&Failure>) -> Result<(), Failure> {
    let again = |why: &Failure| why.retryable.then_some(Next::Do(Advice::AskAgain));
    plan.worst_case.check("the run", plan.budget).map_err(|refused| match unlisted {
        Some(why) if refused.code == Code::PriceUnknown => Failure {
            message: format!("{}; {}", refused.message, why.message),
            next: again(why).into_iter().chain(refused.next).collect(),
            ..refused
        },
        _ => refused,
    })
}
