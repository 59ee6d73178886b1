//! What is at stake: the most that something may cost, known before it is begun.
//!
//! A proposal is resolved once and begun once; until then nothing is paid. What always holds: none is begun whose worst case
//! its budget does not hold.

use parallel_llm_engine::plan::budget;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure, PicoUsd, Reopening, RunPlan};

use crate::{RunHandle, Service};

/// What something may cost, and what it is allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stake {
    /// The most it can cost, as far as prices are known.
    pub worst_case: PicoUsd,
    /// The most it may cost: its own budget, else that of its preset, else that of the settings. Without a bound where it
    /// is left to what a run has of its own.
    pub budget: PicoUsd,
}

/// Something that costs money, resolved and sound, whatever it may cost.
pub struct Proposal {
    service: Service,
    what: What,
}

/// What is proposed.
pub(crate) enum What {
    /// To wait for a run that is under way.
    Join(RunHandle),
    /// A run, unless the very same was answered so many milliseconds ago at most.
    Ask(Box<RunPlan>, Option<u64>),
    /// A further part of a run. Without a budget of its own it may spend what the run has left of its.
    GoOn(Box<Run>, Box<Reopening>, Option<PicoUsd>),
}

impl Proposal {
    pub(crate) fn new(service: &Service, what: What) -> Self {
        Self { service: service.clone(), what }
    }

    /// What is at stake.
    pub fn stake(&self) -> Stake {
        match &self.what {
            What::Join(_) => Stake { worst_case: PicoUsd::ZERO, budget: PicoUsd::MAX },
            What::Ask(plan, _) => Stake { worst_case: plan.worst_case, budget: plan.budget },
            What::GoOn(run, reopening, budget) => Stake {
                worst_case: reopening.worst_case(&run.plan, run.chain()),
                budget: budget.unwrap_or(PicoUsd::MAX),
            },
        }
    }

    /// Fails where it may cost more than its budget.
    pub fn check(&self) -> Result<(), Failure> {
        let what = if matches!(self.what, What::GoOn(..)) { "this part of the run" } else { "the run" };
        let Stake { worst_case, budget } = self.stake();
        budget::check(what, worst_case, budget)
    }

    /// Begins it, unless it may cost more than its budget.
    pub async fn begin(self) -> Result<RunHandle, Failure> {
        self.check()?;
        let Self { service, what } = self;
        match what {
            What::Join(handle) => handle.join().ok_or_else(|| {
                Failure::new(Code::Busy, format!("the run {} was given up a moment ago", handle.id()))
                    .with_run(handle.id())
            }),
            // Boxed, because the same question may be a run to go on with, which is begun here too.
            What::Ask(plan, cache_ms) => Box::pin(service.begin_asking(*plan, cache_ms)).await,
            What::GoOn(run, reopening, budget) => service.begin_part(*run, *reopening, budget).await,
        }
    }
}
