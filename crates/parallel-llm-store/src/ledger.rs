//! What a run's events mean for the ledger: which requests were made, how they ended, and what money is reserved for those
//! to come. Pure: what is written of it are the rows of [`LedgerRows`].

use std::collections::BTreeMap;

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::event::{Attempt, Event};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{
    Answer, Code, PicoUsd, ProviderId, Recorded, Reopening, Run, RunPlan, SeatStatus, Usage,
};

use crate::row::call_row::{CallEnd, CallKey, CallSpend, HeardCall, ReconciledCall, SentCall};
use crate::row::event_batch::EventBatch;

/// The outcome of a request that has left and not ended.
const UNDER_WAY: &str = "sent";

/// Money for a request that may still leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) provider: ProviderId,
    pub(crate) amount: PicoUsd,
}

/// What is reserved, by whose request it is for.
pub(crate) type Reservations = BTreeMap<CallerSlot, Reservation>;

/// What an append writes into the ledger, in this order.
#[derive(Debug, Default)]
pub(crate) struct LedgerRows {
    /// Whether a further part begins: nobody will hear of requests of the part before, and nothing is reserved for it.
    pub(crate) settles: bool,
    pub(crate) sent: Vec<SentCall>,
    pub(crate) heard: Vec<HeardCall>,
    pub(crate) reconciled: Vec<ReconciledCall>,
    /// Whether nobody will hear of requests that are still under way.
    pub(crate) loses_track: bool,
    /// Whether nothing is reserved any more.
    pub(crate) releases_all: bool,
    pub(crate) released: Vec<CallerSlot>,
    pub(crate) reserved: Reservations,
}

