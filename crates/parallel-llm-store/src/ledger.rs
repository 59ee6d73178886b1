//! Derives ledger entries from a run's events: requests, their outcomes, and reservations for later ones.
//!
//! Pure code: it returns the rows to write as [`LedgerRows`].

use std::collections::BTreeMap;

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::event::{Attempt, Event};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{
    Answer, Code, ModelRef, PicoUsd, ProviderId, Recorded, Reopening, Run, RunPlan, Seat, SeatStatus, Usage,
};

use crate::row::call_row::{CallEnd, CallKey, CallSpend, FirstToken, HeardCall, ReconciledCall, SentCall};
use crate::row::event_batch::EventBatch;
use crate::row::integer;

/// The outcome of a request in flight.
const UNDER_WAY: &str = "sent";

/// Money reserved for a request that has not been sent yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) provider: ProviderId,
    pub(crate) amount: PicoUsd,
}

/// Reservations by the slot whose request they cover.
pub(crate) type Reservations = BTreeMap<CallerSlot, Reservation>;

/// What a run, a part of one or a request demands of the day's limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demanded {
    pub(crate) reservations: Reservations,
    /// The models that may be called and have no known price: under a limit they are not.
    pub(crate) unpriced: Vec<ModelRef>,
}

impl Demanded {
    /// The demand of a run that begins, with these synthesizers.
    pub(crate) fn of_run(plan: &RunPlan, chain: &[Seat]) -> Self {
        let slots = plan.called(&plan.seats, chain, &plan.steps);
        let worst_case = plan.worst_case_of(&plan.seats, chain, &plan.steps);
        Self { reservations: reservations(plan, slots), unpriced: worst_case.unpriced().to_vec() }
    }

    /// The demand of one request that can cost this much at most; `None` if its price is unknown.
    pub(crate) fn of_call(plan: &RunPlan, slot: CallerSlot, worst_case: Option<PicoUsd>) -> Self {
        let Some(seat) = plan.seat_at(slot) else { return Self::default() };
        let Some(amount) = worst_case else {
            return Self { unpriced: vec![seat.model.clone()], ..Self::default() };
        };
        let reservation = Reservation { provider: seat.model.provider.clone(), amount };
        Self { reservations: [(slot, reservation)].into(), ..Self::default() }
    }
}

/// The changes that an append makes to the ledger, in this order.
#[derive(Debug, Default)]
pub(crate) struct LedgerRows {
    /// Whether a further part of the run begins: open requests of the earlier part become unknown, and its reservations
    /// end.
    pub(crate) settles: bool,
    pub(crate) sent: Vec<SentCall>,
    pub(crate) heard: Vec<HeardCall>,
    pub(crate) reconciled: Vec<ReconciledCall>,
    /// Whether requests still in flight become unknown.
    pub(crate) loses_track: bool,
    /// Whether all reservations end.
    pub(crate) releases_all: bool,
    pub(crate) released: Vec<CallerSlot>,
    pub(crate) reserved: Reservations,
}

