//! The quorum: decides when to stop waiting for the panel, from the ends of seats and the time.
//!
//! Invariant: once every seat has ended, the decision is final. The caller enforces the deadline of the run.

use crate::request::panel::{Seat, SeatNumber};
use crate::request::wait::Wait;

/// A straggler takes longer than this many times the median of the seats that answered.
const STRAGGLER_MEDIANS: u64 = 3;

/// What to do at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitDecision {
    /// Wait until a seat ends or a moment comes.
    Wait {
        /// When the decision may change without an event, in milliseconds from the start; `None` if it cannot.
        until_ms: Option<u64>,
    },
    /// Stop waiting and use the answers.
    Enough,
    /// No seat has answered and none can.
    Impossible,
}

/// Counts the ends of seats.
///
/// The rule counts only seats that are asked in this part of the run. Earlier answers are used, but they do not end the
/// wait for the answers the user asked for in addition.
#[derive(Clone, Debug)]
pub struct Quorum {
    wait: Wait,
    /// Seats asked in this part.
    seats: usize,
    /// Usable answers of earlier parts.
    before: usize,
    failed: usize,
    answered_ms: Vec<u64>,
    strongest_open: Vec<SeatNumber>,
    is_hurried: bool,
}

impl Quorum {
    /// A quorum without seats.
    pub const fn new(wait: Wait) -> Self {
        Self {
            wait,
            seats: 0,
            before: 0,
            failed: 0,
            answered_ms: Vec::new(),
            strongest_open: Vec::new(),
            is_hurried: false,
        }
    }

    /// Adds a seat that is asked in this part.
    pub fn ask(&mut self, seat: &Seat) {
        self.seats += 1;
        self.strongest_open.extend(seat.strongest.then_some(seat.number));
    }

    /// Adds a seat that ended in an earlier part and is not asked now. `answered` means with a usable answer.
    pub fn remember(&mut self, answered: bool) {
        self.before += usize::from(answered);
    }

    /// Notes the end of a seat. `answered` means with a usable answer.
    pub fn observe(&mut self, seat: SeatNumber, answered: bool, elapsed_ms: u64) {
        self.strongest_open.retain(|open| *open != seat);
        if answered {
            self.answered_ms.push(elapsed_ms);
        } else {
            self.failed += 1;
        }
    }

    /// From now on any answer is enough.
    pub const fn hurry(&mut self) {
        self.is_hurried = true;
    }

    /// Whether any answer is enough.
    pub const fn is_hurried(&self) -> bool {
        self.is_hurried
    }

