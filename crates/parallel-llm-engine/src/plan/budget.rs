//! The budget of a run: worst cases, and what is reserved while calls are in flight.
//!
//! Invariant: spent plus reserved never exceeds the budget by more than one output cap per call in flight.

use parking_lot::Mutex;

use crate::plan::worst_case::{self, WorstCase};
use crate::request::Message;
use crate::request::panel::Seat;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::usage::{BYTES_PER_TOKEN, tokens_in};

/// The most bytes of a token of an answer. Real tokenizers take three to five bytes of English for one.
const ANSWER_TOKEN_BYTES: u64 = 5;

/// The most one call of a seat with these messages can cost. The plan, which counts answers by their caps, has planned for so many
/// tokens of input: that is what texts count that are as long as such answers may be, although they have more bytes than are
/// otherwise counted as so many tokens. So a budget that holds the worst case holds every call.
pub fn worst_call(seat: &Seat, messages: &[Message], planned_tokens: u64) -> WorstCase {
    let counted = tokens_in(messages.iter().map(Message::weight_bytes).sum());
    let planned_bytes = planned_tokens.saturating_mul(ANSWER_TOKEN_BYTES);
    let is_as_planned = counted.saturating_mul(BYTES_PER_TOKEN) <= planned_bytes;
    let input_tokens = if is_as_planned { counted.min(planned_tokens) } else { counted };
    let pictures = messages.iter().map(Message::pictures).sum();
    WorstCase::of(&seat.model, seat.cost_max(input_tokens, pictures, seat.max_tokens))
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

    /// Reserves the worst case of a call before it is sent. Fails for an unknown one, unless there is no limit.
    pub fn reserve(&self, worst: &WorstCase) -> Result<PicoUsd, Failure> {
        if !worst.unpriced().is_empty() && !self.limit.is_unlimited() {
            return Err(worst_case::unpriced("the call", worst.unpriced(), self.limit));
        }
        let worst = worst.known_part();
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
    use crate::request::panel::{ModelRef, ProviderId};

    fn reserve(budget: &Budget, pico: i64) -> Result<PicoUsd, Failure> {
        budget.reserve(&WorstCase::Known(PicoUsd(pico)))
    }

    #[test]
    fn a_call_without_a_known_price_is_not_sent_under_a_limit() {
        let model = ModelRef { provider: ProviderId("lab".to_owned()), model: "a".to_owned() };
        let unknown = WorstCase::of(&model, None);
        let refused = Budget::new(PicoUsd::from_usd(1_000)).reserve(&unknown).unwrap_err();
        assert_eq!(refused.code, Code::PriceUnknown);
        assert_eq!(Budget::new(PicoUsd::UNLIMITED).reserve(&unknown).unwrap(), PicoUsd::ZERO);
    }

    #[test]
    fn reserved_money_is_not_spent_twice() {
        let budget = Budget::new(PicoUsd(100));
        let first = reserve(&budget, 60).unwrap();
        assert_eq!(reserve(&budget, 60).unwrap_err().code, Code::Budget);
        budget.settle(first, Some(PicoUsd(10)));
        let second = reserve(&budget, 60).unwrap();
        budget.settle(second, None);
        assert_eq!(reserve(&budget, 31).unwrap_err().code, Code::Budget);
        assert_eq!(reserve(&budget, 30).unwrap(), PicoUsd(30));
    }
}
