//! Continuing a run that was interrupted, lacks seats, or needs another text.
//!
//! Whatever the request, no answer that the run has is asked for again.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::plan::{Defaults, Terms};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::panel::Seat;
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::value::next::{Next, Operation};
use parallel_llm_engine::{Code, Failure, PicoUsd, Reopening, RunRequest, RunStatus, SeatNumber, SeatStatus};
use tokio::time::timeout;

use super::Asking;
use super::fitness;
use super::plan::Planner;
use super::quote::Part;
use crate::runs::{KnownRun, RunHandle};

/// The longest wait for the end of a run that has its answer: longer than the requests for the cost of lost calls take.
/// Seats that are still answering may take longer; then the run is returned as still open.
const CLOSING_MAX: Duration = Duration::from_secs(12);

/// How to continue a run that has stopped.
#[derive(Clone, Debug)]
pub enum Continuation {
    /// Complete it: ask its seats without an answer. Seats whose request was sent without a known end are asked again
    /// only with `resend`, because they may have been paid.
    Resume {
        /// Whether to risk paying a second time for such seats.
        resend: bool,
        /// The most that this part may cost; `None` for the rest of the run's own budget.
        budget: Option<PicoUsd>,
    },
    /// Resume it in place of its process, which gave it up or is gone, without `resend`. Fails with `busy` if somebody else has
    /// resumed or completed it since: completing it again could be paid a second time, and would replace an answer that was
    /// shown.
    TakeOver {
        /// See [`Continuation::Resume`].
        budget: Option<PicoUsd>,
    },
    /// Ask further models (`request.models`) and make a text of all answers.
    Add(RunRequest),
    /// Make another text of the existing answers, with the synthesizer and strategy of the request.
    Rewrite(RunRequest),
}

impl Continuation {
    /// The parts of the request that the principal may not be allowed.
    fn restricted(&self) -> RunRequest {
        let files = match self {
            Self::Resume { .. } | Self::TakeOver { .. } => None,
            Self::Add(request) | Self::Rewrite(request) => request.files,
        };
        RunRequest { budget: self.budget(), files, ..RunRequest::default() }
    }

    /// The most that this part may cost, if the caller set it.
    pub const fn budget(&self) -> Option<PicoUsd> {
        match self {
            Self::Resume { budget, .. } | Self::TakeOver { budget } => *budget,
            Self::Add(request) | Self::Rewrite(request) => request.budget,
        }
    }

    /// The same continuation with this budget.
    #[must_use]
    pub fn within(self, budget: PicoUsd) -> Self {
        let richer = |request| RunRequest { budget: Some(budget), ..request };
        match self {
            Self::Resume { resend, .. } => Self::Resume { resend, budget: Some(budget) },
            Self::TakeOver { .. } => Self::TakeOver { budget: Some(budget) },
            Self::Add(request) => Self::Add(richer(request)),
            Self::Rewrite(request) => Self::Rewrite(richer(request)),
        }
    }
}

