//! A counted share with its interval.

use parallel_llm_engine::agreement::interval::wilson;
use serde::Serialize;

/// The fewest cases for a share or a quantile: with fewer, the interval may cover more than half of the scale.
pub(super) const CASES_MIN: u64 = 10;

/// A share of counted cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share, from 0 to 1.
    pub share: f64,
    /// Its Wilson 95 % interval.
    pub interval: [f64; 2],
}

impl Share {
    /// The share `count` of `of`; `None` for too few cases.
    pub(super) fn of(count: u64, of: u64) -> Option<Self> {
        let (part, whole) = (count as f64, of as f64);
        (of >= CASES_MIN).then(|| Self { share: part / whole, interval: wilson(part, whole) })
    }
}
