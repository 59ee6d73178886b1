//! A cost as text. A sum that lacks a call is a lower bound, a sum computed from prices is an estimate, and an unknown
//! cost is unknown, never zero. An upper bound is shown beside the sum and never replaces it.

use parallel_llm_engine::PicoUsd;
use parallel_llm_engine::run::{Run, SeatView};

/// The cost of some calls, and how exact it is.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The known part of the sum; `None` if nothing is known.
    pub known: Option<PicoUsd>,
    /// Whether the sum lacks a call.
    pub lacks_calls: bool,
    /// Whether a part of the sum is computed from prices or missing.
    pub is_estimate: bool,
    /// The most that all calls can have cost, if a call is missing and its bound is known.
    pub bound: Option<PicoUsd>,
}

impl Cost {
    /// The cost of all requests of a run.
    pub fn of(run: &Run) -> Self {
        let cost = Self::of_sum(run.cost(), run.cost_lacks_calls(), run.cost_is_estimate());
        Self { bound: run.cost_bound(), ..cost }
    }

    /// The cost of calls with this sum. A sum of zero that is not exact counts as unknown.
    pub fn of_sum(sum: PicoUsd, lacks_calls: bool, is_estimate: bool) -> Self {
        let is_estimate = is_estimate || lacks_calls;
        Self { known: sum.unless_unknown(is_estimate), lacks_calls, is_estimate, bound: None }
    }

    /// The cost of all requests of a seat.
    pub fn of_seat(seat: &SeatView) -> Self {
        let (lacks_calls, is_estimate) = (seat.cost_lacks_calls(), seat.cost_is_estimate);
        Self { known: seat.known_cost(), lacks_calls, is_estimate, bound: None }
    }

    /// The qualifier before the sum, with a trailing space: `at least `, `about ` or nothing.
    pub const fn qualifier(self) -> &'static str {
        match self {
            Self { lacks_calls: true, .. } => "at least ",
            Self { is_estimate: true, .. } => "about ",
            _ => "",
        }
    }

    /// The cost as text: `at least $0.0093`, `at least $0.0093, up to $0.12`, `about $1.20`, `$1.20`, `cost unknown`,
    /// `cost unknown, up to $0.12`.
    pub fn described(self) -> String {
        let known = self
            .known
            .map_or_else(|| "cost unknown".to_owned(), |cost| format!("{}{cost}", self.qualifier()));
        let bound = self.bound.map(|bound| format!(", up to {bound}"));
        known + bound.as_deref().unwrap_or_default()
    }

    /// The cost as text; `None` if nothing is known.
    pub fn described_if_known(self) -> Option<String> {
        self.known.map(|_| self.described())
    }

    /// For the narrow column of a table: `≥$0.0093`, `~$1.20`, `$1.20`, `unknown`.
    pub fn short(self) -> String {
        let sign = match self {
            Self { lacks_calls: true, .. } => "≥",
            Self { is_estimate: true, .. } => "~",
            _ => "",
        };
        self.known.map_or_else(|| "unknown".to_owned(), |cost| format!("{sign}{cost}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uncertain_cost_is_marked_as_such() {
        let cost = |known, lacks_calls, is_estimate| Cost { known, lacks_calls, is_estimate, bound: None };
        let paid = Some(PicoUsd(9_300_000_000));
        let costs = [
            cost(paid, false, false),
            cost(paid, false, true),
            cost(paid, true, true),
            cost(paid, true, false),
            cost(None, true, true),
        ];
        assert_eq!(
            costs.map(Cost::described),
            ["$0.0093", "about $0.0093", "at least $0.0093", "at least $0.0093", "cost unknown"]
        );
        assert_eq!(costs.map(Cost::short), ["$0.0093", "~$0.0093", "≥$0.0093", "≥$0.0093", "unknown"]);
        let bounded =
            [paid, None].map(|known| Cost { bound: Some(PicoUsd::from_usd(1)), ..cost(known, true, true) });
        assert_eq!(
            bounded.map(Cost::described),
            ["at least $0.0093, up to $1.00", "cost unknown, up to $1.00"]
        );
    }
}
