//! One text by one synthesizer: in one call that compares and writes, or in two calls.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::reply::{self, Reveal};
use crate::prompt::{Candidate, Task};
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::{Reading, Shortened};
use crate::strategy::parts::calls::call::{self, Dependents, PlannedCall};
use crate::strategy::parts::calls::shown::{Assignment, Beside, Shown, ShownAnalysis};
use crate::strategy::parts::texts::written::{self, WrittenText};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::Operation;
use crate::value::warning::Warning;

/// A fused text, and how it was made.
pub(crate) struct FusedText {
    pub(crate) text: String,
    /// The seat whose answer the synthesizer named instead of writing a text. `text` is then this answer as it was shown.
    pub(crate) picked: Option<SeatNumber>,
    /// The seat whose answer it started from, if the synthesizer named it.
    pub(crate) base: Option<SeatNumber>,
    /// The seats the synthesizer suspects of instructions.
    pub(crate) suspected: Vec<SeatNumber>,
    pub(crate) shortened: Vec<Shortened>,
    pub(crate) cost: Option<PicoUsd>,
    pub(crate) is_truncated: bool,
    /// The reply with the analysis.
    pub(crate) reading: Option<Reading>,
    pub(crate) warnings: Vec<Warning>,
}

/// An analyst's reply, and the analysis in it.
struct Analysed {
    analysis: reply::Analysis,
    answer: Answer,
}

/// A call that compares the answers, or compares and writes.
pub(crate) struct FusionCall {
    slot: CallerSlot,
    shown: Shown,
    is_analyst: bool,
}

impl FusionCall {
    /// The first call of a synthesizer: of the analyst if the analysis is separate.
    pub(crate) fn first(context: &RunContext, by: &Seat, usable: &[Usable]) -> Self {
        let own = CallerSlot::Synthesizer(by.number);
        let key = StepKey { role: StepRole::Analyst, by: own, round: 1 };
        let step = Some(key).filter(|_| context.plan.strategy_options.is_analysis_separate());
        match step.and_then(|key| context.plan.step(key)) {
            Some(step) => {
                let slot = CallerSlot::Step(step.number);
                let shown = Shown::to(context, slot, Assignment::once(Task::Analyse), usable);
                Self { slot, shown, is_analyst: true }
            }
            None => Self::whole(context, own, usable),
        }
    }

    /// A single call that compares and writes.
    pub(crate) fn whole(context: &RunContext, slot: CallerSlot, usable: &[Usable]) -> Self {
        Self::over(slot, Shown::to(context, slot, Assignment::once(Task::Synthesize), usable))
    }

    /// A single call with `shown`.
    pub(crate) const fn over(slot: CallerSlot, shown: Shown) -> Self {
        Self { slot, shown, is_analyst: false }
    }

    pub(crate) fn call(&self, context: &RunContext) -> PlannedCall {
        // In paranoid mode no text is shown, because it is not known yet which one will be chosen. That of a stage is shown
        // only if it is the text of the run.
        let is_last = match self.slot {
            CallerSlot::Synthesizer(_) => true,
            slot => context.plan.role_of(slot) == Some(StepRole::Draft),
        };
        let is_shown = is_last && context.is_last() && !context.plan.strategy_options.is_paranoid();
        let reveal = if is_shown { Reveal::answer(&self.shown.nonce) } else { Reveal::nothing() };
        PlannedCall {
            slot: self.slot,
            prompt: self.shown.prompt(context),
            reveal,
            dependents: Dependents::Nothing,
        }
    }

    /// The text from the result of the first call. After an analyst's reply it takes a second call.
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
            let analysis =
                reply::comparison(&answer.text, &self.shown.labelled_seats()).ok_or_else(unreadable)?;
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

