//! A run from its plan to its close: open or reopen it, gather answers, decide, close.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::call::deadline::Deadline;
use crate::call::hub::Hub;
use crate::call::log::RunLog;
use crate::call::reconcile;
use crate::call::retry::RetryBudget;
use crate::call::run_context::RunContext;
use crate::call::stop::Stop;
use crate::call::text_budget::{TEXT_BYTES_MAX, TextBudget};
use crate::panel::gather::{Gathered, Panel};
use crate::plan::RunPlan;
use crate::plan::budget::Budget;
use crate::port::{Caller, Checker, Journal, Lease};
use crate::request::panel::SeatNumber;
use crate::run::Run;
use crate::run::event::Event;
use crate::run::outcome::Outcome;
use crate::run::reopening::Reopening;
use crate::strategy::{self, Answers, annotate};
use crate::value::answer::{Failure, by_reason};
use crate::value::code::Code;
use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::Mutex;
use tokio::time::sleep_until;

/// Executes runs. One engine serves a whole process; clones share it.
#[derive(Clone)]
pub struct Engine {
    caller: Arc<dyn Caller>,
    journal: Arc<dyn Journal>,
    checker: Option<Arc<dyn Checker>>,
    retries: Arc<RetryBudget>,
    text_budget: TextBudget,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine that calls models with `caller` and records runs in `journal`.
    pub fn new(caller: Arc<dyn Caller>, journal: Arc<dyn Journal>) -> Self {
        let text_budget = TextBudget::new(TEXT_BYTES_MAX);
        Self { caller, journal, checker: None, retries: Arc::default(), text_budget }
    }

    /// Sets the checker for strategies that check answers.
    #[must_use]
    pub fn with_checker(self, checker: Option<Arc<dyn Checker>>) -> Self {
        Self { checker, ..self }
    }

    /// Sets how many bytes of text all runs may hold together before they take turns.
    #[must_use]
    pub fn with_text_bytes_max(self, text_bytes_max: usize) -> Self {
        Self { text_budget: TextBudget::new(text_bytes_max), ..self }
    }

    /// Sets how many bytes of text one run may hold before its answers are cut.
    #[must_use]
    pub fn with_run_text_bytes_max(self, run_bytes_max: usize) -> Self {
        Self { text_budget: self.text_budget.with_run_bytes_max(run_bytes_max), ..self }
    }

    /// Begins a new run. When this returns, its plan and its first requests are durable, but no request has left. So a run
    /// that the journal refuses costs nothing.
    pub fn open(&self, hub: Arc<Hub>, stop: Stop) -> BoxFuture<'static, Result<Underway, Failure>> {
        let engine = self.clone();
        async move {
            let before = hub.snapshot();
            let plan = Arc::clone(&before.plan);
            plan.strategy_choice().check_offered()?;
            // The backstop of every new run: without prices, nothing could be reserved. From the seats, because a stored amount
            // may be of a time when an unknown price counted as nothing.
            let worst_case = plan.worst_case_of(&plan.seats, &plan.synthesizers, &plan.steps);
            worst_case.check_known("the run", plan.budget)?;
            let lease = engine.journal.open(Arc::clone(&plan)).await?;
            let started =
                Event::Started { plan_hash: plan.plan_hash.clone(), reserved: worst_case.known_part() };
            let context = engine.context(hub, stop, lease, plan);
            context.log.stage(started);
            begin(before, context).await
        }
        .boxed()
    }

    /// Takes over an interrupted run, or continues one that is decided. Seats that have answered are not asked again. A
    /// seat whose reply is unknown may have been paid for and is asked again only if `reopening` names it.
    pub fn reopen(
        &self,
        hub: Arc<Hub>,
        stop: Stop,
        reopening: Reopening,
    ) -> BoxFuture<'static, Result<Underway, Failure>> {
        let engine = self.clone();
        async move {
            let mut before = hub.snapshot();
            reopening.check_offered(&before.plan)?;
            let worst_case = reopening.worst_case(&before.plan, before.chain());
            worst_case.check_known("this part of the run", reopening.budget)?;
            let lease = engine.journal.reopen(before.plan.run_id, before.seq).await?;
            let reserved = worst_case.known_part();
            before.reopen(&reopening);
            let plan = Arc::clone(&before.plan);
            let context = engine.context(hub, stop, lease, plan);
            // In a commit of its own, before everything else: until the event is in, the run is decided, and a decided run
            // sends nothing.
            context.log.append(Event::Reopened { reopening, reserved }).await?;
            begin(before, context).await
        }
        .boxed()
    }

    fn context(&self, hub: Arc<Hub>, stop: Stop, lease: Lease, plan: Arc<RunPlan>) -> RunContext {
        let deadline = Deadline::starting_now(&plan.timers, hub.with_run(|run| run.elapsed_ms));
        let turn = self.text_budget.enter();
        turn.add(hub.with_run(Run::text_bytes));
        hub.hold(turn.held());
        RunContext {
            caller: Arc::clone(&self.caller),
            checker: self.checker.clone(),
            log: Arc::new(RunLog::new(Arc::clone(&self.journal), Arc::clone(&hub), deadline, lease)),
            budget: Arc::new(Budget::new(plan.budget)),
            retries: Arc::clone(&self.retries),
            turn: Arc::new(turn),
            equivalents: Arc::new(Mutex::new(hub.with_run(strategy::recorded))),
            comparison: Arc::default(),
            begun_groupings: Arc::default(),
            refused_keys: Arc::default(),
            has_begun: Arc::default(),
            sending: stop.sending(),
            hub,
            deadline,
            stop,
            plan,
            scope: None,
        }
    }
}

