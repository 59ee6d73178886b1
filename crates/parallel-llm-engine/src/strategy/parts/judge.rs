//! Calls that judge: a model is shown answers and says which is better, and what it says is read.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::{Place, StepNumber};
use crate::plan::step::StepKey;
use crate::prompt::Task;
use crate::prompt::reply::{self, Reveal};
use crate::request::panel::{ModelRef, SeatNumber};
use crate::run::outcome::{Shortened, Verdict};
use crate::strategy::parts::call::{self, Call};
use crate::strategy::parts::shown::{Order, Shown};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;

/// A call that judges, and what its model is shown.
pub(crate) struct JudgeCall {
    key: StepKey,
    step: StepNumber,
    by: ModelRef,
    shown: Shown,
}

/// What a call came to.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// Whose answers the judge thinks tried to instruct it.
    pub(crate) suspected: Vec<SeatNumber>,
}

impl JudgeCall {
    /// The call over these answers in this step; `None` where the plan does not have it.
    pub(crate) fn over(
        context: &RunContext,
        key: StepKey,
        task: (Task, Order),
        usable: &[Usable],
    ) -> Option<Self> {
        let step = context.plan.step(key)?.number;
        let place = Place::Step(step);
        let by = context.plan.seat_at(place)?.model.clone();
        Some(Self { key, step, by, shown: Shown::to(context, place, task, usable) })
    }

    fn read(&self, reply: &str) -> Result<Judgement, Failure> {
        let read = reply::judgement(reply, &self.shown.labels()).ok_or_else(no_verdict)?;
        let seats = |labels: &[String]| labels.iter().filter_map(|label| self.shown.seat_of(label)).collect();
        let verdict = Verdict { step: self.step, by: self.by.clone(), ranking: seats(&read.ranking) };
        Ok(Judgement { verdict, suspected: seats(&read.suspected_injection) })
    }
}

/// Holds these calls at once. What each came to, in their order; a failure means that it came to no verdict. Where
/// `is_past` says that others rest on a call already, it is not held: what it gave before is all there is.
pub(crate) async fn hold(
    context: &Arc<RunContext>,
    calls: &[JudgeCall],
    is_past: impl Fn(StepKey) -> bool,
) -> Vec<Result<Judgement, Failure>> {
    let before = |call: &JudgeCall| {
        let given = call::given_before(context, Place::Step(call.step));
        is_past(call.key).then(|| given.unwrap_or_else(|| Err(passed())))
    };
    let before: Vec<_> = calls.iter().map(before).collect();
    let open = calls.iter().zip(&before).filter(|(_, before)| before.is_none());
    let asked = open.map(|(call, _)| Call {
        place: Place::Step(call.step),
        messages: call.shown.messages(context),
        reveal: Reveal::all(),
    });
    let mut gave = call::all(context, asked.collect()).await.into_iter();
    let read = |(call, before): (&JudgeCall, Option<Result<Answer, Failure>>)| {
        let gave = before.or_else(|| gave.next()).expect("one call, one end");
        call.read(&gave?.text)
    };
    calls.iter().zip(before).map(read).collect()
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
    Failure::new(Code::Protocol, "its reply names no answer").with_next("see what it wrote with `runs show`")
}

pub(crate) fn passed() -> Failure {
    Failure::new(Code::Interrupted, "it gave none before the run went on without it")
        .with_next("what came after rests on that, so it was not asked again")
}
