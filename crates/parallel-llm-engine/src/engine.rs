//! The story of a run, from its plan to its close.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::answer::Failure;
use crate::budget::{self, Budget};
use crate::code::Code;
use crate::deadline::Deadline;
use crate::event::Event;
use crate::gather::{Gathered, Panel};
use crate::live::Hub;
use crate::log::RunLog;
use crate::money::PicoUsd;
use crate::outcome::Outcome;
use crate::panel::{Seat, SeatNumber};
use crate::plan::RunPlan;
use crate::port::{Caller, Journal, Lease};
use crate::retry::RetryBudget;
use crate::run::{Run, SeatStatus, SeatView};
use crate::seat::Desk;
use crate::strategy;

/// Does runs. One serves a whole process; cloning shares it.
#[derive(Clone)]
pub struct Engine {
    caller: Arc<dyn Caller>,
    journal: Arc<dyn Journal>,
    retries: Arc<RetryBudget>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine that calls models and remembers runs this way.
    pub fn new(caller: Arc<dyn Caller>, journal: Arc<dyn Journal>) -> Self {
        Self { caller, journal, retries: Arc::default() }
    }

    /// Takes the right to do a new run. Nothing is sent and nothing is durable before [`Underway::finish`].
    pub async fn open(&self, hub: Arc<Hub>, cancel: CancellationToken) -> Result<Underway, Failure> {
        let plan = hub.look(|run| Arc::clone(&run.plan));
        let lease = self.journal.open(plan).await?;
        Ok(self.underway(hub, cancel, lease))
    }

    /// Takes over a run that was interrupted. Answers it has are not asked for again; a seat of which nobody knows
    /// what came is not sent again either, because it may have been paid.
    pub async fn reopen(&self, hub: Arc<Hub>, cancel: CancellationToken) -> Result<Underway, Failure> {
        let (run_id, seq) = hub.look(|run| (run.plan.run_id, run.seq));
        let lease = self.journal.reopen(run_id).await?;
        if lease.next_seq != seq + 1 {
            // What is known here is not all that happened: seats could be asked again that have answered.
            return Err(Failure::new(Code::Busy, format!("another process has gone on with run {run_id}")));
        }
        Ok(self.underway(hub, cancel, lease))
    }

    fn underway(&self, hub: Arc<Hub>, cancel: CancellationToken, lease: Lease) -> Underway {
        let before = hub.snapshot();
        let plan = Arc::clone(&before.plan);
        let deadline = Deadline::starting_now(&plan.timers, before.elapsed_ms);
        let desk = Desk {
            caller: Arc::clone(&self.caller),
            log: RunLog::new(Arc::clone(&self.journal), Arc::clone(&hub), deadline, lease),
            budget: Budget::new(plan.budget, before.cost().plus(unheard_of(&before))),
            retries: Arc::clone(&self.retries),
            hub,
            deadline,
            cancel,
            plan,
        };
        Underway { desk: Arc::new(desk), before }
    }
}

/// A run that may begin.
pub struct Underway {
    desk: Arc<Desk>,
    /// What had happened before: nothing, for a new run.
    before: Run,
}

impl std::fmt::Debug for Underway {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Underway").field("run_id", &self.desk.plan.run_id).finish_non_exhaustive()
    }
}

impl Underway {
    /// Does the run. Everything that happens is told through its hub, events once they are durable: its answer
    /// is settled with `Decided`; with `Closed`, when this returns, it is over.
    pub async fn finish(self) {
        let Self { desk, before } = self;
        if before.seq == 0 {
            desk.log.stage(Event::Started { plan_hash: desk.plan.hash(), reserved: desk.plan.worst_case });
        }
        let mut panel = Panel::begin(&desk, &before);

        let outcome = match panel.gather().await {
            Gathered::Enough => {
                let mut usable = panel.usable.clone();
                // Sorted, so that the order of arrival leaves no trace.
                usable.sort_by_key(|one| one.seat);
                let deciding = AssertUnwindSafe(strategy::decide(&desk, &usable)).catch_unwind();
                let outcome =
                    panel.meanwhile(deciding).await.unwrap_or_else(|_| strategy::fallback(&desk, &usable));
                Outcome { considered: usable.iter().map(|one| one.seat).collect(), ..outcome }
            }
            Gathered::Nothing => Outcome::none(nobody_answered(&desk.plan, &panel.failures)),
            Gathered::Cancelled => Outcome::none(Failure::new(Code::Cancelled, "the run was cancelled")),
        };
        // What was paid for is given even where it could not be stored; a warning says that it was not.
        let _ = desk.log.append(Event::Decided { outcome }).await;

        panel.rest().await;
        let cost = desk.hub.look(Run::cost);
        let _ = desk.log.append(Event::Closed { cost }).await;
    }
}

/// What the requests nobody heard of may have cost at most, as far as prices are known.
fn unheard_of(before: &Run) -> PicoUsd {
    let plan = &before.plan;
    let worst = |(seat, view): (&Seat, &SeatView)| {
        let input_bytes = plan.input_bytes();
        (view.status == SeatStatus::Unknown).then(|| budget::worst_call(seat, input_bytes)).flatten()
    };
    let panel = plan.seats.iter().zip(&before.seats).filter_map(worst);
    panel.chain(plan.synthesizers.iter().zip(&before.synthesizers).filter_map(worst)).sum()
}

/// One failure that tells every seat's reason. Its code is the seats' own where they all agree.
fn nobody_answered(plan: &RunPlan, failures: &[(SeatNumber, Failure)]) -> Failure {
    // Sorted for the same reason as the answers.
    let mut failures: Vec<&(SeatNumber, Failure)> = failures.iter().collect();
    failures.sort_by_key(|(seat, _)| *seat);
    let reasons: Vec<String> = failures
        .iter()
        .map(|(seat, failure)| format!("{}: {}", plan.seats[seat.index()].model, failure.message))
        .collect();
    let message = format!("no model answered ({})", reasons.join("; "));
    let Some((_, first)) =
        failures.first().filter(|(_, first)| failures.iter().all(|(_, other)| other.code == first.code))
    else {
        return Failure::new(Code::AllFailed, message);
    };
    Failure {
        next: first.next.clone(),
        retry_after_ms: first.retry_after_ms,
        ..Failure::new(first.code, message)
    }
}