async fn begin(before: Run, context: RunContext) -> Result<Underway, Failure> {
    context.budget.book(before.cost_max());
    let context = Arc::new(context);
    let panel = Panel::begin(&context, &before).await?;
    Ok(Underway { context, panel, before })
}

/// A run that has begun.
pub struct Underway {
    context: Arc<RunContext>,
    panel: Panel,
    /// The run before this part; without events for a new run.
    before: Run,
}

impl std::fmt::Debug for Underway {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Underway").field("run_id", &self.context.plan.run_id).finish_non_exhaustive()
    }
}

impl Underway {
    /// Executes the run. The hub reports everything that happens, events once they are durable: `Decided` brings the
    /// outcome, `Closed` is the last event before this returns. If another process takes the run over, the hub shows nothing
    /// more of this one; what it still brings goes to the journal.
    pub fn finish(self) -> BoxFuture<'static, ()> {
        async move {
            let Self { context, panel, before } = self;
            let running = async {
                tokio::join!(answer(&context, panel), reconcile::look_up(&context, &before));
                let cost = context.hub.with_run(Run::cost);
                let _ = context.log.append(Event::Closed { cost }).await;
            };
            let handing_over = async {
                context.log.overtaken().await;
                context.hub.hand_over();
                // Replies under way are paid for, and are read to their end.
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = running => {}
                () = handing_over => {}
            }
        }
        .boxed()
    }
}

/// Waits for the panel, makes one text of its answers, and collects the seats left behind.
async fn answer(context: &Arc<RunContext>, mut panel: Panel) {
    let gathered = strategy::gather(context, &mut panel).await;
    panel.release_held_back(gathered);
    match gathered {
        Gathered::Enough => {
            let usable = strategy::considered(context, &panel.usable);
            let deciding = async {
                // A second text of the same answers would cost money and bring nothing new.
                if context.hub.with_run(|run| run.has_text_of(usable.iter().map(|one| one.seat))) {
                    let failure = Failure::new(Code::AllFailed, "no further answer came");
                    return decide(context, Outcome::none(failure));
                }
                // A run that is cancelled or past its deadline sends nothing more, so it need not wait for its turn.
                tokio::select! {
                    biased;
                    () = context.turn.comes() => {}
                    () = sleep_until(context.deadline.run) => {}
                    () = context.stop.cancelled() => {}
                }
                let agreement = strategy::compared(context, &usable).await;
                let answers = Answers { usable: &usable, agreement: agreement.as_ref() };
                // Boxed, because its kilobytes would be held while the seats answer, too.
                let decided = Box::pin(strategy::decide(context, answers));
                let decided = AssertUnwindSafe(decided).catch_unwind().await;
                let outcome = decided.unwrap_or_else(|_| strategy::fallback(context, &usable));
                // No `await` from here to `decide`: `Decided` must go into the same commit as the synthesizer's answer.
                // A process that took over between two commits would pay for the text again.
                let considered = usable.iter().map(|one| one.seat).collect();
                let outcome = annotate::annotated(context, &usable, outcome);
                // An agreement found by a model that read the answers is better than the one computed here.
                let agreement = outcome.agreement.clone().or(agreement);
                decide(context, Outcome { considered, agreement, ..outcome });
                if context.plan.strategy.needs_one() {
                    // The other seats are not needed. Closing their streams stops their cost at most providers.
                    context.stop.cancel();
                }
            };
            panel.collect_during(deciding).await;
        }
        // The strategy asks the seats that are held back.
        Gathered::Nothing | Gathered::Unsettled => {
            decide(context, Outcome::none(nobody_answered(&context.plan, &panel.failures)));
        }
        Gathered::Cancelled => {
            decide(context, Outcome::none(Failure::new(Code::Cancelled, "the run was cancelled")));
        }
    }
    // An outcome that could not be stored is still returned, because it is paid for; a warning reports the error.
    let _ = context.log.commit().await;
    panel.collect_rest().await;
}

fn decide(context: &RunContext, outcome: Outcome) {
    // Before the event is staged: a request that is recorded after it must not leave.
    context.sending.end();
    context.log.stage(Event::Decided { outcome: Box::new(outcome) });
}

/// One failure with the reason of every seat; a reason that several seats share is given once. Its code is that of the
/// seats if they all have the same.
fn nobody_answered(plan: &RunPlan, failures: &[(SeatNumber, Failure)]) -> Failure {
    // By seat, because the order in which calls end must not change the message.
    let mut failures: Vec<&(SeatNumber, Failure)> = failures.iter().collect();
    failures.sort_by_key(|(seat, _)| *seat);
    let reasons = failures.iter().map(|(seat, failure)| (&plan.seats[seat.index()].model, &*failure.message));
    let message = format!("no model answered ({})", by_reason(reasons));
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