impl Asking {
    /// The part that continues a run, named by its id or found by its question. Fails if it cannot be continued at any cost.
    pub(super) fn resolve_part<'a>(
        &'a self,
        name: &'a str,
        continuation: Continuation,
    ) -> BoxFuture<'a, Result<Part, Failure>> {
        async move {
            self.planner
                .principal
                .check_request(&continuation.restricted(), self.planner.settings().budget)?;
            let is_resume =
                matches!(continuation, Continuation::Resume { .. } | Continuation::TakeOver { .. });
            let (run, is_open) = match self.history.seek(name).await? {
                KnownRun::Live(handle)
                    if is_resume && handle.is_wanted() && handle.with_run(is_undecided) =>
                {
                    return Ok(Part::Join(handle));
                }
                KnownRun::Live(handle) => self.ended(&handle).await?,
                KnownRun::Past(past) => (past.run, false),
            };
            let mut reopening = self.part(&run, &continuation).await?;
            reopening.check_offered(&run.plan)?;
            self.planner.check_checker(reopening.strategy_choice())?;
            if is_open {
                return Err(still_running(&run));
            }
            self.planner.reprice(&run, &mut reopening).await;
            reopening.limits = self.planner.day_limits();
            if matches!(continuation, Continuation::TakeOver { .. }) {
                // Nobody asked anew, so the limit of the token that asked holds on.
                reopening
                    .limits
                    .extend(run.plan.limits.iter().filter(|limit| limit.asked_by.is_some()).cloned());
            }
            self.check_part(&run, &reopening, &continuation).await?;
            let budget = match continuation {
                Continuation::Resume { budget, .. } | Continuation::TakeOver { budget } => budget,
                Continuation::Add(_) | Continuation::Rewrite(_) => {
                    Some(continuation.budget().unwrap_or_else(|| self.planner.settings().defaults().budget))
                }
            };
            Ok(Part::Reopen { run: Box::new(run), reopening: Box::new(reopening), budget })
        }
        .boxed()
    }

    /// Reopens a run for a further part, with a budget of its own or the rest of the run's.
    pub(super) async fn reopen(
        &self,
        run: Run,
        mut reopening: Reopening,
        budget: Option<PicoUsd>,
    ) -> Result<RunHandle, Failure> {
        if let Some(budget) = budget {
            reopening = reopening.within(run.so_far(), budget)?;
        }
        self.live.get().await?.reopen(run, reopening, self.history.output_dir.clone()).await
    }

    /// The resolved part, which may still exceed its budget. Fails if nothing can be gained from the run.
    async fn part(&self, run: &Run, continuation: &Continuation) -> Result<Reopening, Failure> {
        check(run, continuation)?;
        match continuation {
            Continuation::Resume { resend, .. } => resume(run, *resend),
            Continuation::TakeOver { .. } => resume(run, false),
            Continuation::Add(request) | Continuation::Rewrite(request) => {
                self.planner.part(run, request).await
            }
        }
    }

    /// Fails if callers of this part lack a key: any new seat and the named synthesizer, or all of the earlier seats or
    /// of the other synthesizers. Without a synthesizer, paid answers would be reduced to one of them.
    async fn check_part(
        &self,
        run: &Run,
        reopening: &Reopening,
        continuation: &Continuation,
    ) -> Result<(), Failure> {
        let providers = &self.planner.lists.providers;
        let new = reopening.seats.iter().collect::<Vec<_>>();
        let again: Vec<&Seat> =
            run.plan.seats.iter().filter(|seat| reopening.ask.contains(&seat.number)).collect();
        let named: Vec<&Seat> = match &continuation {
            Continuation::Rewrite(request) if request.synthesizer.is_some() => {
                reopening.synthesizers.iter().take(1).collect()
            }
            _ => Vec::new(),
        };
        fitness::check_keys(providers, &[new, named].concat(), &again).await?;
        fitness::check_keys(providers, &[], &fusing(run, reopening)).await
    }

    /// A run of this process, and whether it is still in progress.
    async fn ended(&self, handle: &RunHandle) -> Result<(Run, bool), Failure> {
        // The run may have been decided a moment ago but not closed; a run that was given up is about to close.
        if handle.with_run(Run::is_decided) || !handle.is_wanted() {
            let _ = timeout(CLOSING_MAX, handle.closed()).await;
        }
        Ok(if handle.is_closed() { (self.durable(handle).await?, false) } else { (handle.snapshot(), true) })
    }

    /// A closed run as far as it is stored: the store may lack events that the handle shows.
    async fn durable(&self, handle: &RunHandle) -> Result<Run, Failure> {
        if handle.with_run(|run| run.plan.store) != StoreMode::Full {
            return Ok(handle.snapshot());
        }
        let mut run = self.history.read(handle.id()).await?.run;
        // The store may not know yet that the writer has ended.
        run.interrupt();
        Ok(run)
    }
}

