//! Reads numbers as people and models write them, exactly: `1,234.50`, `3/4`, `3 1/2`, `−5`, `1.2×10^3`.
//!
//! Numbers are fractions, not floats, so two are equal or they are not. An ambiguous number is not read.

use std::fmt;

/// The most digits. More may overflow the fraction, and no compared answer has as many.
const DIGITS_MAX: usize = 30;
/// The largest power of ten that fits.
const EXPONENT_MAX: u32 = 30;

/// A number as a fraction in lowest terms, with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    over: i128,
    under: i128,
}

impl Number {
    /// `over / under`; `None` for a zero denominator or an overflow.
    fn new(over: i128, under: i128) -> Option<Self> {
        if under == 0 {
            return None;
        }
        let shared = i128::try_from(greatest_common(over.unsigned_abs(), under.unsigned_abs())).ok()?;
        let sign = under.signum();
        Some(Self { over: over / shared * sign, under: under / shared * sign })
    }

    fn times_power_of_ten(self, exponent: i32) -> Option<Self> {
        let power = (exponent.unsigned_abs() <= EXPONENT_MAX)
            .then(|| 10_i128.checked_pow(exponent.unsigned_abs()))??;
        if exponent >= 0 {
            Self::new(self.over.checked_mul(power)?, self.under)
        } else {
            Self::new(self.over, self.under.checked_mul(power)?)
        }
    }

    fn divided_by(self, other: Self) -> Option<Self> {
        Self::new(self.over.checked_mul(other.under)?, self.under.checked_mul(other.over)?)
    }

    fn plus(self, other: Self) -> Option<Self> {
        let over = self.over.checked_mul(other.under)?.checked_add(other.over.checked_mul(self.under)?)?;
        Self::new(over, self.under.checked_mul(other.under)?)
    }

    const fn negative(self) -> Self {
        Self { over: -self.over, under: self.under }
    }
}

impl fmt::Display for Number {
    /// As a decimal if it terminates, else as a fraction.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |number: &Self| (number.under == 1).then_some(number.over);
        let places = (0..=12).find_map(|places| Some((places, whole(&self.times_power_of_ten(places)?)?)));
        let Some((places, digits)) = places else { return write!(out, "{}/{}", self.over, self.under) };
        let places = usize::try_from(places).unwrap_or_default();
        let sign = if digits < 0 { "-" } else { "" };
        let digits = format!("{:0>width$}", digits.unsigned_abs(), width = places + 1);
        let (before, after) = digits.split_at(digits.len() - places);
        if after.is_empty() { write!(out, "{sign}{before}") } else { write!(out, "{sign}{before}.{after}") }
    }
}

const fn greatest_common(one: u128, other: u128) -> u128 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    if one == 0 { 1 } else { one }
}

/// The number at the beginning of a text, and the rest. `None` if there is none, or an ambiguous one.
///
/// `1,234` is above a thousand. `3,14` and `1.234,5` may be two numbers and `007` a name, so they are not read.
pub(super) fn leading(text: &str) -> Option<(Number, &str)> {
    let unsigned = text.strip_prefix(['-', '−']);
    let (number, rest) = positive(unsigned.unwrap_or(text))?;
    Some((if unsigned.is_some() { number.negative() } else { number }, rest))
}

/// Whether the only separator of a number may be decimal or for thousands, as in `1.250` and `1,250`.
pub(super) fn may_be_grouped(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '−']);
    let mut parts = digits.split(['.', ',']);
    let (whole, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    parts.next().is_none() && (1..=3).contains(&whole.len()) && whole != "0" && rest.len() == 3
}

fn positive(text: &str) -> Option<(Number, &str)> {
    if let Some(fraction) = text.strip_prefix("\\frac{") {
        return quotient(fraction);
    }
    let (number, length) = decimal(text)?;
    let rest = &text[length..];
    if let Some((exponent, more)) = power_of_ten(rest) {
        return Some((number.times_power_of_ten(exponent)?, &rest[more..]));
    }
    if let Some(under) = rest.strip_prefix('/').filter(|under| under.starts_with(is_digit)) {
        let (under, more) = decimal(under)?;
        return Some((number.divided_by(under)?, &rest[1 + more..]));
    }
    // `3 1/2` and `3\frac{1}{2}`, which are not `31/2`.
    if let Some((part, behind)) = mixed(rest).filter(|(part, _)| number.under == 1 && part.over < part.under)
    {
        return Some((number.plus(part)?, behind));
    }
    Some((number, rest))
}

