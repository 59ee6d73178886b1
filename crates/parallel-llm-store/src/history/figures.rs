//! What the figures about models read: the newest calls of a period, and the spending of a day by the hour.
//!
//! Invariant: a figure reads a bounded number of calls, however many are stored, and only columns that an index holds.

use std::sync::Arc;

use parallel_llm_engine::{Code, ModelRef, PicoUsd};

/// The most calls read for the figures: those of about a thousand runs. More would make a quantile or a share no truer
/// to the eye, but each thousand takes milliseconds, so that the page about models would grow with the history.
pub(crate) const CALLS_MAX: usize = 5_000;

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallResult {
    /// It is in flight.
    UnderWay,
    /// It gave a whole answer.
    Answered,
    /// Its answer broke off, for this reason if a newer version did not invent it.
    Cut(Option<Code>),
    /// It failed, for this reason.
    Failed(Option<Code>),
    /// It was cancelled here.
    Cancelled,
    /// The process ended before the result was known.
    Unknown,
}

/// One request to a model: how it ended, how long it took and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFact {
    /// The model; calls of one model share it.
    pub model: Arc<ModelRef>,
    /// When it was sent, in milliseconds since 1970.
    pub sent_at_ms: i64,
    /// How it ended.
    pub result: CallResult,
    /// From sending to its end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// From sending to the first text or reasoning, in milliseconds; `None` if nothing came or it was not recorded.
    pub first_token_ms: Option<u64>,
    /// Its cost; `None` if it is unknown.
    pub cost: Option<PicoUsd>,
    /// Whether the cost was computed from prices.
    pub cost_is_estimate: bool,
}

/// The newest calls of a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallFacts {
    /// The calls, newest first.
    pub calls: Vec<CallFact>,
    /// Whether these are all calls of the period; otherwise it has more than 5,000.
    pub is_complete: bool,
}

/// The spending of one hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HourSpend {
    /// The hour, counted from the start of the day.
    pub hour: u32,
    /// The known cost.
    pub cost: PicoUsd,
    /// Calls whose cost is unknown, for good or for now.
    pub calls_of_unknown_cost: u64,
    /// The most that those calls can have cost; [`PicoUsd::MAX`] if nobody knows.
    pub unknown_cost_max: PicoUsd,
}