impl Planner {
    /// A further part of a run, resolved; it may still exceed its budget.
    async fn part(&self, run: &Run, request: &RunRequest) -> Result<Reopening, Failure> {
        let providers = &self.lists.providers;
        fitness::check_reach(providers, &self.principal, request)?;
        // A further part never asks the panel of the settings.
        let mut defaults = Defaults { panel: Vec::new(), ..self.defaults() };
        let mut request = RunRequest { budget: Some(PicoUsd::MAX), ..request.clone() };
        let lists = self.lists.name_in_full(&mut request, &mut defaults).await?.lists;
        let terms = Terms { defaults: &defaults, providers: providers.ids(), catalogues: &lists.catalogues };
        let mut reopening = Reopening::resolve(&request, &terms, run.so_far(), Vec::new())?;
        let groups: [(&str, &[Seat]); 3] = [
            ("seat", &reopening.seats),
            ("synthesizer", &reopening.synthesizers),
            ("equivalence model", reopening.equivalence.as_slice()),
        ];
        let unable = fitness::inabilities(providers, &run.plan.routing, &groups);
        reopening.warnings.extend(unable);
        let new = reopening.seats.iter().chain(&reopening.synthesizers);
        let old = lists.old_prices(new);
        reopening.warnings.extend(old);
        Ok(reopening)
    }
}

impl Planner {
    /// Gives a part the prices of today for the seats and synthesizers of the parts before: the run may be old, or of a time
    /// when a price was unknown.
    async fn reprice(&self, run: &Run, reopening: &mut Reopening) {
        let panel = run.plan.models().map(|seat| seat.model.to_string()).collect();
        let mut defaults = Defaults { panel, synthesizers: Vec::new(), ..self.defaults() };
        let request = RunRequest::default();
        let lists = self.lists.for_request(&request, &mut defaults).await;
        let providers = self.lists.providers.ids();
        let terms = Terms { defaults: &defaults, providers, catalogues: &lists.catalogues };
        reopening.with_prices_of_today(&run.plan, &terms);
        let old = lists.old_prices(run.plan.models());
        let untold = old.filter(|warning| !reopening.warnings.contains(warning));
        reopening.warnings.extend(untold);
    }
}

/// Whether no process works on the run any more, although it has no answer.
pub(super) fn is_abandoned(run: &Run) -> bool {
    match run.status {
        RunStatus::Interrupted => true,
        RunStatus::Cancelled => run.closed,
        _ => false,
    }
}

/// Whether the answer is still to come.
fn is_undecided(run: &Run) -> bool {
    !run.is_decided() && !run.closed
}

/// Whether only the text is missing: no synthesizer succeeded, or the run was given up.
fn lacks_text(run: &Run) -> bool {
    let Some(outcome) = &run.outcome else { return false };
    let why = outcome.unfused.as_ref().or(outcome.failure.as_ref()).map(|why| why.code);
    let has_answers = run.seats.iter().any(|seat| seat.answer.is_some());
    // A second vote or check of the same answers would have the same result.
    has_answers && why.is_some_and(|code| !matches!(code, Code::NoMajority | Code::CheckFailed))
}

/// Fails if nothing can be gained from continuing the run.
fn check(run: &Run, continuation: &Continuation) -> Result<(), Failure> {
    let id = run.plan.run_id;
    if run.status == RunStatus::Running {
        return Err(still_running(run));
    }
    if run.plan.store != StoreMode::Full {
        let message = format!("the texts of run {id} were not kept, so it cannot be continued");
        return Err(Failure::new(Code::Usage, message).with_next(Operation::KeepTexts));
    }
    match continuation {
        Continuation::TakeOver { .. } if !is_abandoned(run) => {
            let message = format!("somebody else has continued the run {id}");
            Err(Failure::new(Code::Busy, message).with_run(id).with_next(Operation::ShowRun))
        }
        Continuation::Resume { .. } if run.status == RunStatus::Complete && !lacks_text(run) => {
            let message = format!("the run {id} is complete; there is nothing to resume");
            let next = if run.seats.iter().any(|seat| seat.late) {
                vec![Next::Use(Operation::Synthesize)]
            } else {
                vec![Next::Use(Operation::ShowRun), Next::Use(Operation::AddModels)]
            };
            Err(Failure::new(Code::Usage, message).with_next(next))
        }
        Continuation::Rewrite(_) if run.seats.iter().all(|seat| seat.answer.is_none()) => {
            let message = format!("the run {id} has no answers to make a text of");
            Err(Failure::new(Code::Usage, message).with_next(Operation::Resume))
        }
        _ => Ok(()),
    }
}

