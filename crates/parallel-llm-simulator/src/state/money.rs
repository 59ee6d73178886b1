//! Money as whole pico-dollars (10^-12 USD) in an `i64`, and its decimal forms.
//!
//! Sums are exact; floating-point numbers appear only in the JSON of a price.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Pico-dollars in one dollar.
pub const PICO_PER_USD: i64 = 1_000_000_000_000;

/// Digits after the decimal point that a pico-dollar can hold.
const DECIMALS: usize = 12;

/// Parses a decimal price (`"0.0000004"`) exactly; `None` if it is negative, finer than a pico-dollar, too large, or
/// not a decimal.
pub fn pico_usd(decimal: &str) -> Option<i64> {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > DECIMALS {
        return None;
    }
    let whole_pico = whole.parse::<i64>().ok()?.checked_mul(PICO_PER_USD)?;
    let fraction_pico = format!("{fraction:0<DECIMALS$}").parse::<i64>().ok()?;
    whole_pico.checked_add(fraction_pico)
}

/// An amount in JSON: exact, and formatted as JavaScript does, with an exponent below a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usd {
    pub(crate) pico: i64,
}

/// The amount below which JavaScript uses an exponent.
const EXPONENT_BELOW_PICO: i64 = PICO_PER_USD / 1_000_000;

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The nearest double to a whole number of pico-dollars prints as exactly that amount.
        let usd = self.pico as f64 / PICO_PER_USD as f64;
        let is_small = self.pico != 0 && self.pico.abs() < EXPONENT_BELOW_PICO;
        let text = if is_small { format!("{usd:e}") } else { usd.to_string() };
        RawValue::from_string(text).expect("a decimal number is JSON").serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_strings_are_read_exactly() {
        let cases = [
            ("0.000002", Some(2_000_000)),
            ("0.0000000699", Some(69_900)),
            ("0", Some(0)),
            ("1.5", Some(1_500_000_000_000)),
            ("-1", None),
            ("0.0000000000001", None),
            (".5", None),
            ("", None),
            ("99999999999", None),
        ];
        for (decimal, expected) in cases {
            assert_eq!(pico_usd(decimal), expected, "{decimal}");
        }
    }

    #[test]
    fn shown_amounts_are_exact() {
        let shown = |pico| serde_json::to_string(&Usd { pico }).unwrap();
        let cases = [(832_000_000, "0.000832"), (1_000_000, "0.000001"), (69_900, "6.99e-8"), (0, "0")];
        for (pico, text) in cases {
            assert_eq!(shown(pico), text);
        }
        assert_eq!(shown(2 * PICO_PER_USD), "2");
    }
}
