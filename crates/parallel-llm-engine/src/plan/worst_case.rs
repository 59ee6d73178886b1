//! The worst case of a run: the most it can cost, or the models whose price nobody tells.
//!
//! Invariant: an unknown worst case never counts as an amount. Whoever compares it with a budget passes through
//! [`WorstCase::check`], which refuses it under every budget but "none".

use serde::{Deserialize, Serialize};

use crate::request::panel::ModelRef;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::{Advice, Limit, Next};

/// The most models that a message names: enough to see what to add to the prices.
const NAMED_MAX: usize = 8;

/// The most something can cost. Stored as a number if it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WorstCase {
    /// It costs no more than this.
    Known(PicoUsd),
    /// Some of its models have no known price.
    Unknown {
        /// The most that the other models can cost.
        known: PicoUsd,
        /// The models without a price, each once.
        models: Vec<ModelRef>,
    },
}

impl WorstCase {
    /// It costs nothing.
    pub const ZERO: Self = Self::Known(PicoUsd::ZERO);

    /// The worst case of one model's calls; `None` if its price is unknown.
    pub fn of(model: &ModelRef, worst: Option<PicoUsd>) -> Self {
        worst.map_or_else(|| Self::Unknown { known: PicoUsd::ZERO, models: vec![model.clone()] }, Self::Known)
    }

    /// The amount as far as prices are known, for sums that say so.
    pub const fn known_part(&self) -> PicoUsd {
        match self {
            Self::Known(amount) | Self::Unknown { known: amount, .. } => *amount,
        }
    }

    /// The amount; `None` if it is unknown.
    pub const fn known(&self) -> Option<PicoUsd> {
        match self {
            Self::Known(amount) => Some(*amount),
            Self::Unknown { .. } => None,
        }
    }

    /// The models without a known price.
    pub fn unpriced(&self) -> &[ModelRef] {
        match self {
            Self::Known(_) => &[],
            Self::Unknown { models, .. } => models,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        let known = self.known_part().plus(other.known_part());
        let mut models = match self {
            Self::Known(_) => Vec::new(),
            Self::Unknown { models, .. } => models,
        };
        models.extend(
            other.unpriced().iter().filter(|model| !models.contains(model)).cloned().collect::<Vec<_>>(),
        );
        if models.is_empty() { Self::Known(known) } else { Self::Unknown { known, models } }
    }

    /// Fails if it is unknown and the budget has a limit. `what` is the subject of the message.
    pub fn check_known(&self, what: &str, budget: PicoUsd) -> Result<(), Failure> {
        match self {
            Self::Unknown { models, .. } if !budget.is_unlimited() => Err(unpriced(what, models, budget)),
            _ => Ok(()),
        }
    }

    /// Fails if it is unknown or above the budget. `what` is the subject of the message.
    pub fn check(&self, what: &str, budget: PicoUsd) -> Result<(), Failure> {
        self.check_known(what, budget)?;
        let amount = self.known_part();
        if amount <= budget {
            return Ok(());
        }
        // Two amounts that differ by less than is shown are not told as the same.
        let enough = amount.rounded_up_to_cents();
        let shown = if amount.to_string() == budget.to_string() { enough } else { amount };
        let message = format!("{what} may cost up to {shown}; the budget is {budget}");
        let next =
            [Next::AllowBudget(enough), Next::Lower(Limit::OutputTokens), Next::Do(Advice::AskFewerModels)];
        Err(Failure::new(Code::Budget, message).with_next(next))
    }

    /// The models without a known price in words, such as "`lab/a` and `lab/b`"; `None` if there are none.
    pub fn unpriced_words(&self) -> Option<String> {
        (!self.unpriced().is_empty()).then(|| names(self.unpriced()))
    }
}

impl Default for WorstCase {
    fn default() -> Self {
        Self::ZERO
    }
}

impl std::iter::Sum for WorstCase {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, |sum, next| sum.plus(&next))
    }
}

impl std::fmt::Display for WorstCase {
    /// The amount, or that it is unknown: `$1.20`, `an unknown amount (no price is known for `lab/a`)`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(amount) => amount.fmt(out),
            Self::Unknown { models, .. } => {
                write!(out, "an unknown amount (no price is known for {})", names(models))
            }
        }
    }
}

/// The failure for models without a known price.
pub fn unpriced(what: &str, models: &[ModelRef], budget: PicoUsd) -> Failure {
    let message = format!(
        "no price is known for {}, so nobody can say what {what} may cost; the budget is {budget}",
        names(models)
    );
    let example = models.first().map(|model| Next::GivePrice(model.to_string().into()));
    let next = [Next::AllowAnyCost].into_iter().chain(example).chain([Next::Do(Advice::AskAnotherModel)]);
    Failure::new(Code::PriceUnknown, message).with_next(next.collect::<Vec<_>>())
}

/// Models in words, such as "`lab/a`, `lab/b`"; of many, how many more there are.
pub fn names(models: &[ModelRef]) -> String {
    let named: Vec<String> = models.iter().take(NAMED_MAX).map(|model| format!("`{model}`")).collect();
    match models.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::panel::ProviderId;

    fn model(name: &str) -> ModelRef {
        ModelRef { provider: ProviderId("openrouter".to_owned()), model: name.to_owned() }
    }

    #[test]
    fn one_unknown_price_makes_the_whole_unknown() {
        let priced = WorstCase::Known(PicoUsd::from_usd(1));
        let sum: WorstCase = [
            priced.clone(),
            WorstCase::of(&model("lab/a"), None),
            priced,
            WorstCase::of(&model("lab/a"), None),
        ]
        .into_iter()
        .sum();
        assert_eq!((sum.known(), sum.known_part()), (None, PicoUsd::from_usd(2)));
        assert_eq!(sum.unpriced(), [model("lab/a")]);
        let refused = sum.check("the run", PicoUsd::from_usd(1_000_000)).unwrap_err();
        assert_eq!(refused.code, Code::PriceUnknown);
        let known = WorstCase::Known(PicoUsd::from_decimal("0.27315").unwrap());
        let near = known.check("the run", PicoUsd::from_decimal("0.2731").unwrap()).unwrap_err();
        assert_eq!(near.message, "the run may cost up to $0.28; the budget is $0.27");
        assert!(sum.check("the run", PicoUsd::UNLIMITED).is_ok());
    }

    #[test]
    fn a_stored_worst_case_is_a_number_if_it_is_known() {
        let stored = |worst: &WorstCase| serde_json::to_string(worst).unwrap();
        let known = WorstCase::Known(PicoUsd(7));
        assert_eq!(stored(&known), "7");
        let unknown = WorstCase::of(&model("lab/a"), None);
        for worst in [known, unknown] {
            assert_eq!(serde_json::from_str::<WorstCase>(&stored(&worst)).unwrap(), worst);
        }
    }
}