    /// Makes the second call, which is shown the analysis and writes the text.
    async fn write(
        self,
        context: &Arc<RunContext>,
        by: &Seat,
        usable: &[Usable],
        Analysed { analysis, answer: reply }: Analysed,
    ) -> Result<FusedText, Failure> {
        let slot = CallerSlot::Synthesizer(by.number);
        let reading = self.shown.reading(&reply);
        let text = analysis.rendered(&self.shown.labelled_seats());
        let beside = Beside::Analysis(ShownAnalysis { reading: reading.clone(), text });
        let shown = Shown::beside(context, slot, Assignment::once(Task::Write), usable, beside);
        let is_shown = context.is_last() && !context.plan.strategy_options.is_paranoid();
        let reveal = if is_shown { Reveal::text(&shown.nonce) } else { Reveal::nothing() };
        let call =
            PlannedCall { slot, prompt: shown.prompt(context), reveal, dependents: Dependents::Nothing };
        let answer = call::make(context, call).await?;
        let text = reply::plain_text(&answer.text, &shown.codes(context));
        let (text, picked) = judged(context, &shown, slot, &answer, &text)?;
        let written = FusedText {
            text,
            picked,
            base: analysis.base,
            suspected: analysis.suspected,
            shortened: shown.shortened,
            cost: sum([reply.cost, answer.cost]),
            is_truncated: answer.truncated(),
            reading: Some(reading),
            warnings: Vec::new(),
        };
        written.unless_refused(&shown.candidates)
    }

    /// Reads the reply of a single call.
    pub(crate) fn read(&self, context: &RunContext, answer: &Answer) -> Result<FusedText, Failure> {
        let fusion = reply::fusion(&answer.text, &self.shown.codes(context), &self.shown.labels());
        let seat_of = |label: &String| self.shown.seat_of(label);
        let (text, picked) = judged(context, &self.shown, self.slot, answer, &fusion.text)?;
        let read = FusedText {
            picked,
            base: fusion.base.as_ref().and_then(seat_of),
            suspected: fusion.suspected.iter().filter_map(seat_of).collect(),
            text,
            shortened: self.shown.shortened.clone(),
            cost: answer.cost,
            is_truncated: answer.truncated(),
            reading: Some(self.shown.reading(answer)),
            warnings: Vec::new(),
        };
        read.unless_refused(&self.shown.candidates)
    }
}

impl FusedText {
    /// Fails for a refusal if most answers are none: then the synthesizer has not done its work. If most answers are refusals, a
    /// refusal is the right fusion of them.
    fn unless_refused(self, candidates: &[Candidate]) -> Result<Self, Failure> {
        let refused = candidates.iter().filter(|one| reply::is_refusal(&one.text)).count();
        if refused * 2 < candidates.len() && reply::is_refusal(&self.text) {
            return Err(refusal());
        }
        Ok(self)
    }
}

/// The text of a reply, above the floor: what was written, or the answer that was named and its seat. A text that the output
/// cap cut is used only if nothing whole can be had, neither from the next synthesizer nor from the answers.
fn judged(
    context: &RunContext,
    shown: &Shown,
    slot: CallerSlot,
    answer: &Answer,
    text: &str,
) -> Result<(String, Option<SeatNumber>), Failure> {
    let is_last = context.chain_slots().last() == Some(&slot);
    Ok(match written::judge(context, shown, answer, text, shown.has_whole() || !is_last)? {
        WrittenText::Text(text) => (text, None),
        WrittenText::Pick(seat) => (shown.text_of(seat).to_owned(), Some(seat)),
    })
}

pub(crate) fn no_answer() -> Failure {
    Failure::new(Code::Empty, "it wrote no answer")
}

pub(crate) fn refusal() -> Failure {
    Failure::new(Code::Refused, "it declined to write one, although most answers do what was asked")
        .with_next(Operation::ShowRun)
}

/// The sum of the known costs; `None` if none is known.
pub(crate) fn sum(costs: impl IntoIterator<Item = Option<PicoUsd>>) -> Option<PicoUsd> {
    costs.into_iter().flatten().reduce(PicoUsd::plus)
}

fn unreadable() -> Failure {
    Failure::new(Code::Protocol, "its reply holds no analysis").with_next(Operation::ShowRun)
}
