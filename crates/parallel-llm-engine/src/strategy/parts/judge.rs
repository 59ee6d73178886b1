//! Calls that judge: a model is shown answers and says which is better, and what it says is read.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::Task;
use crate::prompt::reply::{self, Reveal};
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::run::outcome::{Shortened, Verdict};
use crate::strategy::parts::call::{self, PlannedCall, Question, Rests};
use crate::strategy::parts::shown::{Assignment, Order, Shown};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::Operation;

/// A call in which a model judges answers, what it is shown of them, and what rests on it.
pub(crate) struct JudgeCall {
    step: StepNumber,
    by: ModelRef,
    shown: Shown,
    rests: Rests,
}

/// What a judge made of the answers it was shown.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// Whose answers the judge thinks tried to instruct it.
    pub(crate) suspected: Vec<SeatNumber>,
}

impl JudgeCall {
    /// The call about these answers in this step, and what rests on it; `None` where the plan does not have it.
    pub(crate) fn about(
        context: &RunContext,
        key: StepKey,
        rests: Rests,
        assignment: Assignment,
        usable: &[Usable],
    ) -> Option<Self> {
        let step = context.plan.step(key)?.number;
        let slot = CallerSlot::Step(step);
        let by = context.plan.seat_at(slot)?.model.clone();
        Some(Self { step, by, shown: Shown::to(context, slot, assignment, usable), rests })
    }

    fn read(&self, reply: &str) -> Result<Judgement, Failure> {
        let read = reply::judgement(reply, &self.shown.labels()).ok_or_else(no_verdict)?;
        let seats = |labels: &[String]| labels.iter().filter_map(|label| self.shown.seat_of(label)).collect();
        let verdict = Verdict { step: self.step, by: self.by.clone(), ranking: seats(&read.ranking) };
        Ok(Judgement { verdict, suspected: seats(&read.suspected_injection) })
    }
}

/// The calls that put a question about these answers to a judge: one in each order of the answers.
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
        JudgeCall::about(context, key, Rests::Questions(question), Assignment { task, order }, usable)
    })
}

/// What each of these calls came to, in their order; a failure means that it came to no verdict.
pub(crate) async fn ask(context: &Arc<RunContext>, calls: &[JudgeCall]) -> Vec<Result<Judgement, Failure>> {
    let wanted = calls.iter().map(|call| PlannedCall {
        slot: CallerSlot::Step(call.step),
        messages: call.shown.messages(context),
        reveal: Reveal::all(),
        rests: call.rests,
    });
    let gave = call::all(context, wanted.collect()).await;
    calls.iter().zip(gave).map(|(call, gave)| call.read(&gave?.text)).collect()
}

/// Notes which answers judges were shown only a part of, and of each the smallest part.
pub(crate) fn shorten(shortened: &mut Vec<Shortened>, calls: &[JudgeCall]) {
    for cut in calls.iter().flat_map(|call| &call.shown.shortened) {
        match shortened.iter_mut().find(|known| known.seat == cut.seat) {
            Some(known) => known.to_chars = known.to_chars.min(cut.to_chars),
            None => shortened.push(cut.clone()),
        }
    }
    shortened.sort_by_key(|cut| cut.seat);
}

pub(crate) fn no_verdict() -> Failure {
    Failure::new(Code::Protocol, "its reply names no answer").with_next(Operation::ShowRun)
}
