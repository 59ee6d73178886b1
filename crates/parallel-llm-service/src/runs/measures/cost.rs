//! Spending on upstream calls, from the ledger, which includes purged runs.

use parallel_llm_engine::{Failure, PicoUsd};
use parallel_llm_store::{CostBy, CostLine, CostQuery};
use serde::Serialize;

use super::statistics::Statistics;
use crate::access::Scope;

/// The owner's name among the names of tokens; no token's name begins like this.
const OWNER: &str = "-";

/// The spending on all upstream calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A line for each model, day (in UTC), provider or token.
    pub lines: Vec<Spending>,
    /// The sum of all lines, without the number of runs, because one run may have calls in several lines.
    pub total: Spending,
}

/// The spending on a group of calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spending {
    /// The model as `-m` takes it, the day as `YYYY-MM-DD`, the provider's id, or the name of the token, `-` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of runs with such a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Calls sent.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Tokens sent, as far as providers counted them.
    pub input_tokens: u64,
    /// Tokens received, as far as providers counted them.
    pub output_tokens: u64,
    /// The known cost.
    #[serde(skip)]
    pub cost: PicoUsd,
    /// The known cost in USD; null if none is known.
    pub cost_usd: Option<f64>,
    /// Calls whose cost is unknown or not yet known.
    pub calls_of_unknown_cost: u64,
    /// The most that those calls can have cost; [`PicoUsd::MAX`] if nobody knows.
    #[serde(skip)]
    pub unknown_cost_max: PicoUsd,
    /// The same in USD; null if nobody knows, because a call had no known price.
    pub unknown_cost_max_usd: Option<f64>,
    /// Calls whose cost is computed from prices, because the provider reported none.
    pub calls_of_estimated_cost: u64,
}

impl Statistics {
    /// The spending since then (milliseconds since 1970).
    pub async fn costs(&self, by: CostBy, since_ms: Option<i64>) -> Result<Costs, Failure> {
        self.principal.check(Scope::Read)?;
        let lines = self.store.get().await?.costs(self.principal.whose(), CostQuery { by, since_ms }).await?;
        let lines: Vec<Spending> = lines.into_iter().map(Spending::of).collect();
        let total = lines.iter().fold(Spending::default(), Spending::plus).with_usd();
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
            unknown_cost_max_usd: None,
            calls_of_estimated_cost: line.calls_of_estimated_cost,
        };
        spending.with_usd()
    }

    /// The known cost; `None` if nothing is known, which is not zero.
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

    fn with_usd(self) -> Self {
        Self {
            cost_usd: self.known_cost().map(PicoUsd::as_usd),
            unknown_cost_max_usd: self.unknown_cost_max.limit_as_usd(),
            ..self
        }
    }
}
