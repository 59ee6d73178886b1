//! How calls ended, cell by cell.

use std::collections::BTreeMap;

use parallel_llm_engine::Code;
use parallel_llm_store::{CallFact, CallResult};
use serde::Serialize;

use super::names::ModelNames;
use super::period::Period;
use super::share::Share;

/// How the calls of one model ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelReliability {
    /// The model, as `-m` takes it; null for all models without a line of their own.
    pub model: Option<String>,
    /// Calls that answered, were cut or failed.
    pub calls: u64,
    /// Those with a whole answer.
    pub answered: u64,
    /// Their share; null for too few calls.
    pub answered_share: Option<Share>,
    /// The cells with calls, oldest first.
    pub cells: Vec<ReliabilityCell>,
}

/// How calls of one cell ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReliabilityCell {
    /// The start of the cell, in milliseconds since 1970.
    pub start_ms: i64,
    /// Calls with a whole answer.
    pub answered: u64,
    /// Calls whose answer broke off.
    pub cut: u64,
    /// Calls that the provider refused for their number (HTTP 429).
    pub rate_limited: u64,
    /// Calls that failed for an error of the provider (HTTP 5xx).
    pub upstream: u64,
    /// Calls that failed otherwise: time-outs, connections, refusals, credit, invalid requests.
    pub other: u64,
    /// Calls that say nothing about the model: cancelled, in flight, or of unknown result.
    pub unmeasured: u64,
}

pub(super) fn of(calls: &[CallFact], names: &ModelNames, period: Period) -> Vec<ModelReliability> {
    let add = |cells: &mut BTreeMap<i64, ReliabilityCell>, call: &CallFact| {
        let start_ms = period.cell_ms(call.sent_at_ms);
        cells.entry(start_ms).or_default().add(call.result);
    };
    let lines = names.fold(calls, add);
    lines.into_iter().map(|(model, cells)| line(model, cells)).collect()
}

fn line(model: Option<String>, cells: BTreeMap<i64, ReliabilityCell>) -> ModelReliability {
    let cells: Vec<_> =
        cells.into_iter().map(|(start_ms, cell)| ReliabilityCell { start_ms, ..cell }).collect();
    let calls = cells.iter().map(ReliabilityCell::measured).sum();
    let answered = cells.iter().map(|cell| cell.answered).sum();
    ModelReliability { model, calls, answered, answered_share: Share::of(answered, calls), cells }
}

impl ReliabilityCell {
    fn add(&mut self, result: CallResult) {
        *match result {
            CallResult::Answered => &mut self.answered,
            CallResult::Cut(_) => &mut self.cut,
            CallResult::Failed(Some(Code::RateLimited)) => &mut self.rate_limited,
            CallResult::Failed(Some(Code::Upstream)) => &mut self.upstream,
            CallResult::Failed(_) => &mut self.other,
            CallResult::UnderWay | CallResult::Cancelled | CallResult::Unknown => &mut self.unmeasured,
        } += 1;
    }

    /// Calls that answered, were cut or failed.
    pub const fn measured(&self) -> u64 {
        self.answered + self.cut + self.rate_limited + self.upstream + self.other
    }
}