fn still_running(run: &Run) -> Failure {
    Failure::new(Code::Busy, format!("the run {} is still under way", run.plan.run_id))
        .with_run(run.plan.run_id)
        .with_next(Operation::WaitForRun)
}

/// Whether the stages of a flow go on where they were when the run was given up.
fn is_flow_cut_short(run: &Run) -> bool {
    let why = run.outcome.as_ref().and_then(|outcome| outcome.failure.as_ref());
    run.plan.flow.is_some() && why.is_some_and(|why| why.code == Code::Cancelled)
}

/// Asks the seats without an answer. If the newest part was decided, its synthesizers make another text, also with no
/// seat left to ask.
fn resume(run: &Run, resend: bool) -> Result<Reopening, Failure> {
    let is_open = |view: &SeatView| match view.status {
        SeatStatus::Unknown => resend,
        _ => !view.is_settled(),
    };
    let seats = run.plan.seats.iter().zip(&run.seats).filter(|(_, view)| is_open(view));
    let mut ask: Vec<SeatNumber> = seats.map(|(seat, _)| seat.number).collect();
    if !run.is_decided() || is_flow_cut_short(run) {
        // Nobody reads a further answer to a stage that is decided.
        ask.retain(|seat| !run.is_stage_decided(*seat));
        return Ok(Reopening::resume(&run.plan, ask));
    }
    if ask.is_empty() && !lacks_text(run) {
        let message = format!("the run {} has no seat that could be asked", run.plan.run_id);
        let unknown = run.seats.iter().any(|seat| seat.status == SeatStatus::Unknown);
        let next = if unknown {
            vec![Next::Use(Operation::Resend)]
        } else {
            vec![Next::Use(Operation::AddModels), Next::Use(Operation::Synthesize)]
        };
        return Err(Failure::new(Code::Usage, message).with_next(next));
    }
    Reopening::again(&run.plan, ask, run.chain())
}

/// The synthesizers that this part may ask: none for fewer than two answers, or if one has written already.
fn fusing<'a>(run: &'a Run, reopening: &'a Reopening) -> Vec<&'a Seat> {
    let is_given = |seat: &SeatView| {
        seat.answer.is_some()
            || matches!(seat.slot, CallerSlot::Seat(number) if reopening.ask.contains(&number))
    };
    let answers = run.seats.iter().filter(|seat| is_given(seat)).count() + reopening.seats.len();
    if answers < 2 {
        return Vec::new();
    }
    if !reopening.synthesizers.is_empty() {
        return reopening.synthesizers.iter().collect();
    }
    let chain = run.plan.synthesizers.iter().zip(&run.synthesizers).skip(run.synthesizers_before);
    // The stages of a flow have synthesizers of their own.
    let stage_of = |seat: &Seat| run.plan.flow.as_ref().and_then(|flow| flow.of_synthesizer(seat.number));
    let written = chain.clone().filter(|(_, view)| view.status == SeatStatus::Answered);
    let written: Vec<_> = written.map(|(seat, _)| stage_of(seat)).collect();
    let open = chain.filter(|(seat, _)| !written.contains(&stage_of(seat)));
    open.filter(|(_, view)| view.status != SeatStatus::Unknown).map(|(seat, _)| seat).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_a_run_without_an_answer_is_taken_over() {
        let plan = include_str!("../../../parallel-llm-engine/tests/fixtures/plan_v1.json");
        let run = Run::new(Arc::new(serde_json::from_str(plan).unwrap()));
        let take_over = Continuation::TakeOver { budget: None };
        let code = |status, closed| {
            let run = Run { status, closed, ..run.clone() };
            check(&run, &take_over).err().map(|failure| failure.code)
        };
        assert_eq!(code(RunStatus::Interrupted, false), None);
        assert_eq!(code(RunStatus::Cancelled, true), None);
        for status in [RunStatus::Running, RunStatus::Complete, RunStatus::Partial, RunStatus::Failed] {
            assert_eq!(code(status, true), Some(Code::Busy), "{status:?}");
        }
        assert_eq!(code(RunStatus::Cancelled, false), Some(Code::Busy), "its process is about to close it");
    }
}
