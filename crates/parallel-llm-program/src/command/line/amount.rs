//! Amounts behind flags as people write them: `1 USD`, `4k`, `5 minutes`.

use std::ffi::OsString;

use parallel_llm_engine::request::OUTPUT_TOKENS_MAX;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_settings::settings::amount::{time, tokens, usd};
use parallel_llm_settings::settings::is_built_in_preset;

use super::typed_line;

/// The flags whose values are times.
const TIME_FLAGS: [&str; 5] = ["--deadline", "--cache", "--since", "--older-than", "--expires"];

/// Those whose times are ago.
const PAST_FLAGS: [&str; 2] = ["--since", "--older-than"];

/// The value of this flag as the program reads it, if it is an amount of what the flag takes.
pub(in crate::command) fn plain(flag: &str, value: &str) -> Option<String> {
    let value = value.trim().to_lowercase();
    if flag.contains("budget") || flag.contains("price") {
        usd(&value)
    } else if flag.contains("tokens") {
        tokens(&value).filter(|count| *count <= OUTPUT_TOKENS_MAX).map(|count| count.to_string())
    } else if flag.contains("context") {
        tokens(&value).map(|count| count.to_string())
    } else if flag.contains("temperature") {
        let plain = value.replace(',', ".");
        plain.parse().is_ok_and(|number: f64| (0.0..=2.0).contains(&number)).then_some(plain)
    } else if TIME_FLAGS.contains(&flag) {
        time(&value).or_else(|| past(&value).filter(|_| PAST_FLAGS.contains(&flag)))
    } else {
        None
    }
}

/// How long ago `yesterday` or `last week` begins.
fn past(value: &str) -> Option<String> {
    let unit = if value == "yesterday" { "day" } else { value.strip_prefix("last ")? };
    time(&format!("1 {unit}"))
}

/// Refuses a unit that stands apart from its number, and a word that only says again what the flag before it takes: either
/// would be sent as a word of the question.
pub(in crate::command) fn check_units(prompt: &[OsString], arguments: &[OsString]) -> Result<(), Failure> {
    let words = typed_line::words(arguments);
    let is_part = |word: &str| prompt.iter().any(|part| part.to_str() == Some(word));
    let found = (2..words.len()).filter(|at| is_part(&words[*at])).find_map(|at| {
        let (flag, value) = match words[at - 1].split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, value),
            _ => (words[at - 2].as_str(), words[at - 1].as_str()),
        };
        let word = &words[at];
        let alone = words[at..].iter().take_while(|word| is_part(word) && !word.contains(' ')).count();
        let again = || says_again(flag, word, alone) && !is_part(value) && typed_line::takes_value(flag);
        let plain = with_unit(flag, value, word).or_else(|| again().then(|| typed_line::quoted(value)))?;
        Some((at, flag, value, plain))
    });
    let Some((at, flag, value, plain)) = found else { return Ok(()) };
    let is_joined = words[at - 1] != value;
    let mut line = typed_line::again(arguments, |place, _| match place {
        _ if place == at => Some(Vec::new()),
        _ if place + 1 == at && is_joined => Some(vec![format!("{flag}={plain}")]),
        _ if place + 1 == at => Some(vec![plain.clone()]),
        _ => None,
    });
    if prompt.len() == 1 {
        line = format!("{line} {}", typed_line::QUESTION);
    }
    let word = typed_line::shown(&words[at]);
    let message = format!("`{word}` behind `{flag} {value}` would be sent as a word of the question");
    Err(Failure::new(Code::Usage, message).with_next(Next::Type(line.into())))
}

/// The value of a flag with the unit behind it.
fn with_unit(flag: &str, value: &str, word: &str) -> Option<String> {
    let is_unit = word.starts_with(|letter: char| letter.is_alphabetic() || "$€¢".contains(letter));
    let is_number = value.trim_start_matches('$').starts_with(|digit: char| digit.is_ascii_digit());
    if is_unit && is_number { plain(flag, &format!("{value} {word}")) } else { None }
}

/// Whether a word behind a flag's value only says what the flag is, or names another preset. A sentence without quotes may
/// begin with such a word; `alone` single words stand there.
fn says_again(flag: &str, word: &str, alone: usize) -> bool {
    let is_name = flag.strip_prefix("--") == Some(word) && alone <= 2;
    is_name || (flag == "--preset" && is_built_in_preset(word) && alone == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (flag, value, expected) in [
            ("--budget", "1 USD", Some("1")),
            ("--budget", "1,50", Some("1.50")),
            ("--budget", "$3", Some("3")),
            ("--budget", "50 cents", Some("0.50")),
            ("--budget", "2 EUR", Some("2")),
            ("--budget", "1 Why?", None),
            ("--budget", "-1", None),
            ("--max-tokens", "500 tokens", Some("500")),
            ("--max-tokens", "4 k tokens", Some("4000")),
            ("--max-tokens", "4,096", Some("4096")),
            ("--max-tokens", "4.5k", Some("4500")),
            ("--max-tokens", "4,5k", Some("4500")),
            ("--max-tokens", "4.5", None),
            ("--max-tokens", "4.000", None),
            ("--max-tokens", "1.0001k", None),
            ("--min-context", "1M", Some("1000000")),
            ("--budget", "50c", Some("0.50")),
            ("--budget", "2 c", None),
            ("--expires", "yesterday", None),
            ("--since", "yesterday", Some("1d")),
            ("--since", "last week", Some("1w")),
            ("--since", "last", None),
            ("--since", "last year", None),
            ("--max-tokens", "0", None),
            ("--deadline", "5 minutes", Some("5m")),
            ("--deadline", "90 sec", Some("90s")),
            ("--deadline", "1h30m", Some("1h30m")),
            ("--older-than", "90 days", Some("90d")),
            ("--cache", "1 Hour", Some("1h")),
            ("--deadline", "90", None),
            ("--deadline", "0s", None),
            ("--deadline", "5m minutes", None),
            ("--temperature", "1 degree", None),
        ] {
            assert_eq!(plain(flag, value).as_deref(), expected, "{flag} {value}");
        }
    }
}