/// The fraction of a mixed number.
fn mixed(rest: &str) -> Option<(Number, &str)> {
    if let Some(fraction) = rest.trim_start().strip_prefix("\\frac{") {
        return quotient(fraction);
    }
    let (over, length) = decimal(rest.strip_prefix(' ')?)?;
    let under = rest[1 + length..].strip_prefix('/')?;
    let (under, more) = decimal(under)?;
    let is_whole = over.under == 1 && under.under == 1;
    let part = is_whole.then(|| over.divided_by(under))??;
    Some((part, &rest[1 + length + 1 + more..]))
}

/// Reads `1}{2}` after `\frac{`: two decimals and nothing else.
fn quotient(text: &str) -> Option<(Number, &str)> {
    let (over, rest) = text.split_once("}{")?;
    let (under, rest) = rest.split_once('}')?;
    let signed = |text: &str| leading(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number);
    Some((signed(over.trim())?.divided_by(signed(under.trim())?)?, rest))
}

/// Digits of one script with separators, whose positions decide which is decimal.
fn decimal(text: &str) -> Option<(Number, usize)> {
    let (mut digits, mut marks, mut length) = (String::new(), Vec::new(), 0);
    let mut script = None;
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        if let Some((value, zero)) = digit(one) {
            (*script.get_or_insert(zero) == zero).then_some(())?;
            digits.push(value);
        } else if !digits.is_empty() && is_separator(one) && rest.peek().is_some_and(|next| is_digit(*next)) {
            marks.push((one, digits.len()));
        } else {
            break;
        }
        length += one.len_utf8();
    }
    let is_name = digits.len() > 1 && digits.starts_with('0') && marks.first() != Some(&('.', 1));
    if digits.is_empty() || digits.len() > DIGITS_MAX || is_name {
        return None;
    }
    let fraction = fraction_digits(&marks, digits.len())?;
    let number = Number::new(digits.parse().ok()?, 1)?;
    Some((number.times_power_of_ten(-i32::try_from(fraction).ok()?)?, length))
}

/// The number of decimals; `None` if the separators are ambiguous.
fn fraction_digits(marks: &[(char, usize)], digits: usize) -> Option<usize> {
    let is_point = |mark: char| matches!(mark, '.' | '٫');
    let (thousands, end) = match marks.split_last() {
        Some(((last, at), others)) if is_point(*last) => (others, *at),
        _ => (marks, digits),
    };
    let is_one_kind = thousands.iter().all(|(mark, _)| *mark == thousands[0].0 && !is_point(*mark));
    let ends: Vec<usize> = thousands.iter().map(|(_, at)| *at).chain([end]).collect();
    let is_grouped = ends.windows(2).all(|two| two[1] - two[0] == 3)
        && (thousands.is_empty() || (1..=3).contains(&ends[0]));
    (is_one_kind && is_grouped).then_some(digits - end)
}

/// `e-3`, `×10^3`, `\times 10^{3}`: the power of ten, and its length in bytes.
fn power_of_ten(text: &str) -> Option<(i32, usize)> {
    let exponent = |digits: &str| {
        let (sign, bare) = match digits.strip_prefix(['-', '−']) {
            Some(bare) => (-1, bare),
            None => (1, digits.strip_prefix('+').unwrap_or(digits)),
        };
        let end = bare.find(|one: char| !one.is_ascii_digit()).unwrap_or(bare.len());
        let value: i32 = bare[..end].parse().ok()?;
        Some((sign * value, digits.len() - bare.len() + end))
    };
    if let Some(digits) = text.strip_prefix(['e', 'E']) {
        let (value, length) = exponent(digits)?;
        return Some((value, 1 + length));
    }
    let trimmed = text.trim_start();
    let sign =
        ["×", "·", "*", "x", "\\times", "\\cdot"].into_iter().find(|sign| trimmed.starts_with(sign))?;
    let base = trimmed[sign.len()..].trim_start();
    let digits = base.strip_prefix("10^")?;
    let (open, digits) = digits.strip_prefix('{').map_or((0, digits), |digits| (1, digits));
    let (value, length) = exponent(digits)?;
    let end = text.len() - digits.len() + length;
    (open == 0 || text[end..].starts_with('}')).then_some((value, end + open))
}

