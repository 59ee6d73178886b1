//! A run as the fold of its events.
//!
//! The live view, the history, the report and resuming all use this fold, so they cannot disagree.

pub mod analysis;
pub mod calibration;
mod cost;
pub mod event;
mod merging;
pub mod novelty;
pub mod outcome;
pub mod prompt;
pub mod prompt_record;
mod queries;
pub mod reopening;
mod stage_view;
mod view;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{Step, StepRole};
use crate::request::panel::{Seat, SeatNumber};
use crate::run::event::{Event, Recorded};
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::run::prompt_record::PromptRecord;
use crate::run::reopening::{Reopening, SoFar};
use crate::value::code::Code;
use crate::value::warning::Warning;

pub use cost::SkippedCalls;
pub use stage_view::StageView;
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
    /// Every status.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Complete, Self::Partial, Self::Failed, Self::Cancelled, Self::Interrupted];

    /// The status of this name.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

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
    /// The stages of its flow, in the order of execution; empty without a flow.
    pub stages: Vec<StageView>,
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
            stages: StageView::of_flow(plan.flow.as_ref()),
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
        // What is merged happened earlier.
        self.elapsed_ms = self.elapsed_ms.max(recorded.elapsed_ms);
        let is_decided = self.is_decided();
        match &recorded.event {
            Event::Started { plan_hash, .. } => self.plan_hash.clone_from(plan_hash),
            Event::Skipped { seats } => {
                let skipped = |view: &&mut SeatView| matches!(view.slot, CallerSlot::Seat(seat) if seats.contains(&seat));
                self.seats.iter_mut().filter(skipped).for_each(SeatView::skip);
            }
            Event::Reopened { reopening, .. } => self.reopen(reopening),
            // Another process may have taken over and decided the run already.
            Event::StageDecided { stage, outcome } if !is_decided => {
                if let Some(view) = self.stages.get_mut(stage.index()) {
                    view.decide(outcome, recorded.elapsed_ms);
                }
            }
            Event::StageDecided { .. } => {}
            Event::Decided { outcome } => self.settle(outcome, recorded.elapsed_ms),
            Event::Closed { .. } => {
                // Only requests of a process that has ended can still be open here.
                self.lose_track();
                self.closed = true;
                self.status = self.final_status();
            }
            Event::Merged { held, .. } => self.merge(held, recorded.elapsed_ms),
            event @ (Event::Sent { attempt, .. }
            | Event::Accepted { attempt, .. }
            | Event::Answered { attempt, .. }
            | Event::Cut { attempt, .. }
            | Event::Failed { attempt, .. }
            | Event::Cancelled { attempt, .. }
            | Event::Reconciled { attempt, .. }) => {
                if let Event::Sent { prompt, .. } = event
                    && attempt.number == 1
                {
                    self.note_reads(attempt.slot, prompt.as_deref());
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

    /// The bytes of all answers, and of the texts of stages.
    pub fn text_bytes(&self) -> usize {
        let answers = self.views().filter_map(|view| view.answer.as_ref()).map(|answer| answer.text.len());
        let texts = self.stages.iter().filter_map(|stage| stage.outcome.as_ref()?.text.as_ref());
        answers.chain(texts.map(|text| text.len())).sum()
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

    /// The synthesizers of its newest part that give its text, in the order they are asked.
    pub fn chain(&self) -> &[Seat] {
        let chain = &self.plan.synthesizers[self.synthesizers_before..];
        // Those of the last stage of a flow come first.
        let last = self.plan.flow.as_ref().and_then(|flow| flow.stages.last());
        last.map_or(chain, |last| &chain[..last.synthesizers.len().min(chain.len())])
    }

    /// The state a further part begins with.
    pub fn so_far(&self) -> SoFar<'_> {
        SoFar { plan: &self.plan, chain: self.chain(), spent: self.cost_max() }
    }

    /// Gives up on all requests under way.
    fn lose_track(&mut self) {
        self.views_mut().filter(|view| !view.status.is_final()).for_each(SeatView::lose_track);
    }

    /// Notes which answers a call reads: of an early draft those that are in when it is sent, of an equivalence those in its
    /// prompt, in the order of their labels.
    fn note_reads(&mut self, slot: CallerSlot, prompt: Option<&PromptRecord>) {
        let reads = match self.plan.role_of(slot) {
            Some(StepRole::Draft) => {
                let seats = self.seats.iter().zip((1..).map(SeatNumber));
                seats.filter(|(seat, _)| seat.has_usable_answer()).map(|(_, number)| number).collect()
            }
            Some(StepRole::Equivalence) => {
                prompt.into_iter().flat_map(|record| &record.answers).map(|shown| shown.seat).collect()
            }
            _ => return,
        };
        if let Some(view) = self.view_mut(slot) {
            view.reads = reads;
        }
    }

    /// The view of a seat of the panel.
    pub fn seat(&self, number: SeatNumber) -> Option<&SeatView> {
        self.view(CallerSlot::Seat(number))
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
            Some(_) if self.without_whole_answer().next().is_none() => RunStatus::Complete,
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
