//! What all upstream calls cost, from the ledger: runs that were purged are still in it.

use parallel_llm_engine::{Failure, PicoUsd};
use parallel_llm_store::{CostBy, CostLine, CostQuery};
use serde::Serialize;

use super::statistics::Statistics;
use crate::access::Scope;

/// Stands for the owner among the names of tokens, none of which begins so.
const OWNER: &str = "-";

/// What all upstream calls cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A line for each model, day (in UTC), provider or token.
    pub lines: Vec<Spending>,
    /// All calls together. Without runs: one run may have calls in several lines.
    pub total: Spending,
}

/// What some calls cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spending {
    /// The model as `-m` takes it, the day as `YYYY-MM-DD`, the provider's id, or the name of the token that asked: `-`
    /// where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Runs with such a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Calls sent.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Tokens sent, as far as providers counted them.
    pub input_tokens: u64,
    /// Tokens received, as far as providers counted them.
    pub output_tokens: u64,
    /// What they cost as far as known.
    #[serde(skip)]
    pub cost: PicoUsd,
    /// The same in USD; null where nothing of it is known.
    pub cost_usd: Option<f64>,
    /// Calls whose cost nobody knows, or not yet.
    pub calls_of_unknown_cost: u64,
    /// The most that those can have cost, as far as prices are known.
    #[serde(skip)]
    pub unknown_cost_max: PicoUsd,
    /// The same in USD.
    pub unknown_cost_max_usd: f64,
    /// Calls whose cost is computed from prices, because the provider told none.
    pub calls_of_estimated_cost: u64,
}

impl Statistics {
    /// What the calls since then, in milliseconds since 1970, cost.
    pub async fn costs(&self, by: CostBy, since_ms: Option<i64>) -> Result<Costs, Failure> {
        self.principal.check(Scope::Read)?;
        let lines = self.store.get().await?.costs(self.principal.whose(), CostQuery { by, since_ms }).await?;
        let lines: Vec<Spending> = lines.into_iter().map(Spending::of).collect();
        let total = lines.iter().fold(Spending::default(), Spending::plus).reckoned();
        Ok(Costs { lines, total })
    }
}

impl Spending {
    fn of(line: CostLine) -> Self {
        let spending = Self {
            name: Some(if line.name.is_empty() { OWNER.to_owned() } else { line.name }),
            runs: Some(line.runs),
            calls: line.calls,
            failed: line.failed,
            input_tokens: line.input_tokens,
            output_tokens: line.output_tokens,
            cost: line.cost,
            cost_usd: None,
            calls_of_unknown_cost: line.calls_of_unknown_cost,
            unknown_cost_max: line.unknown_cost_max,
            unknown_cost_max_usd: 0.0,
            calls_of_estimated_cost: line.calls_of_estimated_cost,
        };
        spending.reckoned()
    }

    /// What the calls cost as far as known; `None` where nothing of it is, which is not the same as nothing.
    pub fn known_cost(&self) -> Option<PicoUsd> {
        self.cost.unless_unknown(self.calls_of_unknown_cost > 0)
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            failed: self.failed + other.failed,
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cost: self.cost.plus(other.cost),
            calls_of_unknown_cost: self.calls_of_unknown_cost + other.calls_of_unknown_cost,
            unknown_cost_max: self.unknown_cost_max.plus(other.unknown_cost_max),
            calls_of_estimated_cost: self.calls_of_estimated_cost + other.calls_of_estimated_cost,
            ..self
        }
    }

    fn reckoned(self) -> Self {
        Self {
            cost_usd: self.known_cost().map(PicoUsd::as_usd),
            unknown_cost_max_usd: self.unknown_cost_max.as_usd(),
            ..self
        }
    }
}
