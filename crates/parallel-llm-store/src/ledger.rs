//! What a run's events mean for the ledger: which requests were made, how they ended, and what money is still held
//! for those to come. Pure; `sqlite::ledger` writes it down.

use std::collections::BTreeMap;

use parallel_llm_engine::plan::caller_slot::Place;
use parallel_llm_engine::run::event::{Attempt, Event};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Code, PicoUsd, ProviderId, Recorded, Run, RunPlan, Usage};

/// The outcome of a request that has left and not ended.
const UNDER_WAY: &str = "sent";

/// Money for a request that may still leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) provider: ProviderId,
    pub(crate) amount: PicoUsd,
}

/// What is held, by whose request it is for.
pub(crate) type Holds = BTreeMap<Place, Hold>;

/// What was heard of a request that had left.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    /// How it ended; [`UNDER_WAY`] where it has not.
    pub(crate) outcome: &'static str,
    pub(crate) code: Option<Code>,
    pub(crate) cost: Option<PicoUsd>,
    pub(crate) cost_is_estimate: bool,
    pub(crate) usage: Usage,
    pub(crate) generation_id: Option<&'a str>,
}

/// What these events demand before they are let in: the worst case of the part of the run they begin. `run` is the run
/// before them. `None` where they begin nothing.
pub(crate) fn demanded(run: &Run, events: &[Recorded]) -> Option<Holds> {
    events.iter().find_map(|recorded| match &recorded.event {
        Event::Started { .. } => {
            Some(holds(&run.plan, run.plan.called(&run.plan.seats, run.chain(), &run.plan.steps)))
        }
        Event::Reopened { reopening, .. } => {
            let plan = reopening.extend(&run.plan);
            Some(holds(&plan, reopening.called(&run.plan, run.chain())))
        }
        _ => None,
    })
}

/// What calls of these places can cost. A place whose price is unknown holds nothing.
fn holds(plan: &RunPlan, places: Vec<Place>) -> Holds {
    places.into_iter().filter_map(|place| Some((place, hold(plan, place)?))).collect()
}

/// What one request of this place can cost, where that is known and anything.
pub(crate) fn hold(plan: &RunPlan, place: Place) -> Option<Hold> {
    let amount = plan.worst_request(place).filter(|amount| *amount > PicoUsd::ZERO)?;
    Some(Hold { provider: plan.seat_at(place)?.model.provider.clone(), amount })
}

/// What these events change of what is held: money that is needed (again), and `None` for a place that needs none any
/// more, because its request has left or never will. `plan` is what holds after them.
pub(crate) fn holds_changed(plan: &RunPlan, events: &[Recorded]) -> BTreeMap<Place, Option<Hold>> {
    let mut changed = BTreeMap::new();
    for recorded in events {
        let (attempt, hold) = match &recorded.event {
            Event::Sent { attempt }
            | Event::Failed { attempt, retry: Retry::Never, .. }
            | Event::Cancelled { attempt, .. } => (attempt, None),
            Event::Failed { attempt, .. } => (attempt, hold(plan, attempt.place)),
            _ => continue,
        };
        changed.insert(attempt.place, hold);
    }
    changed
}

/// What these events tell of requests that had left. The first end that is told of one stands.
pub(crate) fn told(events: &[Recorded]) -> BTreeMap<Attempt, Told<'_>> {
    let mut told: BTreeMap<Attempt, Told<'_>> = BTreeMap::new();
    for event in events.iter().map(|recorded| &recorded.event) {
        let Some((attempt, heard)) = event.attempt().zip(Told::of(event)) else { continue };
        let before = told.entry(attempt).or_default();
        if !before.is_over() {
            *before = Told { generation_id: heard.generation_id.or(before.generation_id), ..heard };
        }
    }
    told
}

impl Default for Told<'_> {
    fn default() -> Self {
        Self {
            outcome: UNDER_WAY,
            code: None,
            cost: None,
            cost_is_estimate: false,
            usage: Usage::default(),
            generation_id: None,
        }
    }
}

impl<'a> Told<'a> {
    /// What an event tells of its request, where it tells anything.
    fn of(event: &'a Event) -> Option<Self> {
        let outcome = match event {
            Event::Accepted { generation_id, .. } => {
                return Some(Self { generation_id: Some(generation_id), ..Self::default() });
            }
            Event::Answered { .. } => "answered",
            Event::Cut { .. } => "cut",
            Event::Failed { .. } => "failed",
            Event::Cancelled { .. } => "cancelled",
            _ => return None,
        };
        let code = match event {
            Event::Failed { failure, .. } | Event::Cut { failure, .. } => Some(failure.code),
            _ => None,
        };
        let answer = event.answer();
        Some(Self {
            outcome,
            code,
            cost: event.cost(),
            cost_is_estimate: answer.is_some_and(|answer| answer.cost_is_estimate),
            usage: answer.map_or_else(Usage::default, |answer| answer.usage),
            generation_id: answer.and_then(|answer| answer.generation_id.as_deref()),
        })
    }

    /// Whether the request has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.outcome != UNDER_WAY
    }
}
