//! The story of a run, from its plan to its close.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

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
use crate::value::answer::Failure;
use crate::value::code::Code;
use futures_util::FutureExt;
use tokio::time::sleep_until;

/// Does runs. One serves a whole process; cloning shares it.
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
    /// An engine that calls models and remembers runs this way.
    pub fn new(caller: Arc<dyn Caller>, journal: Arc<dyn Journal>) -> Self {
        let text_budget = TextBudget::new(TEXT_BYTES_MAX);
        Self { caller, journal, checker: None, retries: Arc::default(), text_budget }
    }

    /// The same that checks answers this way, where a strategy wants them checked.
    #[must_use]
    pub fn with_checker(self, checker: Option<Arc<dyn Checker>>) -> Self {
        Self { checker, ..self }
    }

    /// The same whose runs hold so many bytes of text together before they take turns.
    #[must_use]
    pub fn with_text_bytes_max(self, text_bytes_max: usize) -> Self {
        Self { text_budget: TextBudget::new(text_bytes_max), ..self }
    }

    /// Begins a new run. When this returns, its plan and the requests that may leave at once are durable, and none has
    /// left: a journal that refuses the run has cost nothing.
    pub async fn open(&self, hub: Arc<Hub>, stop: Stop) -> Result<Underway, Failure> {
        let before = hub.snapshot();
        let plan = Arc::clone(&before.plan);
        let lease = self.journal.open(Arc::clone(&plan)).await?;
        let started = Event::Started { plan_hash: plan.plan_hash.clone(), reserved: plan.worst_case };
        let context = self.context(hub, stop, lease, plan);
        context.log.stage(started);
        begin(before, context).await
    }

    /// Takes over a run that was interrupted, or goes on with one that has its answer. Answers it has are not asked for
    /// again; neither is a seat of which nobody knows what came, because it may have been paid, unless `reopening`
    /// names it.
    pub async fn reopen(&self, hub: Arc<Hub>, stop: Stop, reopening: Reopening) -> Result<Underway, Failure> {
        let mut before = hub.snapshot();
        let lease = self.journal.reopen(before.plan.run_id, before.seq).await?;
        let reserved = reopening.worst_case(&before.plan, before.chain());
        before.reopen(&reopening);
        let plan = Arc::clone(&before.plan);
        let context = self.context(hub, stop, lease, plan);
        // Alone and first: until it is told, the run has an answer, after which nothing is sent.
        context.log.append(Event::Reopened { reopening, reserved }).await?;
        begin(before, context).await
    }

    fn context(&self, hub: Arc<Hub>, stop: Stop, lease: Lease, plan: Arc<RunPlan>) -> RunContext {
        let deadline = Deadline::starting_now(&plan.timers, hub.with_run(|run| run.elapsed_ms));
        let turn = self.text_budget.enter();
        turn.add(hub.with_run(Run::text_bytes));
        hub.hold(turn.held());
        RunContext {
            caller: Arc::clone(&self.caller),
            checker: self.checker.clone(),
            log: RunLog::new(Arc::clone(&self.journal), Arc::clone(&hub), deadline, lease),
            budget: Budget::new(plan.budget),
            retries: Arc::clone(&self.retries),
            turn,
            refused_keys: Mutex::default(),
            has_begun: AtomicBool::new(false),
            sending: stop.sending(),
            hub,
            deadline,
            stop,
            plan,
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
    /// What had happened before: nothing, for a new run.
    before: Run,
}

impl std::fmt::Debug for Underway {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Underway").field("run_id", &self.context.plan.run_id).finish_non_exhaustive()
    }
}

impl Underway {
    /// Does the run. Everything that happens is told through its hub, events once they are durable: its answer
    /// is settled with `Decided`; with `Closed`, when this returns, it is over.
    pub async fn finish(self) {
        let Self { context, panel, before } = self;
        tokio::join!(answer(&context, panel), reconcile::look_up(&context, &before));
        let cost = context.hub.with_run(Run::cost);
        let _ = context.log.append(Event::Closed { cost }).await;
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
                // The same answers again would be paid for and say the same.
                if context.hub.with_run(|run| run.has_text_of(usable.iter().map(|one| one.seat))) {
                    let failure = Failure::new(Code::AllFailed, "no further answer came");
                    return decide(context, Outcome::none(failure));
                }
                // Whose time is up, or who is given up, sends nothing more and needs no turn.
                tokio::select! {
                    biased;
                    () = context.turn.comes() => {}
                    () = sleep_until(context.deadline.run) => {}
                    () = context.stop.cancelled() => {}
                }
                let agreement = strategy::agreement(context, &usable);
                let answers = Answers { usable: &usable, agreement: agreement.as_ref() };
                let decided = strategy::decide(context, answers);
                let decided = AssertUnwindSafe(decided).catch_unwind().await;
                let outcome = decided.unwrap_or_else(|_| strategy::fallback(context, &usable));
                // Noted in the same breath as the synthesizer's answer, so that no commit takes that without this:
                // a process that took over then would have it made, and paid, again.
                let considered = usable.iter().map(|one| one.seat).collect();
                let outcome = annotate::annotated(context, &usable, outcome);
                // A strategy that has the answers read by a model knows better who says the same.
                let agreement = outcome.agreement.clone().or(agreement);
                decide(context, Outcome { considered, agreement, ..outcome });
                if context.plan.strategy.needs_one() {
                    // The others have lost: what stops costing when it is closed is closed.
                    context.stop.cancel();
                }
            };
            panel.meanwhile(deciding).await;
        }
        Gathered::Nothing => decide(context, Outcome::none(nobody_answered(&context.plan, &panel.failures))),
        Gathered::Cancelled => {
            decide(context, Outcome::none(Failure::new(Code::Cancelled, "the run was cancelled")));
        }
    }
    // What was paid for is given even where it could not be stored; a warning says that it was not.
    let _ = context.log.commit().await;
    panel.rest().await;
}

fn decide(context: &RunContext, outcome: Outcome) {
    // Before it is noted: what is noted as sent after this is not sent.
    context.sending.end();
    context.log.stage(Event::Decided { outcome: Box::new(outcome) });
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
