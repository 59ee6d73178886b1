//! Queries of a run: its warnings and failure, its missing and awaited calls, and how it can be continued.

use crate::plan::caller_slot::CallerSlot;
use crate::plan::flow::StageNumber;
use crate::plan::step::StepRole;
use crate::request::StoreMode;
use crate::request::panel::SeatNumber;
use crate::run::outcome::OutcomeKind;
use crate::run::{Run, RunStatus, SeatStatus, SeatView};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Next, Operation};
use crate::value::warning::Warning;

impl Run {
    /// The warnings of the plan and the outcome.
    pub fn warnings(&self) -> Vec<Warning> {
        let of_outcome = self.outcome.iter().flat_map(|outcome| &outcome.warnings);
        let mut warnings: Vec<Warning> = self.plan.warnings.iter().chain(of_outcome).cloned().collect();
        warnings.extend(self.overbilled());
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

    /// That a provider charged more than its price allows, so that no budget could hold.
    fn overbilled(&self) -> Option<Warning> {
        let told = |view: &SeatView| {
            let bound = self.plan.worst_sent(view.slot, view.worst_case)?.times(view.attempts.into());
            let cost = view.cost.filter(|cost| *cost > bound && !view.cost_is_estimate)?;
            let model = view.model.to_string();
            Some((format!("`{model}` charged {cost} where its price allows {bound}"), model))
        };
        let (messages, models): (Vec<String>, Vec<String>) = self.views().filter_map(told).unzip();
        let next = Next::GivePrice(models.into_iter().next()?.into());
        Some(Warning::new(Code::Budget, messages.join("; ")).with_next(next))
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

    /// Whether every seat gave a whole answer and the strategy did with them what was asked of it. It did not if its
    /// calls failed, if its vote had no winner, or if of several seats only one answered in time.
    pub fn is_as_asked(&self) -> bool {
        let asked = self.seats.iter().filter(|seat| !seat.is_unneeded()).count();
        let is_of_several = asked > 1 && !self.plan.strategy.needs_one();
        self.status == RunStatus::Complete
            && self.outcome.as_ref().is_some_and(|outcome| {
                let is_lone = outcome.considered.len() == 1 && outcome.checks.is_empty();
                outcome.unfused.is_none() && !(is_of_several && is_lone)
            })
    }

    /// Whether the stage of a flow that this seat answers to is decided, so that its answer would be read by nobody.
    pub fn is_stage_decided(&self, seat: SeatNumber) -> bool {
        let stage = self.plan.flow.as_ref().and_then(|flow| flow.of_seat(seat));
        let view = stage.and_then(|stage| self.stages.get(stage.index()));
        view.is_some_and(|view| view.settled().is_some())
    }

    /// The name of a stage, else its number.
    pub fn stage_name(&self, stage: StageNumber) -> String {
        self.stages.get(stage.index()).map_or_else(|| stage.to_string(), |view| view.name.clone())
    }

    /// How many seats have an answer, by the rule of [`Run::has_answer`]. Every count that is shown is this one.
    pub fn answered(&self) -> usize {
        self.seats.iter().filter(|seat| self.has_answer(seat)).count()
    }

    /// Whether a seat has an answer: a whole one, or one that broke off and was used or is long enough to be.
    pub fn has_answer(&self, seat: &SeatView) -> bool {
        seat.has_usable_answer() || self.is_used(seat)
    }

    /// Seats that should have an answer and have none. The losers of a race are not missing.
    pub fn missing(&self) -> impl Iterator<Item = &SeatView> {
        self.without_whole_answer().filter(|seat| !self.has_answer(seat))
    }

    /// Seats whose answer broke off and was used all the same.
    pub fn used_although_cut(&self) -> impl Iterator<Item = &SeatView> {
        self.seats.iter().filter(|seat| seat.status != SeatStatus::Answered && self.is_used(seat))
    }

    /// Whether the outcome was made of the seat's answer, among others.
    fn is_used(&self, seat: &SeatView) -> bool {
        let considered = self.outcome.as_ref().map_or(&[][..], |outcome| &outcome.considered);
        matches!(seat.slot, CallerSlot::Seat(number) if considered.contains(&number))
    }

    /// Seats that should have a whole answer and have none.
    pub(super) fn without_whole_answer(&self) -> impl Iterator<Item = &SeatView> {
        let is_enough = self.plan.strategy.needs_one()
            && self.outcome.as_ref().is_some_and(|outcome| outcome.kind != OutcomeKind::None);
        let lacks = move |seat: &&SeatView| seat.status != SeatStatus::Answered && !seat.is_unneeded();
        self.seats.iter().filter(move |seat| !is_enough && lacks(seat))
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

    /// The early drafts that are finished and that no outcome has reported yet.
    pub(crate) fn finished_drafts(&self) -> impl Iterator<Item = &SeatView> {
        self.drafts().filter(|view| view.status == SeatStatus::Answered && !view.is_reported)
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
}
