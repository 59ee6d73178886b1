//! Numbers as people and models write them, compared exactly: `1,234.50`, `1 234,5`, `3/4`, `−5`, `1.2×10^3`, `50 %`.
//!
//! No floating point: two answers are the same number or they are not. What cannot be read without a doubt is not read.

use std::fmt;

/// More digits than any answer has that somebody compares; what is longer may not fit the fraction.
const DIGITS_MAX: usize = 30;
/// A power of ten beyond this does not fit.
const EXPONENT_MAX: u32 = 30;

/// A number as a fraction in lowest terms, with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    over: i128,
    under: i128,
}

impl Number {
    /// `over / under`; `None` where that is no number or does not fit.
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

    const fn negative(self) -> Self {
        Self { over: -self.over, under: self.under }
    }
}

impl fmt::Display for Number {
    /// As a decimal where it has an end, else as a fraction.
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

/// A number in a text, and what stands around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    pub(super) number: Number,
    /// The text before it, back to the number before that.
    pub(super) before: &'a str,
    /// All text after it.
    pub(super) after: &'a str,
}

/// Every number of a text, in order. `None` where one cannot be read without a doubt.
pub(super) fn all(text: &str) -> Option<Vec<Found<'_>>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(start) = text[from..].find(is_digit).map(|at| from + at) {
        let (number, length) = read(&text[start..])?;
        let before = &text[..start];
        // Part of a name, such as `v2` or `H2O`.
        let is_name =
            before.chars().next_back().is_some_and(|last| last.is_alphabetic() && !is_unspaced(last));
        if !is_name {
            let number = if is_negative(before) { number.negative() } else { number };
            found.push(Found { number, before: &text[from..start], after: &text[start + length..] });
        }
        from = start + length;
    }
    Some(found)
}

/// Whether a minus stands before a number: not a hyphen between two words or numbers.
fn is_negative(before: &str) -> bool {
    let trimmed = before.trim_end_matches(['$', '€', '£', '¥']);
    let Some(rest) = trimmed.strip_suffix(['-', '−', '–']) else { return false };
    rest.chars().next_back().is_none_or(|last| !last.is_alphanumeric() && last != ')')
}

/// A number at the beginning of a text, with its length in bytes.
fn read(text: &str) -> Option<(Number, usize)> {
    let (mantissa, mut length) = decimal(text)?;
    let mut number = mantissa;
    if let Some((exponent, more)) = power_of_ten(&text[length..]) {
        number = number.times_power_of_ten(exponent)?;
        length += more;
    } else if let Some(under) = text[length..].strip_prefix('/').filter(|under| under.starts_with(is_digit)) {
        let (under, more) = decimal(under)?;
        number = number.divided_by(under)?;
        length += 1 + more;
    }
    Some((number, length))
}

/// Digits with their separators. What separates thousands and what the fraction is told by where it stands.
fn decimal(text: &str) -> Option<(Number, usize)> {
    let (mut digits, mut marks, mut length) = (String::new(), Vec::new(), 0);
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        if let Some(value) = digit(one) {
            digits.push(value);
        } else if is_separator(one) && rest.peek().is_some_and(|next| is_digit(*next)) {
            marks.push((one, digits.len()));
        } else {
            break;
        }
        length += one.len_utf8();
    }
    if digits.len() > DIGITS_MAX {
        return None;
    }
    let fraction = fraction_digits(&marks, &digits)?;
    let number = Number::new(digits.parse().ok()?, 1)?;
    Some((number.times_power_of_ten(-i32::try_from(fraction).ok()?)?, length))
}

