//! Amounts of money in whole pico-USD, which is exact: prices go down to a tenth of a nano-USD per token.
//!
//! Floats appear only for display and in JSON. Addition and multiplication saturate and never wrap.

use serde::{Deserialize, Serialize};

/// Pico-USD in one USD.
const PICO_PER_USD: f64 = 1e12;
/// Pico-USD in a cent.
const PICO_PER_CENT: i64 = 10_000_000_000;
/// Pico-USD in a hundredth of a cent.
const PICO_PER_TYPED: i64 = 100_000_000;
/// Digits after the point that a pico-USD can hold.
const PICO_DIGITS: i32 = 12;

/// An amount of money in pico-USD (10⁻¹² USD). `i64` holds nine million USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PicoUsd(pub i64);

impl PicoUsd {
    /// No money.
    pub const ZERO: Self = Self(0);
    /// The largest amount, at which sums saturate.
    pub const MAX: Self = Self(i64::MAX);

    /// No limit, as a budget: the largest amount, which no sum of real costs reaches.
    pub const UNLIMITED: Self = Self::MAX;

    /// Whether it is nothing.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Whole US dollars.
    pub const fn from_usd(usd: i64) -> Self {
        Self(usd.saturating_mul(1_000_000_000_000))
    }

    /// Reads a decimal such as `0.000002`, `3` or `1e-7`, rounding half up below one pico-USD.
    /// `None` for anything negative, not a number, or beyond nine million USD.
    pub fn from_decimal(text: &str) -> Option<Self> {
        let text = text.trim();
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_add(PICO_DIGITS)?;
        shifted(digits.trim_start_matches('0'), shift).map(Self)
    }

    /// Reads a JSON number. Its shortest decimal form is taken, so `0.000832` stays exactly that.
    pub fn from_json(number: &serde_json::Number) -> Option<Self> {
        Self::from_decimal(&number.to_string())
    }

    /// Reads an amount that a person typed or a file holds as a float.
    pub fn from_f64(usd: f64) -> Option<Self> {
        Self::from_decimal(&usd.to_string())
    }

    /// `None` if the sum is zero and lacks an unknown part: unknown is not the same as free.
    pub fn unless_unknown(self, is_estimate: bool) -> Option<Self> {
        (self > Self::ZERO || !is_estimate).then_some(self)
    }

    /// The next amount of whole hundredths of a cent, which a person can type.
    #[must_use]
    pub const fn rounded_up(self) -> Self {
        Self(self.0.saturating_add(PICO_PER_TYPED - 1) / PICO_PER_TYPED * PICO_PER_TYPED)
    }

    /// A budget that holds this amount, as short as a person would type it: whole cents, below a cent as
    /// [`Self::rounded_up`].
    #[must_use]
    pub const fn rounded_up_to_cents(self) -> Self {
        if self.0 < PICO_PER_CENT {
            return self.rounded_up();
        }
        Self(self.0.saturating_add(PICO_PER_CENT - 1) / PICO_PER_CENT * PICO_PER_CENT)
    }

    /// Whether it stands for no limit.
    pub const fn is_unlimited(self) -> bool {
        self.0 == Self::UNLIMITED.0
    }

    /// The amount of a limit in USD, for JSON; `None` if there is no limit.
    pub fn limit_as_usd(self) -> Option<f64> {
        (!self.is_unlimited()).then(|| self.as_usd())
    }

    /// The amount in USD, for JSON and display.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / PICO_PER_USD
    }

    /// The sum, stopping at the end of the range.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, never below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }

    /// This price times `count`.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

impl std::iter::Sum for PicoUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::plus)
    }
}

impl std::fmt::Display for PicoUsd {
    /// Two significant digits below a cent, cents above: `$0.0021`, `$1.20`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_unlimited() {
            return out.write_str("unlimited");
        }
        let usd = self.as_usd();
        if self.0 == 0 || usd >= 0.1 {
            write!(out, "${usd:.2}")
        } else {
            let places = (-usd.abs().log10()).ceil() as usize + 1;
            write!(out, "${usd:.places$}")
        }
    }
}

/// `digits × 10^shift`, rounded half up; `None` if it does not fit.
fn shifted(digits: &str, shift: i32) -> Option<i64> {
    if digits.is_empty() {
        return Some(0);
    }
    // How many of the digits stand before the point; more than 19 do not fit into an `i64`.
    let kept = i64::try_from(digits.len()).ok()? + i64::from(shift);
    match kept {
        i64::MIN..0 => Some(0),
        0 => Some(i64::from(digits.as_bytes()[0] >= b'5')),
        1..=19 => {
            let kept = kept as usize;
            if kept >= digits.len() {
                return format!("{digits:0<kept$}").parse().ok();
            }
            let (head, tail) = digits.split_at(kept);
            head.parse::<i64>().ok()?.checked_add(i64::from(tail.as_bytes()[0] >= b'5'))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_read_exactly() {
        for (text, pico) in [
            ("0.000002", Some(2_000_000)),
            ("0.0000000001", Some(100)),
            ("1e-7", Some(100_000)),
            ("3", Some(3_000_000_000_000)),
            ("0.0000000000005", Some(1)),
            ("0.0000000000004", Some(0)),
            ("000.10", Some(100_000_000_000)),
            ("-1", None),
            ("", None),
            (".", None),
            ("NaN", None),
            ("1e400", None),
            ("99999999999", None),
        ] {
            assert_eq!(PicoUsd::from_decimal(text), pico.map(PicoUsd), "{text}");
        }
    }

    #[test]
    fn amounts_are_rounded_up_to_what_a_person_can_type() {
        for (amount, rounded) in
            [("1.1840281998", "1.1841"), ("0.0000001", "0.0001"), ("0.5", "0.5"), ("0", "0")]
        {
            let [amount, rounded] = [amount, rounded].map(|text| PicoUsd::from_decimal(text).unwrap());
            assert_eq!(amount.rounded_up(), rounded);
        }
    }

    #[test]
    fn amounts_read_well() {
        let shown: Vec<String> = ["0", "0.0021", "0.000045", "1.2", "0.1"]
            .map(|t| PicoUsd::from_decimal(t).unwrap().to_string())
            .into();
        assert_eq!(shown, ["$0.00", "$0.0021", "$0.000045", "$1.20", "$0.10"]);
    }

    proptest! {
        #[test]
        fn a_decimal_survives_json(pico in 0i64..1_000_000_000_000_000) {
            let json = serde_json::json!(PicoUsd(pico).as_usd());
            let number = json.as_number().unwrap();
            prop_assert_eq!(PicoUsd::from_json(number), Some(PicoUsd(pico)));
        }

        #[test]
        fn sums_are_exact_in_any_order(mut amounts in prop::collection::vec(0i64..1_000_000_000_000, 0..50)) {
            let forward: PicoUsd = amounts.iter().copied().map(PicoUsd).sum();
            amounts.reverse();
            let backward: PicoUsd = amounts.into_iter().map(PicoUsd).sum();
            prop_assert_eq!(forward, backward);
        }
    }
}
