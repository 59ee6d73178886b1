//! What calls cost, cell by cell.

use std::collections::BTreeMap;

use parallel_llm_engine::PicoUsd;
use parallel_llm_store::CallFact;
use serde::Serialize;

use super::names::ModelNames;
use super::period::Period;

/// What the calls of one model cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelSpending {
    /// The model, as `-m` takes it; null for all models without a line of their own.
    pub model: Option<String>,
    /// Calls sent.
    pub calls: u64,
    /// Their known cost, in USD; null if none is known.
    pub cost_usd: Option<f64>,
    /// Calls whose cost is unknown, for good or for now.
    pub calls_of_unknown_cost: u64,
    /// Calls whose cost was computed from prices.
    pub calls_of_estimated_cost: u64,
    /// The cells with calls, oldest first.
    pub cells: Vec<SpendingCell>,
}

/// What calls of one cell cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpendingCell {
    /// The start of the cell, in milliseconds since 1970.
    pub start_ms: i64,
    /// Calls sent.
    pub calls: u64,
    /// Their known cost, in USD; null if none is known.
    pub cost_usd: Option<f64>,
    /// Calls whose cost is unknown.
    pub calls_of_unknown_cost: u64,
}

/// A sum of costs.
#[derive(Clone, Copy, Default)]
struct Sum {
    calls: u64,
    cost: PicoUsd,
    unknown: u64,
    estimated: u64,
}

pub(super) fn of(calls: &[CallFact], names: &ModelNames, period: Period) -> Vec<ModelSpending> {
    let add = |cells: &mut BTreeMap<i64, Sum>, call: &CallFact| {
        cells.entry(period.cell_ms(call.sent_at_ms)).or_default().add(call);
    };
    let lines = names.fold(calls, add);
    lines.into_iter().map(|(model, cells)| line(model, &cells)).collect()
}

fn line(model: Option<String>, cells: &BTreeMap<i64, Sum>) -> ModelSpending {
    let total = cells.values().fold(Sum::default(), |total, cell| total.plus(*cell));
    let cell = |(start_ms, sum): (&i64, &Sum)| SpendingCell {
        start_ms: *start_ms,
        calls: sum.calls,
        cost_usd: sum.usd(),
        calls_of_unknown_cost: sum.unknown,
    };
    ModelSpending {
        model,
        calls: total.calls,
        cost_usd: total.usd(),
        calls_of_unknown_cost: total.unknown,
        calls_of_estimated_cost: total.estimated,
        cells: cells.iter().map(cell).collect(),
    }
}

impl Sum {
    fn add(&mut self, call: &CallFact) {
        self.calls += 1;
        self.cost = self.cost.plus(call.cost.unwrap_or_default());
        self.unknown += u64::from(call.cost.is_none());
        self.estimated += u64::from(call.cost.is_some() && call.cost_is_estimate);
    }

    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            cost: self.cost.plus(other.cost),
            unknown: self.unknown + other.unknown,
            estimated: self.estimated + other.estimated,
        }
    }

    fn usd(self) -> Option<f64> {
        self.cost.unless_unknown(self.unknown > 0).map(PicoUsd::as_usd)
    }
}
