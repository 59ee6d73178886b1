//! A run as the fold of its events.
//!
//! The live view, the history, the report and resuming all use this fold, so they cannot disagree.

pub mod analysis;
pub mod calibration;
pub mod event;
pub mod novelty;
pub mod outcome;
pub mod reopening;
mod view;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agreement::Agreement;
use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{Step, StepRole};
use crate::request::StoreMode;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::event::{Event, Recorded};
use crate::run::outcome::{Outcome, OutcomeKind, Round};
use crate::run::reopening::{Reopening, SoFar};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::Operation;
use crate::value::warning::Warning;

pub use view::{SeatStatus, SeatView};

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It is under way.
    Running,
    /// There is an answer, and every seat has answered.
    Complete,
    /// There is an answer, but not from every seat.
    Partial,
    /// There is no answer.
    Failed,
    /// The caller cancelled it.
    Cancelled,
    /// Its process ended before the run did.
    Interrupted,
}

impl RunStatus {
    /// Its name in JSON, columns and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Planned calls that were not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedCalls {
    /// How many calls: of seats, synthesizers and steps.
    pub calls: usize,
    /// Their worst case, as far as prices are known.
    pub cost_max: PicoUsd,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The plan, extended by all further parts.
    pub plan: Arc<RunPlan>,
    /// Identifies the question; empty before the run has started.
    pub plan_hash: String,
    /// The status.
    pub status: RunStatus,
    /// The panel, in the order of the plan.
    pub seats: Vec<SeatView>,
    /// The synthesizers of all parts, each part in the order of its chain. Those never asked are `waiting`.
    pub synthesizers: Vec<SeatView>,
    /// How many of them belong to earlier parts.
    pub synthesizers_before: usize,
    /// The steps of all parts. Those never made are `waiting`.
    pub steps: Vec<SeatView>,
    /// Whether the newest part makes another text of the existing answers and asks no seat.
    pub rewrites: bool,
    /// The current outcome. Until a further part is decided, it is that of the part before.
    pub outcome: Option<Outcome>,
    /// Outcomes that were replaced, or that never replaced a better one, in order.
    pub earlier: Vec<Outcome>,
    /// When the newest part was decided, in milliseconds from the start; `None` before that.
    pub decided_ms: Option<u64>,
    /// When the newest event happened, in milliseconds from the start.
    pub elapsed_ms: u64,
    /// The number of the newest event.
    pub seq: u64,
    /// Whether nothing more will happen.
    pub closed: bool,
}

impl Run {
    /// A run without events.
    pub fn new(plan: Arc<RunPlan>) -> Self {
        let seats = plan.seats.iter().map(SeatView::of_seat);
        let chain = plan.synthesizers.iter();
        let synthesizers =
            chain.map(|seat| SeatView::new(CallerSlot::Synthesizer(seat.number), seat.model.clone()));
        Self {
            seats: seats.collect(),
            synthesizers: synthesizers.collect(),
            steps: plan.steps.iter().filter_map(|step| step_view(&plan, step)).collect(),
            plan_hash: String::new(),
            status: RunStatus::Running,
            synthesizers_before: 0,
            rewrites: false,
            outcome: None,
            earlier: Vec::new(),
            decided_ms: None,
            elapsed_ms: 0,
            seq: 0,
            closed: false,
            plan,
        }
    }

    /// Folds events into a run.
    pub fn fold(plan: Arc<RunPlan>, events: &[Recorded]) -> Self {
        let mut run = Self::new(plan);
        for recorded in events {
            run.apply(recorded);
        }
        run
    }

