//! Repeated questions: finds the run that answers one, and continues a run that was given up.
//!
//! Invariants: a caller never gets another caller's cancel as its result, and answers of an earlier run of the
//! question are not paid again unless the caller asks for that.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::{Advice, Operation};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, PicoUsd, RunId, RunPlan, RunStatus};
use tokio::time::Instant;

use super::Asking;
use super::continuing::{Continuation, is_abandoned};
use crate::runs::{KnownRun, RunHandle};

/// The lead of the note on a run that answers the question already.
const NOT_AGAIN: &str = "nothing was asked again";
/// The next step if an earlier run prevents a new one.
const FRESH: Operation = Operation::AskAnew;

/// The longest wait for another process that takes over the same run: between its claim and the stored event is a
/// commit, which a busy database delays.
const TAKE_OVER_MAX: Duration = Duration::from_secs(10);
/// The interval of looking for that event.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Asking {
    /// Begins the run of a plan. If the same question is in progress, returns that run; if it was given up without an
    /// answer, continues it.
    pub(crate) fn begin_run(&self, plan: RunPlan) -> BoxFuture<'_, Result<RunHandle, Failure>> {
        async move {
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
                        return Ok(handle.with_note(continued(id, RunStatus::Cancelled)));
                    }
                    None => Failure::new(
                        Code::Repeated,
                        format!("run {id} of the same question was given up, and its texts are not kept"),
                    ),
                },
                KnownRun::Past(past) if past.run.plan.store != StoreMode::Full => return Err(not_kept(id)),
                KnownRun::Past(past) if is_abandoned(&past.run) => {
                    let is_lost = past.run.needs_resend() && anew.idempotency_key.is_none();
                    if !is_lost {
                        let handle = self.take_over(id, anew.budget).await?.spending_since(past.run.cost());
                        return Ok(handle.with_note(continued(id, past.run.status)));
                    }
                    let what = format!("run {id} of the same question was interrupted without an answer");
                    Failure::new(Code::Repeated, format!("{what}, and may have been paid"))
                        .with_next(Operation::ShowRun)
                }
                KnownRun::Past(past) => {
                    let note = match past.run.status {
                        RunStatus::Cancelled => continued(id, RunStatus::Cancelled),
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
            Ok(begun.with_note(Warning::of("everything is asked again", &why)))
        }
        .boxed()
    }

    /// Takes over an abandoned run: keeps its answers and asks for the rest. This part may cost up to `budget`. If
    /// another process has taken it over or completed it in the meantime, joins that run.
    pub(crate) async fn take_over(&self, id: RunId, budget: PicoUsd) -> Result<RunHandle, Failure> {
        let name = id.to_string();
        let give_up = Instant::now() + TAKE_OVER_MAX;
        loop {
            let take_over = Continuation::TakeOver { budget: Some(budget) };
            let begun = match self.resolve_part(&name, take_over).await {
                Ok(part) => part.begin(self).await,
                Err(failure) => Err(failure),
            };
            let Err(failure) = begun else { return begun };
            match self.history.seek(&name).await? {
                KnownRun::Live(handle) => {
                    if let Some(joined) = handle.join() {
                        return Ok(joined);
                    }
                }
                KnownRun::Past(past) if !is_abandoned(&past.run) => return self.join(*past, budget).await,
                KnownRun::Past(_) if failure.code != Code::Busy => return Err(failure),
                KnownRun::Past(_) => {}
            }
            if Instant::now() > give_up {
                return Err(failure);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn asked_before(id: RunId) -> Warning {
    let message = format!("the same question was asked before, as run {id}");
    Warning::of(NOT_AGAIN, &Failure::new(Code::Repeated, message))
}

fn continued(id: RunId, status: RunStatus) -> Warning {
    let message = format!(
        "the same question was asked before, as run {id}, which was {}; it is continued, and its answers are not paid again",
        status.as_str()
    );
    Warning::of(NOT_AGAIN, &Failure::new(Code::Repeated, message).with_next(FRESH))
}

fn not_kept(id: RunId) -> Failure {
    let message = format!("the run {id} answers this question, and its texts are not kept");
    let next = Advice::GiveAnotherIdempotencyKey;
    Failure::new(Code::Repeated, message).with_next(next)
}