    /// The decision at `now_ms`, in milliseconds from the start.
    pub fn decision(&self, now_ms: u64) -> WaitDecision {
        let answered = self.answered_ms.len();
        if answered + self.failed >= self.seats {
            return if answered + self.before == 0 { WaitDecision::Impossible } else { WaitDecision::Enough };
        }
        if (answered > 0 && self.wait == Wait::First) || (answered + self.before > 0 && self.is_hurried) {
            return WaitDecision::Enough;
        }
        if answered == 0 || !self.strongest_open.is_empty() {
            return WaitDecision::Wait { until_ms: None };
        }
        let at = |limit_ms| {
            if now_ms >= limit_ms {
                WaitDecision::Enough
            } else {
                WaitDecision::Wait { until_ms: Some(limit_ms) }
            }
        };
        match self.wait {
            Wait::Seats { count } if answered >= usize::from(count) => WaitDecision::Enough,
            Wait::All | Wait::First | Wait::Seats { .. } => WaitDecision::Wait { until_ms: None },
            Wait::Until { ms } => at(ms),
            Wait::Stragglers { share_percent, after_ms } => {
                let can_answer = self.seats - self.failed;
                if answered * 100 < can_answer * usize::from(share_percent) {
                    return WaitDecision::Wait { until_ms: None };
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
    use crate::request::catalogue::PriceSource;
    use crate::request::panel::{ModelRef, ProviderId};

    fn asking(wait: Wait, seats: &[Seat]) -> Quorum {
        let mut quorum = Quorum::new(wait);
        for seat in seats {
            quorum.ask(seat);
        }
        quorum
    }

    fn panel(count: u8) -> Vec<Seat> {
        (1..=count)
            .map(|number| Seat {
                number: SeatNumber(number),
                model: ModelRef { provider: ProviderId("p".into()), model: "m".into() },
                temperature: None,
                max_tokens: 1,
                strongest: false,
                accuracy: None,
                price: None,
                price_source: PriceSource::default(),
                context_tokens: None,
                effort: None,
                inputs: None,
                json_mode: false,
                persona_prompt: None,
                asks_line: false,
            })
            .collect()
    }

    fn after(quorum: &mut Quorum, ends: &[(u8, bool, u64)]) {
        for (seat, answered, ms) in ends {
            quorum.observe(SeatNumber(*seat), *answered, *ms);
        }
    }

    #[test]
    fn stragglers_are_left_behind_late_and_only_if_enough_answered() {
        let mut quorum = asking(Wait::default(), &panel(5));
        after(&mut quorum, &[(1, true, 5_000), (2, true, 6_000)]);
        assert_eq!(quorum.decision(100_000), WaitDecision::Wait { until_ms: None });
        after(&mut quorum, &[(3, true, 20_000)]);
        assert_eq!(quorum.decision(20_000), WaitDecision::Wait { until_ms: Some(45_000) });
        assert_eq!(quorum.decision(45_000), WaitDecision::Enough);
        after(&mut quorum, &[(4, true, 30_000)]);
        assert_eq!(quorum.decision(50_000), WaitDecision::Wait { until_ms: Some(60_000) });
    }

    #[test]
    fn failed_seats_are_not_waited_for() {
        let mut quorum = asking(Wait::default(), &panel(5));
        after(&mut quorum, &[(1, false, 10), (2, false, 10), (3, true, 1_000), (4, true, 1_000)]);
        assert_eq!(quorum.decision(46_000), WaitDecision::Enough);
        let mut quorum = asking(Wait::All, &panel(2));
        after(&mut quorum, &[(1, false, 10), (2, false, 10)]);
        assert_eq!(quorum.decision(10), WaitDecision::Impossible);
    }

    #[test]
    fn the_strongest_seat_is_waited_for() {
        let mut seats = panel(3);
        seats[2].strongest = true;
        let mut quorum = asking(Wait::Seats { count: 1 }, &seats);
        after(&mut quorum, &[(1, true, 10), (2, true, 10)]);
        assert_eq!(quorum.decision(1_000_000), WaitDecision::Wait { until_ms: None });
        after(&mut quorum, &[(3, true, 20)]);
        assert_eq!(quorum.decision(20), WaitDecision::Enough);
    }

    #[test]
    fn earlier_answers_do_not_end_the_wait() {
        let rules = [Wait::default(), Wait::Seats { count: 1 }, Wait::Until { ms: 100 }];
        for mut quorum in rules.map(|rule| asking(rule, &panel(4)[2..])) {
            quorum.remember(true);
            quorum.remember(false);
            assert_eq!(quorum.decision(1_000_000), WaitDecision::Wait { until_ms: None });
            after(&mut quorum, &[(3, false, 10)]);
            assert_eq!(quorum.decision(1_000_000), WaitDecision::Wait { until_ms: None });
            let mut other = quorum.clone();
            after(&mut quorum, &[(4, false, 20)]);
            assert_eq!(quorum.decision(20), WaitDecision::Enough);
            after(&mut other, &[(4, true, 20)]);
            assert_eq!(other.decision(20), WaitDecision::Enough);
        }
    }

    #[test]
    fn a_time_limit_needs_at_least_one_answer() {
        let mut quorum = asking(Wait::Until { ms: 100 }, &panel(2));
        assert_eq!(quorum.decision(500), WaitDecision::Wait { until_ms: None });
        after(&mut quorum, &[(1, true, 50)]);
        assert_eq!(quorum.decision(60), WaitDecision::Wait { until_ms: Some(100) });
        assert_eq!(quorum.decision(100), WaitDecision::Enough);
    }
}
