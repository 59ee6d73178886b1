//! The rule that says "enough": which answers of a panel are waited for.

use serde::{Deserialize, Serialize};

/// Seats that must have answered before stragglers may be left behind, in per cent of those that still can.
pub const STRAGGLER_SHARE_PERCENT: u8 = 60;
/// The shortest time stragglers are given, in milliseconds.
pub const STRAGGLER_AFTER_MS: u64 = 45_000;
/// The part of a caller's wall that stragglers are given, in per cent.
const STRAGGLER_WALL_PERCENT: u64 = 40;

/// The rule that says "enough".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Wait {
    /// Every seat ends by itself.
    All,
    /// The first answer, whoever gives it.
    First,
    /// So many answers.
    Seats {
        /// How many.
        count: u8,
    },
    /// What has come by then, if anything has.
    Until {
        /// Milliseconds from the start.
        ms: u64,
    },
    /// All, but for the few that take much longer than the others.
    Stragglers {
        /// Per cent of the seats that must have answered.
        share_percent: u8,
        /// The shortest time they are given, in milliseconds.
        after_ms: u64,
    },
}

impl Wait {
    /// The rule for a caller that gives up at this wall: stragglers get less time, so that there is enough left
    /// for fusing.
    #[must_use]
    pub fn under_wall(self, wall_ms: Option<u64>) -> Self {
        match (self, wall_ms) {
            (Self::Stragglers { share_percent, after_ms }, Some(wall_ms)) => Self::Stragglers {
                share_percent,
                after_ms: after_ms.min(wall_ms / 100 * STRAGGLER_WALL_PERCENT),
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
        let at = |wall_ms| after_ms(Wait::default().under_wall(wall_ms));
        assert_eq!([None, Some(60_000), Some(300_000)].map(at), [Some(45_000), Some(24_000), Some(45_000)]);
        assert_eq!(Wait::All.under_wall(Some(60_000)), Wait::All);
    }
}
