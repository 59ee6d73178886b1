//! How often the answer of a model won, and what its answers cost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use parallel_llm_engine::{OutcomeKind, PicoUsd, RunId};
use parallel_llm_store::SeatFact;
use serde::Serialize;

use super::names::MODELS_MAX;
use super::share::Share;

/// How often the answer of one model won against others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelWins {
    /// The model, as `-m` takes it.
    pub model: String,
    /// Runs in which its answer and another one were considered, and one of them won.
    pub runs: u64,
    /// Those in which its answer won: it was chosen, or the fused text started from it.
    pub wins: u64,
    /// Their share; null for too few runs.
    pub share: Option<Share>,
    /// The share that chance would give it: its part of the answers considered, on average.
    pub chance_share: f64,
    /// The mean cost of its answers in one of these runs, in USD, over the runs where it is known; null if it never is.
    pub cost_per_run_usd: Option<f64>,
    /// Runs in which that cost is unknown.
    pub runs_of_unknown_cost: u64,
    /// Whether no other model won at least as often for less, or more often for as much; false without share or cost.
    pub is_on_pareto_line: bool,
}

/// The counts of one model.
#[derive(Default)]
struct WinCount {
    runs: u64,
    wins: u64,
    chance: f64,
    cost: PicoUsd,
    runs_of_unknown_cost: u64,
}

pub(super) fn of(seats: &[SeatFact]) -> Vec<ModelWins> {
    let mut runs: BTreeMap<RunId, Vec<&SeatFact>> = BTreeMap::new();
    for seat in seats.iter().filter(|seat| seat.considered) {
        runs.entry(seat.run_id).or_default().push(seat);
    }
    let mut models: BTreeMap<String, WinCount> = BTreeMap::new();
    for considered in runs.values().filter(|seats| has_winner(seats)) {
        let mut held: BTreeMap<String, Vec<&SeatFact>> = BTreeMap::new();
        for seat in considered {
            held.entry(seat.model.to_string()).or_default().push(seat);
        }
        for (model, held) in held {
            models.entry(model).or_default().add(&held, considered.len());
        }
    }
    let mut models: Vec<ModelWins> = models.into_iter().map(|(model, count)| count.line(model)).collect();
    models.sort_by_key(|model| Reverse(model.runs));
    models.truncate(MODELS_MAX);
    mark_pareto_line(&mut models);
    models
}

/// Whether one of several answers won.
fn has_winner(considered: &[&SeatFact]) -> bool {
    let is_contested = considered.len() >= 2 && considered.iter().any(|seat| seat.is_base);
    is_contested
        && considered
            .first()
            .is_some_and(|seat| matches!(seat.outcome, OutcomeKind::Fused | OutcomeKind::Selected))
}

impl WinCount {
    /// Adds the model's seats in one run, in which so many answers were considered.
    fn add(&mut self, held: &[&SeatFact], considered: usize) {
        self.runs += 1;
        self.wins += u64::from(held.iter().any(|seat| seat.is_base));
        self.chance += held.len() as f64 / considered as f64;
        match held.iter().map(|seat| seat.cost).sum::<Option<PicoUsd>>() {
            Some(cost) => self.cost = self.cost.plus(cost),
            None => self.runs_of_unknown_cost += 1,
        }
    }

    fn line(self, model: String) -> ModelWins {
        let known = self.runs - self.runs_of_unknown_cost;
        ModelWins {
            model,
            runs: self.runs,
            wins: self.wins,
            share: Share::of(self.wins, self.runs),
            chance_share: self.chance / self.runs as f64,
            cost_per_run_usd: (known > 0).then(|| self.cost.as_usd() / known as f64),
            runs_of_unknown_cost: self.runs_of_unknown_cost,
            is_on_pareto_line: false,
        }
    }
}

fn mark_pareto_line(models: &mut [ModelWins]) {
    let points: Vec<Option<(f64, f64)>> =
        models.iter().map(|model| Some((model.cost_per_run_usd?, model.share?.share))).collect();
    for (model, point) in models.iter_mut().zip(&points) {
        let Some((cost, share)) = point else { continue };
        let is_beaten = points.iter().flatten().any(|(other_cost, other_share)| {
            other_cost <= cost && other_share >= share && (other_cost < cost || other_share > share)
        });
        model.is_on_pareto_line = !is_beaten;
    }
}
