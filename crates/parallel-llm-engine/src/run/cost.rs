//! The cost of a run: what is known of it, the most it can be, and what was saved.

use crate::agreement::Agreement;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::run::outcome::{Outcome, OutcomeKind, Round};
use crate::run::{Run, SeatStatus, SeatView};
use crate::value::money::PicoUsd;

/// Planned calls that were not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedCalls {
    /// How many calls: of seats, synthesizers and steps.
    pub calls: usize,
    /// Their worst case, as far as prices are known.
    pub cost_max: PicoUsd,
}

impl Run {
    /// The known cost of all requests; `None` if nothing is known, which is not the same as zero.
    pub fn known_cost(&self) -> Option<PicoUsd> {
        self.cost().unless_unknown(self.cost_is_estimate())
    }

    /// The known cost of all requests, for sums.
    pub fn cost(&self) -> PicoUsd {
        self.views().filter_map(|view| view.cost).sum()
    }

    /// The most all requests can have cost: ended requests of unknown cost count with their worst case, as far as prices are
    /// known. A further part may spend the rest of the budget.
    pub fn cost_max(&self) -> PicoUsd {
        self.cost().plus(self.unpriced().flatten().sum())
    }

    /// An upper bound of the cost, if it means something: some ended request has an unknown cost, all prices are known, and no
    /// request is under way.
    pub fn cost_bound(&self) -> Option<PicoUsd> {
        let is_under_way = self.views().any(SeatView::is_under_way);
        let unpriced: Option<Vec<PicoUsd>> = self.unpriced().collect();
        let worst_cases = unpriced.filter(|unpriced| !is_under_way && !unpriced.is_empty())?;
        Some(self.cost().plus(worst_cases.into_iter().sum()))
    }

    /// Whether nobody knows the most that an ended request can have cost: neither its cost nor its price is known.
    pub fn cost_has_no_bound(&self) -> bool {
        self.unpriced().any(|most| most.is_none())
    }

    /// For each slot with ended requests of unknown cost, the most these can have cost; `None` if the price is unknown.
    fn unpriced(&self) -> impl Iterator<Item = Option<PicoUsd>> {
        let unpriced = self.views().filter(|view| view.unpriced > 0);
        unpriced.map(|view| {
            let most = self.plan.worst_sent(view.slot, view.worst_case)?;
            Some(most.times(u64::from(view.unpriced)))
        })
    }

    /// Whether the known cost lacks a request, so that it is only a lower bound.
    pub fn cost_lacks_calls(&self) -> bool {
        self.views().any(SeatView::cost_lacks_calls)
    }

    /// Whether a part of the cost is unknown or computed from prices.
    pub fn cost_is_estimate(&self) -> bool {
        self.views().any(|view| view.cost_is_estimate || view.status == SeatStatus::Streaming)
    }

    /// The calls that were not needed because the answers agreed, or because one was enough; `None` if there are none.
    pub fn skipped(&self) -> Option<SkippedCalls> {
        let is_settled = |outcome: &Outcome| {
            let is_unanimous = outcome.agreement.as_ref().is_some_and(Agreement::is_unanimous)
                || outcome.rounds.last().is_some_and(Round::is_unanimous);
            outcome.kind == OutcomeKind::Selected && (is_unanimous || self.plan.strategy.needs_one())
        };
        // The agreement of the last stage says nothing about the calls of the others.
        let is_flow = self.plan.flow.is_some();
        if is_flow || !self.is_decided() || !self.outcome.as_ref().is_some_and(is_settled) {
            return None;
        }
        let steps = self.plan.steps.as_slice();
        let planned = self.plan.called(&self.plan.seats, self.chain(), steps).into_iter();
        let is_unneeded = |slot: &CallerSlot| {
            self.view(*slot)
                .is_some_and(|view| view.attempts == 0 && (view.is_unneeded() || !view.status.is_final()))
        };
        // A seat without an answer would not have been asked again.
        let would_be_made = |slot: &CallerSlot| match self.plan.step_at(*slot).map(|step| step.key) {
            // Equal answers are nothing to group, and an early draft replaces the synthesis, so it does not count beside it.
            Some(StepKey { role: StepRole::Equivalence | StepRole::Draft, .. }) => false,
            Some(StepKey { by: CallerSlot::Seat(seat), .. }) => {
                self.seat(seat).is_some_and(|view| view.has_usable_answer() || view.is_unneeded())
            }
            _ => true,
        };
        let slots: Vec<CallerSlot> = planned.filter(is_unneeded).filter(would_be_made).collect();
        let cost_max = slots.iter().filter_map(|slot| self.plan.worst_request(*slot)).sum();
        (!slots.is_empty()).then_some(SkippedCalls { calls: slots.len(), cost_max })
    }
}
