//! How often two models gave equal answers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use parallel_llm_engine::RunId;
use parallel_llm_store::SeatFact;
use serde::Serialize;

use super::names::MODELS_MAX;
use super::share::Share;

/// How often two models gave equal answers to one question, for the models with the most compared answers. Answers are
/// compared if the question has a short right answer, or if two of its answers are equal letter by letter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgreementMatrix {
    /// The models, by number of runs.
    pub models: Vec<String>,
    /// Runs with compared answers of two models or more.
    pub runs: u64,
    /// Each two models that were compared, in the order of `models`.
    pub pairs: Vec<PairAgreement>,
}

/// How often two models gave equal answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairAgreement {
    /// The first model, by its index in `models`.
    pub one: usize,
    /// The second, which comes later.
    pub other: usize,
    /// Runs in which both answers were compared. A model with several seats counts with the first of them.
    pub runs: u64,
    /// Those in which they were equal.
    pub equal: u64,
    /// Their share; null for too few runs.
    pub share: Option<Share>,
}

/// Runs in which two models were compared.
#[derive(Clone, Copy, Default)]
struct PairCount {
    runs: u64,
    equal: u64,
}

impl AgreementMatrix {
    pub(super) fn of(seats: &[SeatFact]) -> Self {
        // The group of each model in each run.
        let mut runs: BTreeMap<RunId, BTreeMap<String, u32>> = BTreeMap::new();
        for seat in seats.iter().filter(|seat| seat.considered) {
            if let Some(group) = seat.agreement_group {
                runs.entry(seat.run_id).or_default().entry(seat.model.to_string()).or_insert(group);
            }
        }
        runs.retain(|_, groups| groups.len() >= 2);
        let models = most_compared(runs.values());
        let mut counts: BTreeMap<(usize, usize), PairCount> = BTreeMap::new();
        for groups in runs.values() {
            // A panel has at most 64 seats, so these are at most 24 models.
            let groups: Vec<(usize, u32)> = models
                .iter()
                .enumerate()
                .filter_map(|(index, model)| Some((index, *groups.get(model)?)))
                .collect();
            for (at, (one, group)) in groups.iter().enumerate() {
                for (other, others) in &groups[at + 1..] {
                    let count = counts.entry((*one, *other)).or_default();
                    count.runs += 1;
                    count.equal += u64::from(group == others);
                }
            }
        }
        let pair = |((one, other), PairCount { runs, equal })| {
            let share = Share::of(equal, runs);
            PairAgreement { one, other, runs, equal, share }
        };
        Self { runs: runs.len() as u64, pairs: counts.into_iter().map(pair).collect(), models }
    }
}

/// The models in most of these runs, at most [`MODELS_MAX`].
fn most_compared<'a>(runs: impl Iterator<Item = &'a BTreeMap<String, u32>>) -> Vec<String> {
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    for model in runs.flat_map(BTreeMap::keys) {
        *counts.entry(model).or_default() += 1;
    }
    let mut models: Vec<_> = counts.into_iter().collect();
    models.sort_by_key(|(_, count)| Reverse(*count));
    models.into_iter().take(MODELS_MAX).map(|(model, _)| model.clone()).collect()
}
