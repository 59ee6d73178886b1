//! How long calls took, with those that failed counted as endless.

use parallel_llm_store::{CallFact, CallResult};
use serde::Serialize;

use super::names::ModelNames;
use super::share::CASES_MIN;

/// How long the calls of one model took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelLatency {
    /// The model, as `-m` takes it; null for all models without a line of their own.
    pub model: Option<String>,
    /// Calls that answered, were cut or failed.
    pub calls: u64,
    /// Calls with a whole answer.
    pub answered: u64,
    /// Calls whose answer broke off.
    pub cut: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that are not measured, because they were cancelled, are in flight, or have an unknown result.
    pub unmeasured: u64,
    /// From sending to the whole answer; a call that failed or was cut is endless. Null for too few calls.
    pub whole_answer: Option<Quantiles>,
    /// Calls whose first token is known, failed ones included.
    pub first_token_calls: u64,
    /// From sending to the first text or reasoning; a call that failed is endless. Null for too few calls.
    pub first_token: Option<Quantiles>,
}

/// The times in milliseconds below which these parts of the calls stayed; null if so many calls did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// A tenth of the calls.
    pub p10: Option<u64>,
    /// A quarter.
    pub p25: Option<u64>,
    /// Half: the median.
    pub p50: Option<u64>,
    /// Three quarters.
    pub p75: Option<u64>,
    /// Nine tenths.
    pub p90: Option<u64>,
}

/// The times of one model's calls.
#[derive(Default)]
struct Times {
    answered: u64,
    cut: u64,
    failed: u64,
    unmeasured: u64,
    whole_answers_ms: Vec<u64>,
    first_tokens_ms: Vec<u64>,
}

pub(super) fn of(calls: &[CallFact], names: &ModelNames) -> Vec<ModelLatency> {
    let lines = names.fold(calls, Times::add);
    lines.into_iter().map(|(model, times)| times.line(model)).collect()
}

impl Times {
    fn add(&mut self, call: &CallFact) {
        match call.result {
            CallResult::Answered => {
                self.answered += 1;
                self.whole_answers_ms.extend(call.elapsed_ms);
            }
            CallResult::Cut(_) => self.cut += 1,
            CallResult::Failed(_) => self.failed += 1,
            CallResult::UnderWay | CallResult::Cancelled | CallResult::Unknown => {
                self.unmeasured += 1;
                return;
            }
        }
        self.first_tokens_ms.extend(call.first_token_ms);
    }

    fn line(mut self, model: Option<String>) -> ModelLatency {
        let calls = self.answered + self.cut + self.failed;
        // A call that failed had no first token, or it was not recorded; neither came in time.
        let first_token_calls = self.first_tokens_ms.len() as u64 + self.failed;
        ModelLatency {
            model,
            calls,
            answered: self.answered,
            cut: self.cut,
            failed: self.failed,
            unmeasured: self.unmeasured,
            whole_answer: Quantiles::of(&mut self.whole_answers_ms, calls),
            first_token_calls,
            first_token: Quantiles::of(&mut self.first_tokens_ms, first_token_calls),
        }
    }
}

impl Quantiles {
    /// The quantiles of so many calls, of which all without a time are endless; `None` for too few.
    fn of(times_ms: &mut [u64], calls: u64) -> Option<Self> {
        times_ms.sort_unstable();
        // The nearest rank, counted from 1.
        let at = |percent: u64| {
            let rank = (calls * percent).div_ceil(100);
            times_ms.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied()
        };
        (calls >= CASES_MIN).then(|| Self { p10: at(10), p25: at(25), p50: at(50), p75: at(75), p90: at(90) })
    }
}
