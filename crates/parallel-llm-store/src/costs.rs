//! What was spent, added up by model, day, provider or principal.

use parallel_llm_engine::PicoUsd;

/// What a line of costs is about.
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
    /// What a line is about.
    pub by: CostBy,
    /// Only requests that left at this moment or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
}

/// What was spent on one model, on one day, at one provider or by one principal. Requests of runs that were purged are
/// counted too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostLine {
    /// The model as a reference is written, the day as `YYYY-MM-DD`, the provider's id, or the principal's name, which is
    /// empty for the owner.
    pub name: String,
    /// Runs that had a request here.
    pub runs: u64,
    /// Requests sent.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// What they cost as far as known.
    pub cost: PicoUsd,
    /// Those whose cost nobody knows, or not yet.
    pub calls_of_unknown_cost: u64,
    /// The most that those can have cost, as far as prices are known.
    pub unknown_cost_max: PicoUsd,
    /// Those whose cost was computed from prices.
    pub calls_of_estimated_cost: u64,
    /// Tokens sent, as far as providers counted them.
    pub input_tokens: u64,
    /// Tokens received, as far as providers counted them.
    pub output_tokens: u64,
}
