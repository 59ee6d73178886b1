//! The same question asked again: which run answers it, and what becomes of one that was given up or left.
//!
//! What always holds: whoever asks is never told of somebody else's cancel, and what an earlier run of the question was
//! given is not paid for again unless that is wished.

use std::time::Duration;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::{Advice, Operation};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, PicoUsd, RunId, RunPlan, RunStatus};
use tokio::time::Instant;

use super::Asking;
use super::continuing::Continuation;
use crate::runs::{KnownRun, PastRun, RunHandle};

/// What the principal is told before anything else of a run that answers the question and was there already.
const NOT_ANEW: &str = "nothing was asked anew";
/// What can be done where an earlier run is in the way.
const FRESH: Operation = Operation::AskAnew;

/// How long two who take up the same run wait for each other: between the first word of one and what is durable of it
/// lies a commit, which a busy database delays.
const TAKING_UP_MAX: Duration = Duration::from_secs(10);
/// How often the one looks what has become of the other.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Asking {
    /// Begins the run of a plan. Where the same is under way already, that run is given instead; where it was left
    /// without an answer, that run is continued.
    pub(crate) async fn begin(&self, plan: RunPlan) -> Result<RunHandle, Failure> {
        let (runs, anew) = (self.live.get().await?, RunPlan { fresh: true, ..plan.clone() });
        let id = match runs.start(plan, self.history.output_dir.clone()).await {
            Err(Failure { code: Code::Repeated, run_id: Some(id), .. }) => *id,
            begun => return begun,
        };
        let why = match self.history.seek(&id.to_string()).await? {
            KnownRun::Live(handle) => match handle.join() {
                Some(joined) => return Ok(joined.with_note(asked_before(id))),
                None if handle.with_run(|run| run.plan.store) == StoreMode::Full => {
                    let handle = self.join(self.history.read(id).await?, anew.budget).await?;
                    return Ok(handle.with_note(going_on(id, RunStatus::Cancelled)));
                }
                None => Failure::new(
                    Code::Repeated,
                    format!("run {id} of the same question was given up, and its texts are not kept"),
                ),
            },
            KnownRun::Past(past) if past.run.plan.store != StoreMode::Full => return Err(unkept(id)),
            KnownRun::Past(past) if is_at_a_stand(&past) => {
                let is_lost = past.run.needs_resend() && anew.idempotency_key.is_none();
                if !is_lost {
                    let handle = self.take_up(id, anew.budget).await?.spending_since(past.run.cost());
                    return Ok(handle.with_note(going_on(id, past.run.status)));
                }
                Failure::new(Code::Repeated, format!("run {id} of the same question was interrupted before anything of it came, and may have been paid"))
                    .with_next(Operation::ShowRun)
            }
            KnownRun::Past(past) => {
                let note = match past.run.status {
                    RunStatus::Cancelled => going_on(id, RunStatus::Cancelled),
                    _ => asked_before(id),
                };
                let over = past.run.closed.then(|| past.run.cost());
                let handle = self.join(*past, anew.budget).await?.with_note(note);
                return Ok(match over {
                    Some(cost) => handle.spending_since(cost),
                    None => handle,
                });
            }
        };
        if anew.idempotency_key.is_some() {
            return Err(why.with_next(Advice::GiveAnotherIdempotencyKey));
        }
        let begun = runs.start(anew, self.history.output_dir.clone()).await?;
        Ok(begun.with_note(Warning::of("all of it is asked anew", &why)))
    }

    /// Continues a run that nobody does any more: what it has is taken, and what is missing is asked. This part of it
    /// may cost as much as `budget`. Somebody else may have taken it up a moment ago, and even brought it to its end; then that is joined.
    pub(crate) async fn take_up(&self, id: RunId, budget: PicoUsd) -> Result<RunHandle, Failure> {
        let name = id.to_string();
        let give_up = Instant::now() + TAKING_UP_MAX;
        loop {
            let resume = Continuation::Resume { resend: false, budget: Some(budget) };
            // Boxed, because beginning what was proposed may come here again.
            let begun =
                Box::pin(async { self.resolve_continuation(&name, resume).await?.begin().await }).await;
            let Err(failure) = begun else { return begun };
            match self.history.seek(&name).await? {
                KnownRun::Live(handle) => {
                    if let Some(joined) = handle.join() {
                        return Ok(joined);
                    }
                }
                KnownRun::Past(past) if !is_at_a_stand(&past) => return self.join(*past, budget).await,
                KnownRun::Past(_) if failure.code != Code::Busy => return Err(failure),
                KnownRun::Past(_) => {}
            }
            if Instant::now() > give_up {
                return Err(failure);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Whether nobody does the run any more, although it has no answer.
fn is_at_a_stand(past: &PastRun) -> bool {
    match past.run.status {
        RunStatus::Interrupted => true,
        RunStatus::Cancelled => past.run.closed,
        _ => false,
    }
}

fn asked_before(id: RunId) -> Warning {
    let message = format!("the same question was asked before, as run {id}");
    Warning::of(NOT_ANEW, &Failure::new(Code::Repeated, message))
}

fn going_on(id: RunId, status: RunStatus) -> Warning {
    let message = format!(
        "the same question was asked before, as run {id}, which was {}; it is gone on with, and what it has is not paid again",
        status.as_str()
    );
    Warning::of(NOT_ANEW, &Failure::new(Code::Repeated, message).with_next(FRESH))
}

fn unkept(id: RunId) -> Failure {
    let message = format!("the run {id} answers this question, and its texts are not kept");
    let next = Advice::GiveAnotherIdempotencyKey;
    Failure::new(Code::Repeated, message).with_next(next)
}
