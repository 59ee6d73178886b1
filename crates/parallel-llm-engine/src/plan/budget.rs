//! The budget of a run: worst cases, and what is reserved while calls are in flight.
//!
//! Invariant: spent plus reserved never exceeds the budget by more than one output cap per call in flight.

use parking_lot::Mutex;

use crate::request::panel::Seat;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::usage::tokens_in;

/// The most one call of a seat can cost; `None` if its price is unknown.
pub fn worst_call(seat: &Seat, input_bytes: u64) -> Option<PicoUsd> {
    seat.price.map(|price| price.cost(tokens_in(input_bytes), u64::from(seat.max_tokens)))
}

/// Fails if the worst case exceeds the budget. `what` is the subject of the message.
pub fn check(what: &str, worst_case: PicoUsd, budget: PicoUsd) -> Result<(), Failure> {
    if worst_case <= budget {
        return Ok(());
    }
    Err(Failure::new(Code::Budget, format!("{what} may cost up to {worst_case}; the budget is {budget}")))
}

/// The budget of one run.
#[derive(Debug)]
pub struct Budget {
    limit: PicoUsd,
    totals: Mutex<Totals>,
}

#[derive(Debug)]
struct Totals {
    spent: PicoUsd,
    reserved: PicoUsd,
}

impl Budget {
    /// An unspent budget.
    pub fn new(limit: PicoUsd) -> Self {
        Self { limit, totals: Mutex::new(Totals { spent: PicoUsd::ZERO, reserved: PicoUsd::ZERO }) }
    }

    /// Adds what earlier parts of the run have spent.
    pub fn book(&self, spent: PicoUsd) {
        let mut totals = self.totals.lock();
        totals.spent = totals.spent.plus(spent);
    }

    /// Reserves the worst case of a call before it is sent. An unknown price reserves nothing.
    pub fn reserve(&self, worst: Option<PicoUsd>) -> Result<PicoUsd, Failure> {
        let worst = worst.unwrap_or_default();
        let mut totals = self.totals.lock();
        let wanted = totals.spent.plus(totals.reserved).plus(worst);
        if wanted > self.limit {
            let message =
                format!("the call may cost {worst}, which the budget of {} does not hold", self.limit);
            return Err(Failure::new(Code::Budget, message));
        }
        totals.reserved = totals.reserved.plus(worst);
        Ok(worst)
    }

    /// Releases the reservation of a call and adds its cost. An unknown cost counts as the worst case, because stopping early
    /// is better than overspending.
    pub fn settle(&self, reserved: PicoUsd, cost: Option<PicoUsd>) {
        let mut totals = self.totals.lock();
        totals.reserved = totals.reserved.minus(reserved);
        totals.spent = totals.spent.plus(cost.unwrap_or(reserved));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_money_is_not_spent_twice() {
        let budget = Budget::new(PicoUsd(100));
        let first = budget.reserve(Some(PicoUsd(60))).unwrap();
        assert_eq!(budget.reserve(Some(PicoUsd(60))).unwrap_err().code, Code::Budget);
        budget.settle(first, Some(PicoUsd(10)));
        let second = budget.reserve(Some(PicoUsd(60))).unwrap();
        budget.settle(second, None);
        assert_eq!(budget.reserve(Some(PicoUsd(31))).unwrap_err().code, Code::Budget);
        assert_eq!(budget.reserve(Some(PicoUsd(30))).unwrap(), PicoUsd(30));
    }
}
