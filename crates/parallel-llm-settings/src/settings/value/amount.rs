//! Amounts as people write them: `1 USD`, `4k`, `5 minutes`. Here they are written as the program reads them. Texts are in lower
//! case.

use parallel_llm_engine::PicoUsd;

use super::wait::duration_ms;

/// Units of money. Amounts are in USD, so another currency only shows that it is no word of the question.
const MONEY: [&str; 10] = ["usd", "dollars", "dollar", "bucks", "eur", "euros", "euro", "gbp", "$", "€"];
const CENTS: [&str; 3] = ["cents", "cent", "¢"];
const TOKENS: [&str; 3] = ["tokens", "token", "tok"];
/// Units of time as the program reads them, and as people write them.
const TIMES: [(&str, &[&str]); 6] = [
    ("ms", &["ms", "msec", "millisecond", "milliseconds"]),
    ("s", &["s", "sec", "secs", "second", "seconds"]),
    ("m", &["m", "min", "mins", "minute", "minutes"]),
    ("h", &["h", "hr", "hrs", "hour", "hours"]),
    ("d", &["d", "day", "days"]),
    ("w", &["w", "week", "weeks"]),
];

/// An amount of USD.
pub fn usd(value: &str) -> Option<String> {
    let without = |units: &[&str]| units.iter().find_map(|unit| value.strip_suffix(unit)).map(str::trim);
    // A `c` behind a blank may be the language.
    let attached =
        || value.strip_suffix('c').filter(|count| count.ends_with(|one: char| one.is_ascii_digit()));
    if let Some(cents) = without(&CENTS).or_else(attached) {
        let cents: u32 = cents.parse().ok()?;
        return Some(format!("{}.{:02}", cents / 100, cents % 100));
    }
    let plain = without(&MONEY).unwrap_or(value).trim_matches('$').trim().replace(',', ".");
    PicoUsd::from_decimal(&plain).map(|_| plain)
}

/// A count of tokens.
pub fn tokens(value: &str) -> Option<u32> {
    let bare = TOKENS.iter().find_map(|unit| value.strip_suffix(unit)).unwrap_or(value).trim();
    let (digits, unit) = match bare.strip_suffix(['k', 'm']) {
        Some(digits) if bare.ends_with('k') => (digits, 1_000),
        Some(digits) => (digits, 1_000_000),
        None => (bare, 1),
    };
    // Before a unit a comma or point is that of decimals; without one, commas and others part thousands.
    let digits = if unit > 1 { digits.trim().replace(',', ".") } else { whole(digits)? };
    let (whole, decimals) = digits.split_once('.').unwrap_or((&digits, ""));
    let divisor = 10_u64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let count = format!("{whole}{decimals}").parse::<u64>().ok()?.checked_mul(unit)?;
    u32::try_from(count / divisor).ok().filter(|whole| *whole > 0 && count % divisor == 0)
}

/// The digits of a whole number whose thousands may be parted.
fn whole(digits: &str) -> Option<String> {
    let mut groups = digits.split(['_', ',', ' ', '\'']);
    let first = groups.next()?.to_owned();
    let is_group = |group: &&str| group.len() == 3 && group.bytes().all(|one| one.is_ascii_digit());
    let behind: Vec<&str> = groups.collect();
    (!first.contains('.') && behind.iter().all(is_group)).then(|| first + &behind.concat())
}

/// A duration.
pub fn time(value: &str) -> Option<String> {
    if duration_ms(value).is_some() {
        return Some(value.to_owned());
    }
    let (count, unit) = value.split_at(value.find(|letter: char| !letter.is_ascii_digit())?);
    let (unit, _) = TIMES.iter().find(|(_, units)| units.contains(&unit.trim()))?;
    let count: u32 = count.parse().ok().filter(|count| *count > 0)?;
    Some(format!("{count}{unit}"))
}