    /// Applies the next event. Events that are already applied change nothing.
    pub fn apply(&mut self, recorded: &Recorded) {
        if recorded.seq <= self.seq {
            return;
        }
        self.seq = recorded.seq;
        self.elapsed_ms = recorded.elapsed_ms;
        let is_decided = self.is_decided();
        match &recorded.event {
            Event::Started { plan_hash, .. } => self.plan_hash.clone_from(plan_hash),
            Event::Skipped { seats } => {
                let skipped = |view: &&mut SeatView| matches!(view.slot, CallerSlot::Seat(seat) if seats.contains(&seat));
                self.seats.iter_mut().filter(skipped).for_each(SeatView::skip);
            }
            Event::Reopened { reopening, .. } => self.reopen(reopening),
            Event::Decided { outcome } => self.settle(outcome, recorded.elapsed_ms),
            Event::Closed { .. } => {
                // Only requests of a process that has ended can still be open here.
                self.lose_track();
                self.closed = true;
                self.status = self.final_status();
            }
            event @ (Event::Sent { attempt }
            | Event::Accepted { attempt, .. }
            | Event::Answered { attempt, .. }
            | Event::Cut { attempt, .. }
            | Event::Failed { attempt, .. }
            | Event::Cancelled { attempt, .. }
            | Event::Reconciled { attempt, .. }) => {
                if event.lets_bytes_leave() && attempt.number == 1 {
                    self.note_reads(attempt.slot);
                }
                if let Some(seat) = self.view_mut(attempt.slot) {
                    seat.apply(*attempt, event, recorded.elapsed_ms);
                    seat.late |= is_decided && event.answer().is_some() && seat.has_usable_answer();
                }
                if is_decided {
                    self.status = self.final_status();
                }
            }
        }
    }

    /// The view of a slot.
    pub fn view(&self, slot: CallerSlot) -> Option<&SeatView> {
        match slot {
            CallerSlot::Seat(number) => self.seats.get(number.index()),
            CallerSlot::Synthesizer(number) => self.synthesizers.get(number.index()),
            CallerSlot::Step(number) => self.steps.get(number.index()),
        }
    }

    /// As [`Run::view`], to add streaming text.
    pub fn view_mut(&mut self, slot: CallerSlot) -> Option<&mut SeatView> {
        match slot {
            CallerSlot::Seat(number) => self.seats.get_mut(number.index()),
            CallerSlot::Synthesizer(number) => self.synthesizers.get_mut(number.index()),
            CallerSlot::Step(number) => self.steps.get_mut(number.index()),
        }
    }

    /// The views of all slots: seats, synthesizers, steps.
    pub fn views(&self) -> impl Iterator<Item = &SeatView> {
        self.seats.iter().chain(&self.synthesizers).chain(&self.steps)
    }

    /// The bytes of all answers.
    pub fn text_bytes(&self) -> usize {
        self.views().filter_map(|view| view.answer.as_ref()).map(|answer| answer.text.len()).sum()
    }

    fn views_mut(&mut self) -> impl Iterator<Item = &mut SeatView> {
        self.seats.iter_mut().chain(&mut self.synthesizers).chain(&mut self.steps)
    }

    /// Marks the run as interrupted, because its process has ended. Open requests become unknown.
    pub fn interrupt(&mut self) {
        if self.closed {
            return;
        }
        self.lose_track();
        self.status = if self.is_decided() { self.final_status() } else { RunStatus::Interrupted };
    }

    /// Applies a further part of the run. Open requests become unknown; results are kept.
    pub(crate) fn reopen(&mut self, reopening: &Reopening) {
        self.lose_track();
        for seat in &mut self.seats {
            let CallerSlot::Seat(number) = seat.slot else { continue };
            seat.reopen(reopening.ask.contains(&number));
        }
        self.seats.extend(reopening.seats.iter().map(SeatView::of_seat));
        if !reopening.synthesizers.is_empty() {
            self.rewrites = reopening.ask.is_empty() && reopening.seats.is_empty();
            self.synthesizers_before = self.synthesizers.len();
            let view = |seat: &Seat| SeatView::new(CallerSlot::Synthesizer(seat.number), seat.model.clone());
            self.synthesizers.extend(reopening.synthesizers.iter().map(view));
        }
        self.plan = Arc::new(reopening.extend(&self.plan));
        self.steps.extend(reopening.steps.iter().filter_map(|step| step_view(&self.plan, step)));
        // An outcome without a text does not stay the current one.
        self.earlier.extend(self.outcome.take_if(|outcome| outcome.kind == OutcomeKind::None));
        self.decided_ms = None;
        self.closed = false;
        self.status = RunStatus::Running;
    }

    /// Whether its newest part is decided. Afterwards nothing is sent.
    pub const fn is_decided(&self) -> bool {
        self.decided_ms.is_some()
    }

    /// The synthesizers of its newest part, in the order they are asked.
    pub fn chain(&self) -> &[Seat] {
        &self.plan.synthesizers[self.synthesizers_before..]
    }

