//! The wait rule of a panel: which answers a run waits for.

use serde::{Deserialize, Serialize};

/// The share of seats that must have answered before stragglers are left behind, in percent of those that still can.
pub const STRAGGLER_SHARE_PERCENT: u8 = 60;
/// The least time stragglers get, in milliseconds.
pub const STRAGGLER_AFTER_MS: u64 = 45_000;
/// The share of the client timeout that stragglers get at most, in percent.
const STRAGGLER_TIMEOUT_PERCENT: u64 = 40;

/// The rule that says when enough answers are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Wait {
    /// Wait for every seat.
    All,
    /// Wait for the first answer, whoever gives it.
    First,
    /// Wait for a number of answers.
    Seats {
        /// How many.
        count: u8,
    },
    /// Wait until a moment, and longer while there is no answer.
    Until {
        /// Milliseconds from the start.
        ms: u64,
    },
    /// Wait for all seats but the few that take much longer than the others.
    Stragglers {
        /// The share of seats that must have answered, in percent.
        share_percent: u8,
        /// The least time the others get, in milliseconds.
        after_ms: u64,
    },
}

impl Wait {
    /// The rule for a client that gives up after `timeout_ms`: stragglers get less time, so that enough is left for fusing.
    #[must_use]
    pub fn within_client_timeout(self, timeout_ms: Option<u64>) -> Self {
        match (self, timeout_ms) {
            (Self::Stragglers { share_percent, after_ms }, Some(timeout_ms)) => Self::Stragglers {
                share_percent,
                after_ms: after_ms.min(timeout_ms / 100 * STRAGGLER_TIMEOUT_PERCENT),
            },
            (rule, _) => rule,
        }
    }
}

impl Default for Wait {
    fn default() -> Self {
        Self::Stragglers { share_percent: STRAGGLER_SHARE_PERCENT, after_ms: STRAGGLER_AFTER_MS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_gives_up_early_waits_less_for_stragglers() {
        let after_ms = |wait: Wait| match wait {
            Wait::Stragglers { after_ms, .. } => Some(after_ms),
            _ => None,
        };
        let at = |timeout_ms| after_ms(Wait::default().within_client_timeout(timeout_ms));
        assert_eq!([None, Some(60_000), Some(300_000)].map(at), [Some(45_000), Some(24_000), Some(45_000)]);
        assert_eq!(Wait::All.within_client_timeout(Some(60_000)), Wait::All);
    }
}
