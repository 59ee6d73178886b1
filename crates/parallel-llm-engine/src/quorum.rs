//! When to stop waiting for the panel. Pure: it is told what happened and what time it is, and says what to do.
//!
//! What always holds: with every seat ended the verdict is final, and no verdict waits past the run's deadline
//! (which the caller holds).

use serde::{Deserialize, Serialize};

use crate::panel::{Seat, SeatNumber};

/// Seats that must have answered before stragglers may be left behind, in per cent of those that still can.
pub const STRAGGLER_SHARE_PERCENT: u8 = 60;
/// The shortest time stragglers are given, in milliseconds.
pub const STRAGGLER_AFTER_MS: u64 = 45_000;
/// The part of a caller's wall that stragglers are given, in per cent.
const STRAGGLER_WALL_PERCENT: u64 = 40;
/// A straggler takes longer than this many times the median of those that answered.
const STRAGGLER_MEDIANS: u64 = 3;

/// The rule that says "enough".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Wait {
    /// Every seat ends by itself.
    All,
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

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on waiting, and ask again when something happens or this time (milliseconds from the start) comes.
    Wait {
        /// When the verdict may change by time alone.
        until_ms: Option<u64>,
    },
    /// Stop waiting and use what is there.
    Enough,
    /// Nobody answered and nobody can.
    Impossible,
}

/// Counts what the panel has done.
#[derive(Clone, Debug)]
pub struct Quorum {
    wait: Wait,
    seats: usize,
    failed: usize,
    answered_ms: Vec<u64>,
    strongest_open: Vec<SeatNumber>,
}

impl Quorum {
    /// A panel nobody of which has ended.
    pub fn new(wait: Wait, seats: &[Seat]) -> Self {
        let strongest_open = seats.iter().filter(|seat| seat.strongest).map(|seat| seat.number).collect();
        Self { wait, seats: seats.len(), failed: 0, answered_ms: Vec::new(), strongest_open }
    }

    /// A seat has ended, with an answer that can be used or without.
    pub fn observe(&mut self, seat: SeatNumber, answered: bool, elapsed_ms: u64) {
        self.strongest_open.retain(|open| *open != seat);
        if answered {
            self.answered_ms.push(elapsed_ms);
        } else {
            self.failed += 1;
        }
    }

    /// What to do at this time, in milliseconds from the start.
    pub fn verdict(&self, now_ms: u64) -> Verdict {
        let answered = self.answered_ms.len();
        if answered + self.failed >= self.seats {
            return if answered == 0 { Verdict::Impossible } else { Verdict::Enough };
        }
        if answered == 0 || !self.strongest_open.is_empty() {
            return Verdict::Wait { until_ms: None };
        }
        let at = |limit_ms| {
            if now_ms >= limit_ms { Verdict::Enough } else { Verdict::Wait { until_ms: Some(limit_ms) } }
        };
        match self.wait {
            Wait::Seats { count } if answered >= usize::from(count) => Verdict::Enough,
            Wait::All | Wait::Seats { .. } => Verdict::Wait { until_ms: None },
            Wait::Until { ms } => at(ms),
            Wait::Stragglers { share_percent, after_ms } => {
                let can_answer = self.seats - self.failed;
                if answered * 100 < can_answer * usize::from(share_percent) {
                    return Verdict::Wait { until_ms: None };
                }
                at(after_ms.max(self.median_ms().saturating_mul(STRAGGLER_MEDIANS)))
            }
        }
    }

    fn median_ms(&self) -> u64 {
        let mut sorted = self.answered_ms.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::{ModelRef, ProviderId};

    fn panel(count: u8) -> Vec<Seat> {
        (1..=count)
            .map(|number| Seat {
                number: SeatNumber(number),
                model: ModelRef { provider: ProviderId("p".into()), model: "m".into() },
                temperature: None,
                max_tokens: 1,
                strongest: false,
                price: None,
                context_tokens: None,
                effort: None,
                inputs: None,
            })
            .collect()
    }

    fn after(quorum: &mut Quorum, ends: &[(u8, bool, u64)]) {
        for (seat, answered, ms) in ends {
            quorum.observe(SeatNumber(*seat), *answered, *ms);
        }
    }

    #[test]
    fn stragglers_are_left_behind_late_and_only_with_company() {
        let mut quorum = Quorum::new(Wait::default(), &panel(5));
        after(&mut quorum, &[(1, true, 5_000), (2, true, 6_000)]);
        assert_eq!(quorum.verdict(100_000), Verdict::Wait { until_ms: None });
        after(&mut quorum, &[(3, true, 20_000)]);
        assert_eq!(quorum.verdict(20_000), Verdict::Wait { until_ms: Some(45_000) });
        assert_eq!(quorum.verdict(45_000), Verdict::Enough);
        after(&mut quorum, &[(4, true, 30_000)]);
        assert_eq!(quorum.verdict(50_000), Verdict::Wait { until_ms: Some(60_000) });
    }

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

    #[test]
    fn failed_seats_are_not_waited_for() {
        let mut quorum = Quorum::new(Wait::default(), &panel(5));
        after(&mut quorum, &[(1, false, 10), (2, false, 10), (3, true, 1_000), (4, true, 1_000)]);
        assert_eq!(quorum.verdict(46_000), Verdict::Enough);
        let mut quorum = Quorum::new(Wait::All, &panel(2));
        after(&mut quorum, &[(1, false, 10), (2, false, 10)]);
        assert_eq!(quorum.verdict(10), Verdict::Impossible);
    }

    #[test]
    fn the_strongest_seat_is_waited_for() {
        let mut seats = panel(3);
        seats[2].strongest = true;
        let mut quorum = Quorum::new(Wait::Seats { count: 1 }, &seats);
        after(&mut quorum, &[(1, true, 10), (2, true, 10)]);
        assert_eq!(quorum.verdict(1_000_000), Verdict::Wait { until_ms: None });
        after(&mut quorum, &[(3, true, 20)]);
        assert_eq!(quorum.verdict(20), Verdict::Enough);
    }

    #[test]
    fn a_time_limit_needs_at_least_one_answer() {
        let mut quorum = Quorum::new(Wait::Until { ms: 100 }, &panel(2));
        assert_eq!(quorum.verdict(500), Verdict::Wait { until_ms: None });
        after(&mut quorum, &[(1, true, 50)]);
        assert_eq!(quorum.verdict(60), Verdict::Wait { until_ms: Some(100) });
        assert_eq!(quorum.verdict(100), Verdict::Enough);
    }
}