    /// The state a further part begins with.
    pub fn so_far(&self) -> SoFar<'_> {
        SoFar { plan: &self.plan, chain: self.chain(), spent: self.cost_max() }
    }

    /// The warnings of the plan and the outcome.
    pub fn warnings(&self) -> Vec<Warning> {
        let of_outcome = self.outcome.iter().flat_map(|outcome| &outcome.warnings);
        let mut warnings: Vec<Warning> = self.plan.warnings.iter().chain(of_outcome).cloned().collect();
        if self.outcome.is_some() && !self.is_decided() {
            let (is_how, next) = match self.status {
                RunStatus::Running => ("under way", Operation::WaitForRun),
                _ => ("interrupted", Operation::Resume),
            };
            warnings.push(Warning {
                code: Code::Interrupted,
                message: format!(
                    "a further part of the run is {is_how}; the answer is the one from before it"
                ),
                next: next.into(),
            });
        }
        warnings
    }

    /// Gives up on all requests under way.
    fn lose_track(&mut self) {
        self.views_mut().filter(|view| !view.status.is_final()).for_each(SeatView::lose_track);
    }

    /// The known cost of all requests; `None` if nothing is known, which is not the same as zero.
    pub fn known_cost(&self) -> Option<PicoUsd> {
        self.cost().unless_unknown(self.cost_is_estimate())
    }

    /// The known cost of all requests, for sums.
    pub fn cost(&self) -> PicoUsd {
        self.views().filter_map(|view| view.cost).sum()
    }

    /// The most all requests can have cost: ended requests of unknown cost count with their worst case, as far as prices are
    /// known. A further part may spend the rest of the budget.
    pub fn cost_max(&self) -> PicoUsd {
        self.cost().plus(self.unpriced().flatten().sum())
    }

    /// An upper bound of the cost, if it means something: some ended request has an unknown cost, all prices are known, and no
    /// request is under way.
    pub fn cost_bound(&self) -> Option<PicoUsd> {
        let is_under_way = self.views().any(SeatView::is_under_way);
        let unpriced: Option<Vec<PicoUsd>> = self.unpriced().collect();
        let worst_cases = unpriced.filter(|unpriced| !is_under_way && !unpriced.is_empty())?;
        Some(self.cost().plus(worst_cases.into_iter().sum()))
    }

    /// For each slot with ended requests of unknown cost, the most these can have cost; `None` if the price is unknown.
    fn unpriced(&self) -> impl Iterator<Item = Option<PicoUsd>> {
        let unpriced = self.views().filter(|view| view.unpriced > 0);
        unpriced.map(|view| Some(self.plan.worst_request(view.slot)?.times(u64::from(view.unpriced))))
    }

    /// Whether the known cost lacks a request, so that it is only a lower bound.
    pub fn cost_lacks_calls(&self) -> bool {
        self.views().any(SeatView::cost_lacks_calls)
    }

    /// Whether a part of the cost is unknown or computed from prices.
    pub fn cost_is_estimate(&self) -> bool {
        self.views().any(|view| view.cost_is_estimate || view.status == SeatStatus::Streaming)
    }

    /// Why there is no answer and none will come.
    pub fn failure(&self) -> Option<Failure> {
        let lost = || {
            let message = "the process that did the run ended before it had an answer";
            Failure::new(Code::Interrupted, message)
        };
        let failure = match &self.outcome {
            None => (self.status == RunStatus::Interrupted).then(lost)?,
            Some(outcome) => outcome.failure.clone()?,
        };
        Some(match failure.code {
            Code::Interrupted if self.plan.store != StoreMode::Full => {
                failure.with_next(Operation::KeepTexts)
            }
            Code::Interrupted if self.needs_resend() => failure.with_next(Operation::Resend),
            _ => failure,
        })
    }

    /// Whether resuming is useless unless requests with unknown end are sent again: no seat has a usable answer, and no other
    /// seat is left to ask.
    pub fn needs_resend(&self) -> bool {
        let is_lost = |seat: &SeatView| seat.status == SeatStatus::Unknown;
        let helps = |seat: &SeatView| !seat.is_settled() || seat.has_usable_answer();
        self.seats.iter().any(is_lost) && !self.seats.iter().any(helps)
    }

    /// The command that resumes the run; `None` if its texts are not stored, because such a run cannot be resumed.
    pub fn resuming(&self) -> Option<String> {
        let id = self.plan.run_id;
        let command = if self.needs_resend() {
            format!("`runs resume {id} --resend` (which may pay a second time)")
        } else {
            format!("`runs resume {id}`")
        };
        (self.plan.store == StoreMode::Full).then_some(command)
    }

    /// What a synthesizer or step does, in one word: `fusing`, `judging`.
    pub fn task(&self, slot: CallerSlot) -> Option<&'static str> {
        match slot {
            CallerSlot::Seat(_) => None,
            CallerSlot::Synthesizer(_) => Some("fusing"),
            CallerSlot::Step(number) => self.plan.steps.get(number.index()).map(|step| step.key.role.task()),
        }
    }

    /// Whether the outcome is a single answer because fusing failed.
    pub fn is_unfused(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.unfused.is_some())
    }

    /// How many seats have a whole answer.
    pub fn answered(&self) -> usize {
        self.seats.iter().filter(|seat| seat.status == SeatStatus::Answered).count()
    }

    /// Seats without a whole answer that should have one. The losers of a race are not missing.
    pub fn missing(&self) -> impl Iterator<Item = &SeatView> {
        let is_enough = self.plan.strategy.needs_one()
            && self.outcome.as_ref().is_some_and(|outcome| outcome.kind != OutcomeKind::None);
        let is_missing = move |seat: &&SeatView| seat.status != SeatStatus::Answered && !seat.is_unneeded();
        self.seats.iter().filter(move |seat| !is_enough && is_missing(seat))
    }

    /// The calls that were not needed because the answers agreed, or because one was enough; `None` if there are none.
    pub fn skipped(&self) -> Option<SkippedCalls> {
        let is_settled = |outcome: &Outcome| {
            let is_unanimous = outcome.agreement.as_ref().is_some_and(Agreement::is_unanimous)
                || outcome.rounds.last().is_some_and(Round::is_unanimous);
            outcome.kind == OutcomeKind::Selected && (is_unanimous || self.plan.strategy.needs_one())
        };
        if !self.is_decided() || !self.outcome.as_ref().is_some_and(is_settled) {
            return None;
        }
        let steps = self.plan.steps.as_slice();
        let planned = self.plan.called(&self.plan.seats, self.chain(), steps).into_iter();
        let is_unneeded = |slot: &CallerSlot| {
            self.view(*slot)
                .is_some_and(|view| view.attempts == 0 && (view.is_unneeded() || !view.status.is_final()))
        };
        // A seat without an answer would not have been asked again.
        let would_be_made = |slot: &CallerSlot| match self.plan.step_at(*slot).map(|step| step.key.by) {
            Some(CallerSlot::Seat(seat)) => {
                self.seat(seat).is_some_and(|view| view.has_usable_answer() || view.is_unneeded())
            }
            // An early draft replaces the synthesis, so it does not count beside it.
            _ => self.plan.role_of(*slot) != Some(StepRole::Draft),
        };
        let slots: Vec<CallerSlot> = planned.filter(is_unneeded).filter(would_be_made).collect();
        let cost_max = slots.iter().filter_map(|slot| self.plan.worst_request(*slot)).sum();
        (!slots.is_empty()).then_some(SkippedCalls { calls: slots.len(), cost_max })
    }

    /// The calls that have not ended: of seats, and of the synthesizers and steps that were asked.
    pub fn awaited(&self) -> impl Iterator<Item = &SeatView> {
        self.seats.iter().chain(self.called()).filter(|view| !view.status.is_final())
    }

    /// The synthesizers and steps that were called, or failed without being sent.
    pub fn called(&self) -> impl Iterator<Item = &SeatView> {
        let is_asked = |view: &&SeatView| view.attempts > 0 || view.status.is_final();
        self.synthesizers.iter().chain(&self.steps).filter(is_asked)
    }

    /// The planned early drafts of the newest part, last first.
    pub(crate) fn drafts(&self) -> impl Iterator<Item = &SeatView> {
        let is_own =
            |by: CallerSlot| self.chain().iter().any(|one| by == CallerSlot::Synthesizer(one.number));
        let drafts = self.plan.steps.iter().rev().filter(|step| step.key.role == StepRole::Draft);
        let own = drafts.filter(move |step| is_own(step.key.by));
        own.filter_map(|step| self.view(CallerSlot::Step(step.number)))
    }

    /// Notes which answers an early draft reads: those that are in when it is sent.
    fn note_reads(&mut self, slot: CallerSlot) {
        if self.plan.role_of(slot) != Some(StepRole::Draft) {
            return;
        }
        let seats = self.seats.iter().zip((1..).map(SeatNumber));
        let reads = seats.filter(|(seat, _)| seat.has_usable_answer()).map(|(_, number)| number).collect();
        if let Some(view) = self.view_mut(slot) {
            view.reads = reads;
        }
    }

    /// The view of a seat of the panel.
    pub fn seat(&self, number: SeatNumber) -> Option<&SeatView> {
        self.view(CallerSlot::Seat(number))
    }

    /// When a seat ended, in milliseconds from the start of the run.
    pub(crate) fn ended_ms(&self, number: SeatNumber) -> Option<u64> {
        let seat = self.seat(number)?;
        Some(seat.sent_ms? + seat.elapsed_ms?)
    }

    /// Whether the current outcome was made of exactly these answers, and no other text of them is wanted.
    pub(crate) fn has_text_of(&self, mut seats: impl ExactSizeIterator<Item = SeatNumber>) -> bool {
        let is_of_several =
            |kind| matches!(kind, OutcomeKind::Fused | OutcomeKind::Selected | OutcomeKind::Listed);
        let Some(text) = self.outcome.as_ref().filter(|text| is_of_several(text.kind)) else { return false };
        let is_reported = |seat: &SeatNumber| self.seat(*seat).is_some_and(|view| view.is_reported);
        !self.rewrites
            && seats.len() == text.considered.len()
            && seats.all(|seat| text.considered.contains(&seat) && is_reported(&seat))
    }

    fn settle(&mut self, outcome: &Outcome, at_ms: u64) {
        let current = self.better_outcome(outcome);
        // An answer that came during the fusion is as late as one that came after it.
        if current.kind != OutcomeKind::None {
            for (seat, number) in self.seats.iter_mut().zip((1..).map(SeatNumber)) {
                seat.late = seat.has_usable_answer() && !current.considered.contains(&number);
            }
        }
        self.views_mut().for_each(SeatView::report);
        self.outcome = Some(current);
        self.decided_ms = Some(at_ms);
        self.status = self.final_status();
    }

    /// Returns the better of the current and the new outcome, and keeps the other as an earlier one. If the new one is worse,
    /// a warning says why.
    fn better_outcome(&mut self, outcome: &Outcome) -> Outcome {
        match self.outcome.take() {
            Some(mut before) if before.is_better_than(outcome) => {
                let why = outcome.failure.as_ref().or(outcome.unfused.as_ref());
                before.warnings.extend(outcome.warnings.iter().cloned());
                // The results of checks apply whichever text is current.
                if !outcome.checks.is_empty() {
                    before.checks.clone_from(&outcome.checks);
                }
                before
                    .warnings
                    .extend(why.map(|why| Warning::of("continuing the run gave no better text", why)));
                self.earlier.extend((outcome.kind != OutcomeKind::None).then(|| outcome.clone()));
                before
            }
            before => {
                self.earlier.extend(before);
                outcome.clone()
            }
        }
    }

    fn final_status(&self) -> RunStatus {
        match &self.outcome {
            Some(Outcome { failure: Some(failure), .. }) if failure.code == Code::Cancelled => {
                RunStatus::Cancelled
            }
            Some(Outcome { failure: Some(_), .. }) => RunStatus::Failed,
            Some(_) if self.missing().next().is_none() => RunStatus::Complete,
            Some(_) => RunStatus::Partial,
            None => RunStatus::Running,
        }
    }
}

/// The view of a step without events; `None` if the plan has no model for it.
fn step_view(plan: &RunPlan, step: &Step) -> Option<SeatView> {
    let seat = plan.seat_at(CallerSlot::Step(step.number))?;
    Some(SeatView::new(CallerSlot::Step(step.number), seat.model.clone()))
}
