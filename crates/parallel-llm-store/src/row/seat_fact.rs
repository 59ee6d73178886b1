//! What became of the seats of decided runs: what a panel can be judged by.

use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::{ModelRef, OutcomeKind, PicoUsd, Place, Run, RunId, SeatNumber, SeatStatus};

/// What became of one seat of one run. It holds no text, so it is kept for runs of which only the metadata is stored,
/// and stays when its run is purged.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatFact {
    /// Of which run.
    pub run_id: RunId,
    /// Which seat.
    pub seat: SeatNumber,
    /// Which model held it.
    pub model: ModelRef,
    /// How it stood at the run's newest answer, or when the run was closed.
    pub status: SeatStatus,
    /// Whether its answer came too late to be considered.
    pub late: bool,
    /// Whether its answer was there to choose from.
    pub considered: bool,
    /// Whether the outcome is its answer, or started from it.
    pub is_base: bool,
    /// Whether the outcome has wording of its answer that the base's has not.
    pub drawn_from: bool,
    /// Whether its answer was the only one considered.
    pub alone: bool,
    /// The cost of all its requests as far as known.
    pub cost: Option<PicoUsd>,
    /// From its first request to its end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// When the run's newest answer was settled, in milliseconds since 1970.
    pub decided_at_ms: i64,
    /// How the run's text came about.
    pub outcome: OutcomeKind,
    /// How much of the run's text is not the base's: 0 the same, 1 nothing in common; only where something was fused.
    pub edit_ratio: Option<f64>,
}

/// What is known of the seats of a run that was decided, but for the moment of it; nothing of one that was not.
pub(crate) fn facts(run: &Run) -> Vec<SeatFact> {
    let Some(outcome) = &run.outcome else { return Vec::new() };
    let fact = |view: &SeatView| {
        let Place::Seat(seat) = view.place else { return None };
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
            decided_at_ms: 0,
            outcome: outcome.kind,
            edit_ratio: outcome.worth.as_ref().and_then(|worth| worth.edit_ratio),
        })
    };
    run.seats.iter().filter_map(fact).collect()
}
