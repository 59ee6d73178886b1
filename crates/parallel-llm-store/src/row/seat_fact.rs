//! The results of the seats of decided runs, for judging panels.

use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::{
    CallerSlot, ModelRef, Outcome, OutcomeKind, PicoUsd, Run, RunId, SeatNumber, SeatStatus,
};

use super::checksum::Checksum;
use super::integer;

/// The result of one seat of one run. It holds no text, so it is stored for runs with metadata only, and survives the
/// purge of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatFact {
    /// The run.
    pub run_id: RunId,
    /// The seat.
    pub seat: SeatNumber,
    /// Its model.
    pub model: ModelRef,
    /// Its status when the run's newest answer was settled, or when the run was closed.
    pub status: SeatStatus,
    /// Whether its answer came too late to be considered.
    pub late: bool,
    /// Whether its answer was considered.
    pub considered: bool,
    /// Whether the outcome is its answer, or started from it.
    pub is_base: bool,
    /// Whether the outcome uses wording of its answer that the base does not have.
    pub drawn_from: bool,
    /// Whether only its answer was considered.
    pub alone: bool,
    /// The known cost of all its requests.
    pub cost: Option<PicoUsd>,
    /// From its first request to its end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// When the run's newest answer was settled, in milliseconds since 1970.
    pub decided_at_ms: i64,
    /// The kind of the run's outcome.
    pub outcome: OutcomeKind,
    /// The part of the outcome that differs from the base, from 0 (identical) to 1 (nothing in common); only for fused
    /// outcomes.
    pub edit_ratio: Option<f64>,
    /// The number of its group of equal answers in its run, from 1 for the largest; `None` if its answer was not compared
    /// with the others.
    pub agreement_group: Option<u32>,
}

/// A fact as read from the database.
#[derive(Debug)]
pub(crate) struct StoredFact {
    pub(crate) fact: SeatFact,
    pub(crate) asked_by: Option<String>,
    /// `None` if an older version wrote it.
    pub(crate) checksum: Option<i64>,
}

/// What became of a seat, and when it was first asked.
#[derive(Debug)]
pub(crate) struct TimedFact {
    pub(crate) stored: StoredFact,
    /// From the start of the run to its first request, in milliseconds on the store's clock.
    pub(crate) sent_after_ms: Option<i64>,
}

impl StoredFact {
    /// Whether the fact matches its checksum.
    pub(crate) fn is_sound(&self) -> bool {
        self.fact.checksum(self.asked_by.as_deref()).matches(self.checksum)
    }
}

impl SeatFact {
    /// The checksum of a fact without its time, which the run's row has.
    pub(crate) fn checksum(&self, asked_by: Option<&str>) -> Checksum {
        let flags = [self.late, self.considered, self.is_base, self.drawn_from, self.alone];
        let sum = Checksum::of("seats").text(Some(&self.run_id.to_string())).number(Some(self.seat.0.into()));
        let sum = sum.text(Some(&self.model.provider.0)).text(Some(&self.model.model));
        let sum = flags
            .into_iter()
            .fold(sum.text(Some(self.status.as_str())), |sum, flag| sum.number(Some(flag.into())));
        let sum = sum.number(self.cost.map(|cost| cost.0)).number(self.elapsed_ms.map(integer));
        let ratio = self.edit_ratio.map(|ratio| i64::from_le_bytes(ratio.to_le_bytes()));
        let sum = sum.text(Some(kind_name(self.outcome))).number(ratio).text(asked_by);
        // Left out if there is none, so that the checksums of rows from before there were groups still match.
        match self.agreement_group {
            Some(group) => sum.number(Some(group.into())),
            None => sum,
        }
    }
}

/// The kind of an outcome as stored in its column: its name in JSON.
pub(crate) const fn kind_name(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Fused => "fused",
        OutcomeKind::Selected => "selected",
        OutcomeKind::Verbatim => "verbatim",
        OutcomeKind::Listed => "listed",
        OutcomeKind::None => "none",
    }
}

/// The seat facts of a run whose newest answer was settled at this time; empty without an answer.
pub(crate) fn facts(run: &Run, decided_at_ms: i64) -> Vec<SeatFact> {
    let Some(outcome) = &run.outcome else { return Vec::new() };
    let fact = |view: &SeatView| {
        let CallerSlot::Seat(seat) = view.slot else { return None };
        let considered = outcome.considered.contains(&seat);
        Some(SeatFact {
            run_id: run.plan.run_id,
            seat,
            model: view.model.clone(),
            status: view.status,
            late: view.late,
            considered,
            is_base: outcome.base_seat == Some(seat),
            drawn_from: outcome.worth.as_ref().is_some_and(|worth| worth.drawn_from.contains(&seat)),
            alone: considered && outcome.considered.len() == 1,
            cost: view.known_cost(),
            elapsed_ms: view.elapsed_ms,
            decided_at_ms,
            outcome: outcome.kind,
            edit_ratio: outcome.worth.as_ref().and_then(|worth| worth.edit_ratio),
            agreement_group: agreement_group(outcome, seat),
        })
    };
    run.seats.iter().filter_map(fact).collect()
}

/// The number of a seat's group of equal answers, from 1.
fn agreement_group(outcome: &Outcome, seat: SeatNumber) -> Option<u32> {
    let groups = &outcome.agreement.as_ref()?.clusters;
    let index = groups.iter().position(|group| group.seats.contains(&seat))?;
    u32::try_from(index + 1).ok()
}