/// How many of the digits stand behind the decimal mark; `None` where the marks make no number.
fn fraction_digits(marks: &[(char, usize)], digits: &str) -> Option<usize> {
    let Some((last, at)) = marks.last().copied() else { return Some(0) };
    let behind = digits.len() - at;
    let others = &marks[..marks.len() - 1];
    // `1,234` is a thousand, `0,234` and `12345,678` are not.
    let may_be_thousands = last != '.' && behind == 3 && at <= 3 && !digits.starts_with('0');
    // `1.234,5` and `1,234.5`: the last mark differs from those before it.
    let is_fraction = matches!(last, '.' | ',' | '٫')
        && others.iter().all(|(mark, _)| *mark != last)
        && (!others.is_empty() || !may_be_thousands);
    let (thousands, end) = if is_fraction { (others, at) } else { (marks, digits.len()) };
    let is_one_kind = thousands.windows(2).all(|two| two[0].0 == two[1].0);
    let ends: Vec<usize> = thousands.iter().map(|(_, at)| *at).chain([end]).collect();
    let groups: Vec<usize> = ends.windows(2).map(|two| two[1] - two[0]).collect();
    // Of three digits each; of two but for the last in the Indian way.
    let is_grouped = groups.last().is_none_or(|last| *last == 3)
        && groups.iter().all(|group| matches!(group, 2 | 3))
        && (groups.is_empty() || ends[0] <= 3);
    (is_one_kind && is_grouped).then_some(if is_fraction { behind } else { 0 })
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

/// A decimal digit of any script that is written with them, as ASCII.
fn digit(one: char) -> Option<char> {
    /// The zero of each script: Latin, Arabic, Persian, Devanagari, Bengali, Thai, and Latin as wide as Chinese.
    const ZEROS: [char; 7] = ['0', '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{e50}', '\u{ff10}'];
    let value = ZEROS
        .into_iter()
        .find_map(|zero| (one as u32).checked_sub(zero as u32).filter(|value| *value < 10))?;
    char::from_digit(value, 10)
}

fn is_digit(one: char) -> bool {
    digit(one).is_some()
}

/// What may stand between digits of one number. A plain space does not: two numbers may follow each other.
const fn is_separator(one: char) -> bool {
    matches!(one, '.' | ',' | '\'' | '’' | '_' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '٫' | '٬')
}

/// Scripts whose words have no spaces between them, so that a letter before a number is no part of it.
const fn is_unspaced(one: char) -> bool {
    matches!(one, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let read = all(text).map(|all| all.iter().map(|found| found.number.to_string()).collect::<Vec<_>>());
        assert_eq!(
            read.as_deref(),
            Some(expected.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice()),
            "{text}"
        );
    }

    #[test]
    fn a_number_is_read_however_it_is_written() {
        for (text, number) in [
            ("42", "42"),
            ("42.0", "42"),
            ("-5", "-5"),
            ("−5", "-5"),
            ("$1,234.50", "1234.5"),
            ("-$7", "-7"),
            ("1.234.567,89 €", "1234567.89"),
            ("1\u{202f}234,5", "1234.5"),
            ("12'000", "12000"),
            ("12,34,567", "1234567"),
            ("3,14", "3.14"),
            ("0,125", "0.125"),
            ("12345,678", "12345.678"),
            ("1,234", "1234"),
            ("1.234", "1.234"),
            ("3/4", "0.75"),
            ("1/3", "1/3"),
            ("0.000001", "0.000001"),
            ("1e-3", "0.001"),
            ("1.5×10^3", "1500"),
            ("2 \\times 10^{-2}", "0.02"),
            ("６４", "64"),
            ("٤٢", "42"),
            ("答案是42个", "42"),
            ("x = 7.", "7"),
        ] {
            check(text, &[number]);
        }
    }

    #[test]
    fn numbers_that_are_two_stay_two() {
        check("between 3 and 5", &["3", "5"]);
        check("3-5", &["3", "5"]);
        check("12 34", &["12", "34"]);
        check("H2O and v2 are names", &[]);
        check("", &[]);
    }

    #[test]
    fn what_is_no_number_without_a_doubt_is_not_read() {
        for text in ["1,23,4", "1.2.3", "12:30:1,2,3", &"9".repeat(31), "1e99"] {
            assert_eq!(all(text), None, "{text}");
        }
        assert_eq!(all("5/0"), None);
    }

    #[test]
    fn the_same_number_is_the_same_however_it_is_written() {
        let number = |text| all(text).unwrap()[0].number;
        assert_eq!(number("0.5"), number("1/2"));
        assert_eq!(number("1,000"), number("1e3"));
        assert_eq!(number("1,234.50"), number("1.234,5"));
        assert_eq!(number("1,234.50"), number("2469/2"));
        assert_ne!(number("0.333"), number("1/3"));
    }
}
