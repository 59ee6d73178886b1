//! One text by one synthesizer: asked for in one call that compares and writes, or in two, the first of which only compares.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::reply::{self, Reveal};
use crate::prompt::{Candidate, Task};
use crate::request::panel::{Seat, SeatNumber};
use crate::request::strategy::Mode;
use crate::run::outcome::{Reading, Shortened};
use crate::strategy::parts::call::{self, PlannedCall, Rests};
use crate::strategy::parts::shown::{Assignment, Shown};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::Operation;
use crate::value::warning::Warning;

/// A text, and what is known of how it was made.
pub(crate) struct FusedText {
    pub(crate) text: String,
    /// Whose answer it started from, where it did and that was named.
    pub(crate) base: Option<SeatNumber>,
    /// Whose answers tried to instruct the synthesizer, as far as it says.
    pub(crate) suspected: Vec<SeatNumber>,
    pub(crate) shortened: Vec<Shortened>,
    pub(crate) cost: Option<PicoUsd>,
    pub(crate) is_truncated: bool,
    /// The reply that holds the analysis behind it.
    pub(crate) reading: Option<Reading>,
    pub(crate) warnings: Vec<Warning>,
}

/// An analyst's reply, and what was read in it.
struct Analysed {
    analysis: reply::Analysis,
    answer: Answer,
}

/// A call that compares, or compares and writes.
pub(crate) struct FusionCall {
    slot: CallerSlot,
    shown: Shown,
    is_analyst: bool,
}

impl FusionCall {
    /// What a synthesizer is asked first.
    pub(crate) fn first(context: &RunContext, by: &Seat, usable: &[Usable]) -> Self {
        let own = CallerSlot::Synthesizer(by.number);
        let key = StepKey { role: StepRole::Analyst, by: own, round: 1 };
        let step = Some(key).filter(|_| context.plan.strategy_options.is_analysis_separate());
        match step.and_then(|key| context.plan.step(key)) {
            Some(step) => {
                let slot = CallerSlot::Step(step.number);
                let shown = shown(context, slot, Task::Analyse, usable, String::new());
                Self { slot, shown, is_analyst: true }
            }
            None => Self::whole(context, own, usable),
        }
    }

    /// One call for all of it.
    pub(crate) fn whole(context: &RunContext, slot: CallerSlot, usable: &[Usable]) -> Self {
        let task = if is_anchored(context) { Task::Synthesize } else { Task::Free };
        Self::over(slot, shown(context, slot, task, usable, String::new()))
    }

    /// One call of whoever is shown this.
    pub(crate) const fn over(slot: CallerSlot, shown: Shown) -> Self {
        Self { slot, shown, is_analyst: false }
    }

    pub(crate) fn call(&self, context: &RunContext) -> PlannedCall {
        // Of several texts nobody knows yet which stands.
        let is_last = match self.slot {
            CallerSlot::Synthesizer(_) => true,
            slot => context.plan.role_of(slot) == Some(StepRole::Draft),
        };
        let is_shown = is_last && !context.plan.strategy_options.is_paranoid();
        let reveal = if is_shown { Reveal::answer(&self.shown.nonce) } else { Reveal::nothing() };
        PlannedCall { slot: self.slot, messages: self.shown.messages(context), reveal, rests: Rests::Nothing }
    }

    /// The text that comes of it, for which an analyst's reply needs one call more.
    pub(crate) async fn finish(
        self,
        context: &Arc<RunContext>,
        by: &Seat,
        usable: &[Usable],
        gave: Result<Answer, Failure>,
    ) -> Result<FusedText, Failure> {
        if !self.is_analyst {
            return self.read(context, &gave?);
        }
        let analysed = gave.and_then(|answer| {
            let analysis = reply::comparison(&answer.text, &self.shown.names()).ok_or_else(unreadable)?;
            Ok(Analysed { analysis, answer })
        });
        match analysed {
            Ok(analysed) => self.write(context, by, usable, analysed).await,
            Err(failure) if failure.code == Code::Cancelled => Err(failure),
            Err(failure) => {
                let inline = Self::whole(context, CallerSlot::Synthesizer(by.number), usable);
                let answer = call::make(context, inline.call(context)).await?;
                let mut draft = inline.read(context, &answer)?;
                let what = "the answers were compared and fused in one call, for the analysis failed";
                draft.warnings.push(Warning::of(what, &failure));
                Ok(draft)
            }
        }
    }

