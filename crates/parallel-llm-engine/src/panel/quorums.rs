//! The quorums of a run: one for each stage of a flow that is asked at once, so that a fast stage does not cut off the
//! answers of a slow one. A run without a flow has one.

use std::collections::BTreeMap;

use crate::panel::quorum::{Quorum, WaitDecision};
use crate::plan::RunPlan;
use crate::plan::flow::{PlannedFlow, Stage};
use crate::request::panel::{Seat, SeatNumber};

/// The quorum of each stage. The run goes on when no stage waits any more.
#[derive(Clone, Debug)]
pub(crate) struct Quorums {
    rules: Vec<Quorum>,
    /// The index of the rule for the seats that are not of the first one.
    others: BTreeMap<SeatNumber, usize>,
}

impl Quorums {
    /// The quorums of a plan, without seats.
    pub(crate) fn new(plan: &RunPlan) -> Self {
        let asking = |stage: &&Stage| !stage.seats.is_empty();
        let stages: Vec<&Stage> =
            plan.flow.iter().flat_map(|flow: &PlannedFlow| &flow.stages).filter(asking).collect();
        let others = stages.iter().enumerate().skip(1);
        let others = others.flat_map(|(rule, stage)| stage.seats.iter().map(move |seat| (*seat, rule)));
        Self { rules: vec![Quorum::new(plan.wait); stages.len().max(1)], others: others.collect() }
    }

    /// Adds a seat that is asked in this part.
    pub(crate) fn ask(&mut self, seat: &Seat) {
        self.of(seat.number).ask(seat);
    }

    /// Adds a seat that ended in an earlier part and is not asked now. `answered` means with a usable answer.
    pub(crate) fn remember(&mut self, seat: SeatNumber, answered: bool) {
        self.of(seat).remember(answered);
    }

    /// Notes the end of a seat. `answered` means with a usable answer.
    pub(crate) fn observe(&mut self, seat: SeatNumber, answered: bool, elapsed_ms: u64) {
        self.of(seat).observe(seat, answered, elapsed_ms);
    }

    /// From now on any answer of a stage is enough for it.
    pub(crate) fn hurry(&mut self) {
        self.rules.iter_mut().for_each(Quorum::hurry);
    }

    /// Whether any answer is enough.
    pub(crate) fn is_hurried(&self) -> bool {
        self.rules.iter().any(Quorum::is_hurried)
    }

    /// The decision at `now_ms`, in milliseconds from the start.
    pub(crate) fn decision(&self, now_ms: u64) -> WaitDecision {
        if let [only] = self.rules.as_slice() {
            return only.decision(now_ms);
        }
        let decisions: Vec<WaitDecision> = self.rules.iter().map(|rule| rule.decision(now_ms)).collect();
        let until_ms = |decision: &WaitDecision| match decision {
            WaitDecision::Wait { until_ms } => Some(*until_ms),
            WaitDecision::Enough | WaitDecision::Impossible => None,
        };
        let waiting: Vec<Option<u64>> = decisions.iter().filter_map(until_ms).collect();
        match (waiting.is_empty(), decisions.contains(&WaitDecision::Enough)) {
            (false, _) => WaitDecision::Wait { until_ms: waiting.into_iter().flatten().min() },
            (true, true) => WaitDecision::Enough,
            (true, false) => WaitDecision::Impossible,
        }
    }

    fn of(&mut self, seat: SeatNumber) -> &mut Quorum {
        &mut self.rules[self.others.get(&seat).copied().unwrap_or(0)]
    }
}