/// The effect of an event on requests and money. Every kind of event must be handled here.
enum Effect<'a> {
    None,
    /// The run begins.
    Begins,
    /// A further part of the run begins.
    Continues(&'a Reopening),
    /// A request is sent: the ledger counts it from now on, and its reservation ends.
    Leaves(Attempt, Option<PicoUsd>),
    /// The provider has assigned an id to the request.
    Named(Attempt, &'a str),
    Ends(Ending<'a>),
    /// The provider reports the cost of an earlier request.
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

/// The effect of a request's end on its slot's reservation.
enum ReservationChange {
    /// The reservation has already ended when the request was sent.
    None,
    /// No further request of this slot follows.
    Release,
    /// Another request of this slot follows.
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
            Event::Sent { attempt, worst_case, .. } => Self::Leaves(*attempt, *worst_case),
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
            Event::Merged { held, .. } => Self::of(held),
            Event::Skipped { .. }
            | Event::StageDecided { .. }
            | Event::Decided { .. }
            | Event::Closed { .. } => Self::None,
        }
    }
}

/// The reservations needed before these events may be written: the worst case of the part of the run that they begin.
/// `run` is the run before them. `None` if they begin nothing.
pub(crate) fn demanded(run: &Run, events: &[Recorded]) -> Option<Demanded> {
    events.iter().find_map(|recorded| match Effect::of(&recorded.event) {
        Effect::Begins => Some(Demanded::of_run(&run.plan, run.chain())),
        Effect::Continues(reopening) => {
            let worst_case = reopening.worst_case(&run.plan, run.chain());
            let plan = reopening.extend(&run.plan);
            let reservations = reservations(&plan, reopening.called(&plan, run.chain()));
            Some(Demanded { reservations, unpriced: worst_case.unpriced().to_vec() })
        }
        _ => None,
    })
}

/// The worst-case cost of calls of these slots.
fn reservations(plan: &RunPlan, slots: Vec<CallerSlot>) -> Reservations {
    slots.into_iter().filter_map(|slot| Some((slot, reservation(plan, slot)?))).collect()
}

/// The worst-case cost of one request of this slot, if it is known and not zero.
pub(crate) fn reservation(plan: &RunPlan, slot: CallerSlot) -> Option<Reservation> {
    let amount = plan.worst_request(slot).filter(|amount| *amount > PicoUsd::ZERO)?;
    Some(Reservation { provider: plan.seat_at(slot)?.model.provider.clone(), amount })
}

impl LedgerRows {
    /// The rows for these events. `run` already includes them; `demanded` are the reservations of the part of the run
    /// that they begin.
    pub(crate) fn of(run: &Run, batch: &EventBatch, demanded: Option<Reservations>, now_ms: i64) -> Self {
        let run_id = run.plan.run_id.to_string();
        let mut changes = Self { settles: batch.reopening().is_some(), ..Self::default() };
        // A part that begins here has no earlier reservations to release.
        let begins = demanded.is_some();
        let mut reserved: BTreeMap<CallerSlot, Option<Reservation>> =
            demanded.into_iter().flatten().map(|(slot, it)| (slot, Some(it))).collect();
        let mut heard: BTreeMap<Attempt, HeardCall> = BTreeMap::new();
        for recorded in &batch.events {
            match Effect::of(&recorded.event) {
                Effect::None | Effect::Begins | Effect::Continues(_) => {}
                Effect::Leaves(attempt, worst_case) => {
                    reserved.insert(attempt.slot, None);
                    changes.sent.extend(sent(&run.plan, &run_id, attempt, worst_case, now_ms));
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
                    // Only the first end counts: a later event about the same request only says that a retry was
                    // refused.
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
        if batch.closes() || (batch.merges() && run.closed) {
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

fn sent(
    plan: &RunPlan,
    run_id: &str,
    attempt: Attempt,
    worst_case: Option<PicoUsd>,
    now_ms: i64,
) -> Option<SentCall> {
    let seat = plan.seat_at(attempt.slot)?;
    Some(SentCall {
        key: CallKey::of(run_id, attempt),
        provider: seat.model.provider.0.clone(),
        model: seat.model.model.clone(),
        sent_at_ms: now_ms,
        asked_by: plan.asked_by.clone(),
        worst_pico_usd: plan.worst_sent(attempt.slot, worst_case).map(|worst| worst.0),
    })
}

impl HeardCall {
    /// An entry for a request about which nothing is known yet.
    fn nothing(run_id: &str, attempt: Attempt) -> Self {
        Self {
            key: CallKey::of(run_id, attempt),
            end: CallEnd { ended_at_ms: None, outcome: UNDER_WAY.to_owned(), code: None },
            spend: CallSpend::default(),
            generation_id: None,
            first_token: FirstToken::default(),
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
        let first_token_ms = ending.answer.and_then(|answer| answer.first_token_ms);
        self.first_token = FirstToken { ms: first_token_ms.map(integer) };
        let named = ending.answer.and_then(|answer| answer.generation_id.clone());
        self.generation_id = named.or_else(|| self.generation_id.take());
    }

    /// Whether the request has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.end.outcome != UNDER_WAY
    }
}