/// What an event means for requests and money. A new kind of event is asked about here.
enum Effect<'a> {
    None,
    /// The run begins.
    Begins,
    /// A further part of the run begins.
    Continues(&'a Reopening),
    /// A request leaves: from here on the ledger has it, and nothing is reserved for it.
    Leaves(Attempt),
    /// The provider has named the request.
    Named(Attempt, &'a str),
    Ends(Ending<'a>),
    /// The provider reports what a request cost.
    Reconciles(Attempt, CallSpend),
}

/// The end of a request.
struct Ending<'a> {
    attempt: Attempt,
    outcome: &'static str,
    code: Option<Code>,
    answer: Option<&'a Answer>,
    reservation: ReservationChange,
}

/// What the end of a request leaves of its reservation.
enum ReservationChange {
    /// What it was: nothing, since the request left.
    None,
    /// Nothing: no further request of its place follows.
    Release,
    /// Another request of its place follows.
    Renew,
}

impl<'a> Effect<'a> {
    fn of(event: &'a Event) -> Self {
        let end = |attempt: &Attempt, outcome, reservation| Ending {
            attempt: *attempt,
            outcome,
            code: None,
            answer: event.answer(),
            reservation,
        };
        match event {
            Event::Started { .. } => Self::Begins,
            Event::Reopened { reopening, .. } => Self::Continues(reopening),
            Event::Sent { attempt } => Self::Leaves(*attempt),
            Event::Accepted { attempt, generation_id } => Self::Named(*attempt, generation_id),
            Event::Answered { attempt, .. } => Self::Ends(end(attempt, "answered", ReservationChange::None)),
            Event::Cut { attempt, failure, .. } => Self::Ends(Ending {
                code: Some(failure.code),
                ..end(attempt, "cut", ReservationChange::None)
            }),
            Event::Failed { attempt, failure, retry, .. } => {
                let reservation = if *retry == Retry::Never {
                    ReservationChange::Release
                } else {
                    ReservationChange::Renew
                };
                Self::Ends(Ending { code: Some(failure.code), ..end(attempt, "failed", reservation) })
            }
            Event::Cancelled { attempt, .. } => {
                Self::Ends(end(attempt, "cancelled", ReservationChange::Release))
            }
            Event::Reconciled { attempt, cost, usage } => {
                Self::Reconciles(*attempt, CallSpend::of(Some(*cost), false, usage))
            }
            Event::Skipped { .. } | Event::Decided { .. } | Event::Closed { .. } => Self::None,
        }
    }
}

/// What these events demand before they are let in: the worst case of the part of the run they begin. `run` is the run
/// before them. `None` where they begin nothing.
pub(crate) fn demanded(run: &Run, events: &[Recorded]) -> Option<Reservations> {
    events.iter().find_map(|recorded| match Effect::of(&recorded.event) {
        Effect::Begins => {
            let slots = run.plan.called(&run.plan.seats, run.chain(), &run.plan.steps);
            Some(reservations(&run.plan, slots))
        }
        Effect::Continues(reopening) => {
            let plan = reopening.extend(&run.plan);
            Some(reservations(&plan, reopening.called(&run.plan, run.chain())))
        }
        _ => None,
    })
}

/// What calls of these places can cost. For a place whose price is unknown nothing is reserved.
fn reservations(plan: &RunPlan, slots: Vec<CallerSlot>) -> Reservations {
    slots.into_iter().filter_map(|slot| Some((slot, reservation(plan, slot)?))).collect()
}

/// What one request of this place can cost, where that is known and anything.
pub(crate) fn reservation(plan: &RunPlan, slot: CallerSlot) -> Option<Reservation> {
    let amount = plan.worst_request(slot).filter(|amount| *amount > PicoUsd::ZERO)?;
    Some(Reservation { provider: plan.seat_at(slot)?.model.provider.clone(), amount })
}

impl LedgerRows {
    /// What these events write. The run has taken them in already; `demanded` is what is to be reserved for the part of it
    /// that they begin.
    pub(crate) fn of(run: &Run, batch: &EventBatch, demanded: Option<Reservations>, now_ms: i64) -> Self {
        let run_id = run.plan.run_id.to_string();
        let mut changes = Self { settles: batch.reopening().is_some(), ..Self::default() };
        // Nothing is reserved yet of a part that begins here, so there is nothing to give back.
        let begins = demanded.is_some();
        let mut reserved: BTreeMap<CallerSlot, Option<Reservation>> =
            demanded.into_iter().flatten().map(|(slot, it)| (slot, Some(it))).collect();
        let mut heard: BTreeMap<Attempt, HeardCall> = BTreeMap::new();
        for recorded in &batch.events {
            match Effect::of(&recorded.event) {
                Effect::None | Effect::Begins | Effect::Continues(_) => {}
                Effect::Leaves(attempt) => {
                    reserved.insert(attempt.slot, None);
                    changes.sent.extend(sent(&run.plan, &run_id, attempt, now_ms));
                }
                Effect::Named(attempt, generation_id) => {
                    let call = heard.entry(attempt).or_insert_with(|| HeardCall::nothing(&run_id, attempt));
                    if !call.is_over() {
                        call.generation_id = Some(generation_id.to_owned());
                    }
                }
                Effect::Ends(ending) => {
                    match ending.reservation {
                        ReservationChange::None => {}
                        ReservationChange::Release => drop(reserved.insert(ending.attempt.slot, None)),
                        ReservationChange::Renew => {
                            let slot = ending.attempt.slot;
                            reserved.insert(slot, reservation(&run.plan, slot));
                        }
                    }
                    let attempt = ending.attempt;
                    let call = heard.entry(attempt).or_insert_with(|| HeardCall::nothing(&run_id, attempt));
                    // A request ends once: what is said of it later, because a further try was refused, changes nothing.
                    if !call.is_over() {
                        call.end(&ending, recorded.event.cost(), now_ms);
                    }
                }
                Effect::Reconciles(attempt, spend) => {
                    changes.reconciled.push(ReconciledCall { key: CallKey::of(&run_id, attempt), spend });
                }
            }
        }
        changes.heard = heard.into_values().collect();
        if batch.closes() {
            changes.loses_track = run.views().any(|view| view.status == SeatStatus::Unknown);
            changes.releases_all = true;
            return changes;
        }
        for (slot, reservation) in reserved {
            match reservation {
                Some(reservation) => drop(changes.reserved.insert(slot, reservation)),
                None if begins => {}
                None => changes.released.push(slot),
            }
        }
        changes
    }
}

fn sent(plan: &RunPlan, run_id: &str, attempt: Attempt, now_ms: i64) -> Option<SentCall> {
    let seat = plan.seat_at(attempt.slot)?;
    Some(SentCall {
        key: CallKey::of(run_id, attempt),
        provider: seat.model.provider.0.clone(),
        model: seat.model.model.clone(),
        sent_at_ms: now_ms,
        asked_by: plan.asked_by.clone(),
        worst_pico_usd: plan.worst_request(attempt.slot).map(|worst| worst.0),
    })
}

impl HeardCall {
    /// Nothing was heard of this request yet.
    fn nothing(run_id: &str, attempt: Attempt) -> Self {
        Self {
            key: CallKey::of(run_id, attempt),
            end: CallEnd { ended_at_ms: None, outcome: UNDER_WAY.to_owned(), code: None },
            spend: CallSpend::default(),
            generation_id: None,
        }
    }

    fn end(&mut self, ending: &Ending<'_>, cost: Option<PicoUsd>, now_ms: i64) {
        self.end = CallEnd {
            ended_at_ms: Some(now_ms),
            outcome: ending.outcome.to_owned(),
            code: ending.code.map(|code| code.as_str().to_owned()),
        };
        let is_estimate = ending.answer.is_some_and(|answer| answer.cost_is_estimate);
        let usage = ending.answer.map_or_else(Usage::default, |answer| answer.usage);
        self.spend = CallSpend::of(cost, is_estimate, &usage);
        let named = ending.answer.and_then(|answer| answer.generation_id.clone());
        self.generation_id = named.or_else(|| self.generation_id.take());
    }

    /// Whether the request has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.end.outcome != UNDER_WAY
    }
}
