//! Costs added up by model, day, provider or principal.

use parallel_llm_engine::PicoUsd;

/// The grouping of costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostBy {
    /// Each model of each provider.
    Model,
    /// Each day, in UTC.
    Day,
    /// Each provider.
    Provider,
    /// Each principal, by the name its runs carry.
    Principal,
}

/// Which costs to add up, and how.
#[derive(Clone, Copy, Debug)]
pub struct CostQuery {
    /// The grouping.
    pub by: CostBy,
    /// Only requests sent at this time or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
}

/// The cost of one model, day, provider or principal. Requests of purged runs count too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostLine {
    /// The model reference, the day as `YYYY-MM-DD`, the provider's id, or the principal's name, which is empty for the
    /// owner.
    pub name: String,
    /// Runs with a request in this group.
    pub runs: u64,
    /// Requests sent.
    pub calls: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The known cost.
    pub cost: PicoUsd,
    /// Requests whose cost is unknown, for good or for now.
    pub calls_of_unknown_cost: u64,
    /// The most that those requests can have cost; [`PicoUsd::MAX`] if nobody knows.
    pub unknown_cost_max: PicoUsd,
    /// Requests whose cost was computed from prices.
    pub calls_of_estimated_cost: u64,
    /// Input tokens that providers reported.
    pub input_tokens: u64,
    /// Output tokens that providers reported.
    pub output_tokens: u64,
}