    /// Has the text written by whoever is shown the analysis, too.
    async fn write(
        self,
        context: &Arc<RunContext>,
        by: &Seat,
        usable: &[Usable],
        Analysed { analysis, answer: reply }: Analysed,
    ) -> Result<FusedText, Failure> {
        let task = if is_anchored(context) { Task::Write } else { Task::WriteFree };
        let analysis = reply::Analysis { base: analysis.base.filter(|_| is_anchored(context)), ..analysis };
        let slot = CallerSlot::Synthesizer(by.number);
        let shown = shown(context, slot, task, usable, analysis.rendered(&self.shown.names()));
        let reveal = if context.plan.strategy_options.is_paranoid() {
            Reveal::nothing()
        } else {
            Reveal::text(&shown.nonce)
        };
        let call = PlannedCall { slot, messages: shown.messages(context), reveal, rests: Rests::Nothing };
        let answer = call::make(context, call).await?;
        let text = reply::plain_text(&answer.text, &shown.codes(context));
        let written = FusedText {
            text,
            base: analysis.base,
            suspected: analysis.suspected,
            shortened: shown.shortened,
            cost: sum([reply.cost, answer.cost]),
            is_truncated: answer.truncated(),
            reading: Some(self.shown.reading(&reply)),
            warnings: Vec::new(),
        };
        written.unless_unwritten(&shown.candidates)
    }

    /// A reply that holds all of it.
    pub(crate) fn read(&self, context: &RunContext, answer: &Answer) -> Result<FusedText, Failure> {
        let fusion = reply::fusion(&answer.text, &self.shown.codes(context), &self.shown.labels());
        let seat_of = |label: &String| self.shown.seat_of(label);
        let read = FusedText {
            base: fusion.base.as_ref().filter(|_| is_anchored(context)).and_then(seat_of),
            suspected: fusion.suspected_injection.iter().filter_map(seat_of).collect(),
            text: fusion.text,
            shortened: self.shown.shortened.clone(),
            cost: answer.cost,
            is_truncated: answer.truncated(),
            reading: Some(self.shown.reading(answer)),
            warnings: Vec::new(),
        };
        read.unless_unwritten(&self.shown.candidates)
    }
}

impl FusedText {
    /// The text, where it is one. A refusal is none where most answers do what was asked: the synthesizer has not done its
    /// work then, and the answers were paid for. Where most decline as well, it may have made of them what they come to.
    fn unless_unwritten(self, candidates: &[Candidate]) -> Result<Self, Failure> {
        if self.text.is_empty() {
            return Err(no_answer());
        }
        let refused = candidates.iter().filter(|one| reply::is_refusal(&one.text)).count();
        if refused * 2 < candidates.len() && reply::is_refusal(&self.text) {
            return Err(refusal());
        }
        Ok(self)
    }
}

pub(crate) fn no_answer() -> Failure {
    Failure::new(Code::Empty, "it wrote no answer")
}

pub(crate) fn refusal() -> Failure {
    Failure::new(Code::Refused, "it declined to write one, although most answers do what was asked")
        .with_next(Operation::ShowRun)
}

/// What the model of this place is shown of the answers, beside what is known of them already.
fn shown(context: &RunContext, slot: CallerSlot, task: Task, usable: &[Usable], analysis: String) -> Shown {
    Shown::beside(context, slot, Assignment::once(task), usable, analysis).counted(context, usable)
}

/// What is known of these costs together; `None` where nothing is.
pub(crate) fn sum(costs: impl IntoIterator<Item = Option<PicoUsd>>) -> Option<PicoUsd> {
    costs.into_iter().flatten().reduce(PicoUsd::plus)
}

/// Whether a text starts from one of the answers.
pub(crate) fn is_anchored(context: &RunContext) -> bool {
    context.plan.strategy_options.mode.unwrap_or_default() == Mode::Anchored
}

fn unreadable() -> Failure {
    Failure::new(Code::Protocol, "its reply holds no analysis").with_next(Operation::ShowRun)
}
