//! Figures about models: latency, reliability, cost, and the budget of the day.
//!
//! Pure folds over the facts that the store keeps of calls, which outlive their runs and hold no text. Invariants:
//! a failure is counted and never dropped; an unknown cost is null and never zero; every share has its number of calls and
//! its interval, and none is given for fewer than [`CASES_MIN`](share::CASES_MIN).

mod budget;
mod latency;
mod names;
mod period;
mod reliability;
mod share;
mod spending;

use parallel_llm_engine::{Code, Failure};
use parallel_llm_store::{CallFacts, Store};
use serde::Serialize;

pub use budget::{BudgetDay, BudgetHour};
pub use latency::{ModelLatency, Quantiles};
pub use reliability::{ModelReliability, ReliabilityCell};
pub use share::Share;
pub use spending::{ModelSpending, SpendingCell};

use super::statistics::Statistics;
use crate::access::Scope;
use names::ModelNames;
use period::Period;

/// The version of the format.
const SCHEMA: u32 = 1;

/// Figures about the models of a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The version of this format.
    pub schema: u32,
    /// The start of the period, in milliseconds since 1970.
    pub from_ms: i64,
    /// Its end: when the figures were made.
    pub to_ms: i64,
    /// The length of a cell of reliability and spending, in milliseconds: an hour, a day, or several days. Cells begin at
    /// multiples of it since 1970.
    pub step_ms: i64,
    /// The fewest calls for a share or a quantile.
    pub cases_min: u64,
    /// The calls behind latency, reliability and spending.
    pub calls: Coverage,
    /// How long calls took, a line per model.
    pub latency: Vec<ModelLatency>,
    /// How calls ended over time, a line per model.
    pub reliability: Vec<ModelReliability>,
    /// What calls cost over time, a line per model.
    pub spending: Vec<ModelSpending>,
    /// The budget of the day, and what was spent of it.
    pub budget: BudgetDay,
}

/// The facts that figures are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// How many there are.
    pub count: u64,
    /// When the oldest of them happened, in milliseconds since 1970; null without any.
    pub oldest_ms: Option<i64>,
    /// Whether these are all of the period; otherwise they are the newest ones.
    pub is_complete: bool,
}

/// What the figures are folded from.
struct Facts {
    calls: CallFacts,
    budget: BudgetDay,
}

impl Statistics {
    /// The figures of the period since then (milliseconds since 1970), of thirty days by default. They read at most the
    /// newest 5,000 calls.
    pub async fn figures(&self, since_ms: Option<i64>) -> Result<Figures, Failure> {
        self.principal.check(Scope::Read)?;
        let now_ms = Store::now_ms();
        let from_ms = since_ms.unwrap_or_else(|| period::default_from_ms(now_ms));
        let (store, whose) = (self.store.get().await?, self.principal.whose());
        let spent = store.spent_by_hour(whose, budget::day_start_ms(now_ms)).await?;
        let facts = Facts {
            calls: store.call_facts(whose, from_ms).await?,
            budget: BudgetDay::of(self.budget_day(), &spent, now_ms),
        };
        // Folding a few hundred thousand facts takes a good part of a second, in which the runtime has calls to serve.
        let folded = tokio::task::spawn_blocking(move || of(facts, from_ms, now_ms)).await;
        folded.map_err(|_| Failure::new(Code::Internal, "a defect stopped the figures"))
    }
}

/// The figures from these facts.
fn of(facts: Facts, from_ms: i64, now_ms: i64) -> Figures {
    let Facts { calls: CallFacts { calls, is_complete }, budget } = facts;
    let oldest_call_ms = calls.last().map(|call| call.sent_at_ms);
    let period = Period::of(from_ms.max(oldest_call_ms.unwrap_or(from_ms)), now_ms);
    let names = ModelNames::of(&calls);
    Figures {
        schema: SCHEMA,
        from_ms,
        to_ms: now_ms,
        step_ms: period.step_ms,
        cases_min: share::CASES_MIN,
        calls: Coverage { count: calls.len() as u64, oldest_ms: oldest_call_ms, is_complete },
        latency: latency::of(&calls, &names),
        reliability: reliability::of(&calls, &names, period),
        spending: spending::of(&calls, &names, period),
        budget,
    }
}

#[cfg(test)]
mod tests;
