//! Judge calls: a model is shown answers, and its ranking or grouping is read.

use std::sync::Arc;

use super::call::{self, Dependents, PlannedCall, Question};
use super::shown::{Assignment, Order, Shown};
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::Task;
use crate::prompt::reply::{self, Reveal};
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::run::outcome::{Reading, Shortened, Verdict};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::next::Operation;

/// One call to a judge, with the answers it is shown.
pub(crate) struct JudgeCall {
    step: StepNumber,
    by: ModelRef,
    task: Task,
    shown: Shown,
    dependents: Dependents,
}

/// The judgement of one call.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// The seats the judge suspects of instructions.
    pub(crate) suspected: Vec<SeatNumber>,
    /// The reply.
    pub(crate) reading: Reading,
    /// What a reviewer objects to which answer.
    pub(crate) objections: Vec<(SeatNumber, String)>,
}

impl JudgeCall {
    /// The call for these answers in the step of `key`; `None` if the plan does not have the step.
    pub(crate) fn about(
        context: &RunContext,
        key: StepKey,
        dependents: Dependents,
        assignment: Assignment,
        usable: &[Usable],
    ) -> Option<Self> {
        let step = context.plan.step(key)?.number;
        let slot = CallerSlot::Step(step);
        let by = context.plan.seat_at(slot)?.model.clone();
        let shown = Shown::to(context, slot, assignment, usable);
        Some(Self { step, by, task: assignment.task, shown, dependents })
    }

    fn read(&self, reply: &Answer) -> Result<Judgement, Failure> {
        let labels = self.shown.labels();
        let read = match self.task {
            Task::Consistency => reply::largest_group(&reply.text, &labels),
            _ => reply::judgement(&reply.text, &labels),
        };
        let read = read.ok_or_else(no_judgement)?;
        let seats = |labels: &[String]| labels.iter().filter_map(|label| self.shown.seat_of(label)).collect();
        let (ranking, tied) = (seats(&read.ranking), seats(&read.tied));
        let objections = match self.task {
            Task::Review => reply::objections(&reply.text, &self.shown.labelled_seats()),
            _ => Vec::new(),
        };
        Ok(Judgement {
            verdict: Verdict { step: self.step, by: self.by.clone(), ranking, tied },
            suspected: seats(&read.suspected),
            reading: self.shown.reading(reply),
            objections,
        })
    }
}

/// The calls for a question to a judge: one for each order of the answers.
pub(crate) fn calls(
    context: &RunContext,
    judge: &Seat,
    question: Question,
    task: Task,
    usable: &[Usable],
) -> impl Iterator<Item = JudgeCall> {
    let orders = [Order::Forward, Order::Backward].into_iter().zip(1..=question.orders);
    orders.filter_map(move |(order, number)| {
        let round = question.round(number);
        let key = StepKey { role: StepRole::Judge, by: CallerSlot::Synthesizer(judge.number), round };
        JudgeCall::about(context, key, Dependents::Questions(question), Assignment { task, order }, usable)
    })
}

/// Makes these calls and returns their judgements in order.
pub(crate) async fn ask(context: &Arc<RunContext>, calls: &[JudgeCall]) -> Vec<Result<Judgement, Failure>> {
    let wanted = calls.iter().map(|call| PlannedCall {
        slot: CallerSlot::Step(call.step),
        prompt: call.shown.prompt(context),
        reveal: Reveal::all(),
        dependents: call.dependents,
    });
    let gave = call::all(context, wanted.collect()).await;
    calls.iter().zip(gave).map(|(call, gave)| call.read(&gave?)).collect()
}

/// Adds the answers that judges were shown only in part, each with its smallest part.
pub(crate) fn shorten(shortened: &mut Vec<Shortened>, calls: &[JudgeCall]) {
    for cut in calls.iter().flat_map(|call| &call.shown.shortened) {
        match shortened.iter_mut().find(|known| known.seat == cut.seat) {
            Some(known) => known.to_chars = known.to_chars.min(cut.to_chars),
            None => shortened.push(cut.clone()),
        }
    }
    shortened.sort_by_key(|cut| cut.seat);
}

/// The failure of a reply that names no answer.
pub(crate) fn no_judgement() -> Failure {
    Failure::new(Code::Protocol, "its reply names no answer").with_next(Operation::ShowRun)
}