/// The zero of each script: Latin, Arabic, Persian, Devanagari, Bengali, Telugu, Thai, and Latin as wide as Chinese.
const ZEROS: [char; 8] = ['0', '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{c66}', '\u{e50}', '\u{ff10}'];

/// A decimal digit of any of these scripts as ASCII, and the zero of its script.
fn digit(one: char) -> Option<(char, char)> {
    let value_in = |zero: char| (one as u32).checked_sub(zero as u32).filter(|value| *value < 10);
    let (value, zero) = ZEROS.into_iter().find_map(|zero| Some((value_in(zero)?, zero)))?;
    Some((char::from_digit(value, 10)?, zero))
}

pub(super) fn is_digit(one: char) -> bool {
    digit(one).is_some()
}

/// Whether a character may separate digits of one number. A plain space may not, because it may separate two numbers.
const fn is_separator(one: char) -> bool {
    matches!(one, '.' | ',' | '\'' | '’' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '٫' | '٬')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, number: &str, behind: &str) {
        let read = leading(text).map(|(number, rest)| (number.to_string(), rest));
        assert_eq!(read, Some((number.to_owned(), behind)), "{text}");
    }

    #[test]
    fn a_number_is_read_in_every_notation() {
        for (text, number) in [
            ("42", "42"),
            ("42.0", "42"),
            ("-5", "-5"),
            ("−5", "-5"),
            ("1,234.50", "1234.5"),
            ("1\u{202f}234.5", "1234.5"),
            ("12'000", "12000"),
            ("1,234", "1234"),
            ("1,234,567", "1234567"),
            ("1.234", "1.234"),
            ("0.05", "0.05"),
            ("3/4", "0.75"),
            ("1/3", "1/3"),
            ("3 1/2", "3.5"),
            ("3\\frac{1}{2}", "3.5"),
            ("-\\frac{1}{2}", "-0.5"),
            ("\\frac{-1}{2}", "-0.5"),
            ("0.000001", "0.000001"),
            ("1e-3", "0.001"),
            ("1.5×10^3", "1500"),
            ("2 \\times 10^{-2}", "0.02"),
            ("６４", "64"),
            ("٤٢", "42"),
            ("০", "0"),
        ] {
            check(text, number, "");
        }
        check("8 legs", "8", " legs");
        check("3-5", "3", "-5");
        check("12 34", "12", " 34");
        check("1 3/2", "1", " 3/2");
        check("5.", "5", ".");
        check("0x10", "0", "x10");
        check("10^5", "10", "^5");
    }

    #[test]
    fn an_ambiguous_number_is_not_read() {
        let long = "9".repeat(31);
        for text in [
            "",
            "x",
            "+5",
            "–5",
            "- 5",
            ".5",
            "1,23",
            "3,14",
            "1,23,4",
            "12,34,567",
            "1.2.3",
            "1.234,5",
            "1.234.567",
            "007",
            "00",
            "1e99",
            "5/0",
            "6٤",
            "\\frac{\\pi}{2}",
            "\\frac{1}",
            "½",
            "²",
            "12345,678",
            &long,
        ] {
            assert_eq!(leading(text), None, "{text}");
        }
    }

    #[test]
    fn equal_numbers_are_equal_in_every_notation() {
        let number = |text| leading(text).unwrap().0;
        assert_eq!(number("0.5"), number("1/2"));
        assert_eq!(number("1,000"), number("1e3"));
        assert_eq!(number("1,234.50"), number("2469/2"));
        assert_ne!(number("0.333"), number("1/3"));
    }
}
