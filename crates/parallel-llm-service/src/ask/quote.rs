//! A quote: what something may cost, known before it is begun.
//!
//! It is resolved once and begun once; until then nothing is paid. What always holds: none is begun whose worst case its
//! budget does not hold.

use parallel_llm_engine::plan::budget;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure, PicoUsd, Reopening, RunPlan};

use super::Asking;
use crate::runs::RunHandle;

/// What something may cost, and what it is allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedCost {
    /// The most it can cost, as far as prices are known.
    pub worst_case: PicoUsd,
    /// The most it may cost: its own budget, else that of its preset, else that of the settings. Without a bound where it
    /// is left to what a run has of its own.
    pub budget: PicoUsd,
}

/// Something that costs money, resolved and sound, whatever it may cost.
pub struct Quote {
    asking: Asking,
    resolved: Resolved,
}

/// What is quoted.
pub(super) enum Resolved {
    /// To wait for a run that is under way.
    Join(RunHandle),
    /// A run.
    Ask {
        plan: Box<RunPlan>,
        /// How old an answer to the very same question may be that is given instead; none is where `None`.
        cache_ms: Option<u64>,
    },
    /// A further part of a run.
    Continue {
        run: Box<Run>,
        part: Box<Reopening>,
        /// Without one of its own it may spend what the run has left of its.
        budget: Option<PicoUsd>,
    },
}

impl Quote {
    pub(super) fn new(asking: &Asking, resolved: Resolved) -> Self {
        Self { asking: asking.clone(), resolved }
    }

    /// What it may cost.
    pub fn cost(&self) -> QuotedCost {
        match &self.resolved {
            Resolved::Join(_) => QuotedCost { worst_case: PicoUsd::ZERO, budget: PicoUsd::MAX },
            Resolved::Ask { plan, .. } => QuotedCost { worst_case: plan.worst_case, budget: plan.budget },
            Resolved::Continue { run, part, budget } => QuotedCost {
                worst_case: part.worst_case(&run.plan, run.chain()),
                budget: budget.unwrap_or(PicoUsd::MAX),
            },
        }
    }

    /// Fails where it may cost more than its budget.
    pub fn check(&self) -> Result<(), Failure> {
        let is_part = matches!(self.resolved, Resolved::Continue { .. });
        let QuotedCost { worst_case, budget } = self.cost();
        budget::check(if is_part { "this part of the run" } else { "the run" }, worst_case, budget)
    }

    /// Begins it, unless it may cost more than its budget.
    pub async fn begin(self) -> Result<RunHandle, Failure> {
        self.check()?;
        let Self { asking, resolved } = self;
        match resolved {
            Resolved::Join(handle) => handle.join().ok_or_else(|| {
                Failure::new(Code::Busy, format!("the run {} was given up a moment ago", handle.id()))
                    .with_run(handle.id())
            }),
            // Boxed, because the same question may be a run to continue, which is begun here too.
            Resolved::Ask { plan, cache_ms } => Box::pin(asking.begin_or_reuse(*plan, cache_ms)).await,
            Resolved::Continue { run, part, budget } => asking.begin_part(*run, *part, budget).await,
        }
    }
}
