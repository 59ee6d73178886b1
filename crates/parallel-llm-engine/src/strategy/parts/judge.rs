//! Calls that judge: a model is shown answers and says which is better, and what it says is read.

use std::sync::Arc;

use crate::call::upstream_call::Desk;
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
pub(crate) struct Sitting {
    key: StepKey,
    step: StepNumber,
    by: ModelRef,
    shown: Shown,
}

/// What a sitting came to.
pub(crate) struct Ruling {
    pub(crate) verdict: Verdict,
    /// Whose answers the judge thinks tried to instruct it.
    pub(crate) suspected: Vec<SeatNumber>,
}

impl Sitting {
    /// The sitting over these answers in this step; `None` where the plan does not have it.
    pub(crate) fn over(desk: &Desk, key: StepKey, task: (Task, Order), usable: &[Usable]) -> Option<Self> {
        let step = desk.plan.step(key)?.number;
        let place = Place::Step(step);
        let by = desk.plan.seat_at(place)?.model.clone();
        Some(Self { key, step, by, shown: Shown::to(desk, place, task, usable) })
    }

    fn read(&self, reply: &str) -> Result<Ruling, Failure> {
        let read = reply::judgement(reply, &self.shown.labels()).ok_or_else(no_verdict)?;
        let seats = |labels: &[String]| labels.iter().filter_map(|label| self.shown.seat_of(label)).collect();
        let verdict = Verdict { step: self.step, by: self.by.clone(), ranking: seats(&read.ranking) };
        Ok(Ruling { verdict, suspected: seats(&read.suspected_injection) })
    }
}

/// Holds these sittings at once. What each came to, in their order; a failure means that it came to no verdict. Where
/// `is_past` says that others rest on a sitting already, it is not held: what it gave before is all there is.
pub(crate) async fn hold(
    desk: &Arc<Desk>,
    sittings: &[Sitting],
    is_past: impl Fn(StepKey) -> bool,
) -> Vec<Result<Ruling, Failure>> {
    let before = |sitting: &Sitting| {
        let given = call::given_before(desk, Place::Step(sitting.step));
        is_past(sitting.key).then(|| given.unwrap_or_else(|| Err(passed())))
    };
    let before: Vec<_> = sittings.iter().map(before).collect();
    let open = sittings.iter().zip(&before).filter(|(_, before)| before.is_none());
    let calls = open.map(|(sitting, _)| Call {
        place: Place::Step(sitting.step),
        messages: sitting.shown.messages(desk),
        reveal: Reveal::all(),
    });
    let mut gave = call::all(desk, calls.collect()).await.into_iter();
    let read = |(sitting, before): (&Sitting, Option<Result<Answer, Failure>>)| {
        let gave = before.or_else(|| gave.next()).expect("one call, one end");
        sitting.read(&gave?.text)
    };
    sittings.iter().zip(before).map(read).collect()
}

/// Notes which answers judges were shown only a part of, and of each the smallest part.
pub(crate) fn shorten(shortened: &mut Vec<Shortened>, sittings: &[Sitting]) {
    for cut in sittings.iter().flat_map(|sitting| &sitting.shown.shortened) {
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
