//! Parses a table `[providers.NAME]` of the user's file.
//!
//! Each value is validated by itself; [`super::provider`] merges the table with the built-in row. Invariants: no table
//! contains a key, no header can replace one, and every address may be called.

use std::collections::BTreeMap;
use std::ops::Range;

use http::{HeaderName, HeaderValue};
use parallel_llm_engine::value::nearest::suggest_or_list;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Failure, PicoUsd, ProviderId};
use parallel_llm_provider::{Dialect, Endpoint, Known};
use secrecy::SecretString;
use toml::de::{DeTable, DeValue};

use crate::settings::sources::environment;
use crate::settings::sources::reader::{self, Item, Key, Reader, check_count, in_order, no_key};
use crate::settings::value::failure::invalid;
use crate::settings::value::kind::{Kind, Value};
use crate::settings::value::origin::FileLocation;

/// The keys of a table with their syntax and description, in the order of the reference.
pub(in crate::settings) const KEYS: [(&str, &str, &str); 7] = [
    ("base_url", "a string", "The address of its API; plain http only on this machine."),
    (
        "kind",
        "a string",
        "How it speaks: a known provider's id, or one of the further kinds below. A provider of your own that speaks like a known one has its address for the default, and never its key; a known one stays at its own. A name that is not known is `openai-compatible`.",
    ),
    (
        "key_variable",
        "a string",
        "The variable of the environment that holds its key, in place of the usual one. A known provider's own variable is bound to that provider's host.",
    ),
    (
        "key_command",
        "a list of strings, or one string that is split into words",
        "A program that prints its key. It is run without a shell, once, when the first call is about to be made.",
    ),
    ("calls_max", "a whole number", "Calls at once, in place of `calls_per_key_max`."),
    (
        "budget_day_usd",
        "an amount in US dollars",
        "The most all runs together may cost in a day (UTC) with its key, with what those under way may still cost.",
    ),
    (
        "headers",
        "a table of strings",
        "Headers sent with every call, but none that could carry a key. Their values are treated as secrets.",
    ),
];

/// Most providers in one file.
const TABLES_MAX: usize = 64;
/// Longest name in bytes; it is typed before a colon.
const NAME_BYTES_MAX: usize = 40;
/// The longest name of a variable in bytes.
const VARIABLE_BYTES_MAX: usize = 64;
/// Most headers of one provider: several times what any gateway needs.
pub(in crate::settings) const HEADERS_MAX: usize = 32;
/// Longest header value in bytes; servers do not accept much more.
const HEADER_BYTES_MAX: usize = 4_096;
/// The accepted numbers of concurrent calls.
const CALLS: Kind = Kind::Whole { min: 1, max: 65_536 };

/// Headers that carry a key, or that belong to HTTP or to the call itself.
const RESERVED: [&str; 21] = [
    "accept",
    "accept-encoding",
    "api-key",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-api-key",
    "x-goog-api-key",
];

/// A value and its location.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) location: FileLocation,
}

/// A table; missing keys are `None`.
#[derive(Clone, Debug, Default)]
pub(in crate::settings) struct Table {
    /// The location of its name; `None` for a provider without a table.
    pub(super) location: Option<FileLocation>,
    pub(super) base_url: Option<Located<String>>,
    pub(super) kind: Option<Located<String>>,
    pub(super) key_variable: Option<Located<String>>,
    pub(super) key_command: Option<Located<Vec<String>>>,
    pub(super) calls_max: Option<Located<usize>>,
    pub(super) budget_day: Option<Located<PicoUsd>>,
    pub(super) headers: Option<Located<Vec<(String, SecretString)>>>,
}

/// Whether a provider may have this name, which is typed before a colon, in files and on the command line.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_part) && !name.starts_with('-')
}

/// Parses all tables of a file.
pub(in crate::settings) fn read_all(
    reader: Reader<'_>,
    tables: &DeTable<'_>,
    span: Range<usize>,
) -> Result<BTreeMap<String, Table>, Failure> {
    check_count("providers", tables.len(), TABLES_MAX).map_err(|failure| reader.refuse(span, failure))?;
    let read = |(name, value): (&Key<'_>, &Item<'_>)| {
        check_name(name.get_ref()).map_err(|failure| reader.refuse(name.span(), failure))?;
        let table = OneTable { reader, name: name.get_ref() }.read(name, value)?;
        Ok((name.get_ref().to_string(), table))
    };
    in_order(tables).into_iter().map(read).collect()
}

pub(in crate::settings) fn check_name(name: &str) -> Result<(), Failure> {
    if is_name(name) {
        return Ok(());
    }
    let message = format!(
        "the name of a provider has 1 to {NAME_BYTES_MAX} lower-case letters, digits or `-` and begins with no `-`, not `{name}`"
    );
    Err(invalid(message).with_next(Advice::RenameProvider))
}

/// A table being parsed.
struct OneTable<'a> {
    reader: Reader<'a>,
    name: &'a str,
}

impl OneTable<'_> {
    fn read(&self, name: &Key<'_>, value: &Item<'_>) -> Result<Table, Failure> {
        let written = "[providers.NAME]";
        let mut table = Table { location: Some(self.reader.location(name.span())), ..Table::default() };
        for (key, value) in in_order(self.reader.table(self.name, value, written)?) {
            let refuse = |failure| self.reader.refuse(value.span(), failure);
            match &**key.get_ref() {
                "base_url" => table.base_url = Some(self.located(value, self.base_url(value)?)),
                "kind" => table.kind = Some(self.located(value, self.kind(value)?)),
                "key_variable" => table.key_variable = Some(self.located(value, self.key_variable(value)?)),
                "key_command" => {
                    table.key_command =
                        Some(self.located(value, key_command(value.get_ref()).map_err(refuse)?));
                }
                "calls_max" => table.calls_max = Some(self.located(value, self.calls_max(value)?)),
                "budget_day_usd" => {
                    table.budget_day = Some(self.located(value, self.budget_day(key, value)?));
                }
                "headers" => table.headers = Some(self.located(value, self.headers(value)?)),
                "key" | "api_key" => return Err(self.reader.refuse(key.span(), no_key(self.name))),
                _ => return Err(self.reader.unknown(key, KEYS.iter().map(|(name, ..)| *name))),
            }
        }
        Ok(table)
    }

    fn located<T>(&self, item: &Item<'_>, value: T) -> Located<T> {
        Located { value, location: self.reader.location(item.span()) }
    }

    fn base_url(&self, value: &Item<'_>) -> Result<String, Failure> {
        let text = self.reader.text("base_url", value)?.trim();
        // Whether an address may be called does not depend on the dialect.
        Endpoint::new(ProviderId(self.name.to_owned()), text, None, Dialect::OPENAI_COMPATIBLE)
            .map_err(|failure| self.reader.refuse(value.span(), failure))?;
        Ok(text.to_owned())
    }

    fn kind(&self, value: &Item<'_>) -> Result<String, Failure> {
        let text = self.reader.text("kind", value)?;
        if Known::dialect_of(text).is_some() {
            return Ok(text.to_owned());
        }
        let kinds: Vec<&str> = kinds().collect();
        let failure = invalid(format!("there is no kind of provider `{text}`"));
        Err(self.reader.refuse(value.span(), suggest_or_list(failure, text, &kinds)))
    }

    fn key_variable(&self, value: &Item<'_>) -> Result<String, Failure> {
        let text = self.reader.text("key_variable", value)?;
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_variable = (1..=VARIABLE_BYTES_MAX).contains(&text.len())
            && text.bytes().all(is_part)
            && !text.starts_with(|first: char| first.is_ascii_digit());
        let failure = if !is_variable {
            // The text may be the key itself, so it is not repeated.
            invalid("`key_variable` is the name of a variable: letters, digits and `_`")
                .with_next(Advice::WriteNameNotKey)
        } else if environment::is_reserved(text) {
            invalid(format!("`key_variable` may not be `{text}`, which is a setting"))
                .with_next(Advice::KeyInAnotherVariable)
        } else {
            return Ok(text.to_owned());
        };
        Err(self.reader.refuse(value.span(), failure))
    }

    fn calls_max(&self, value: &Item<'_>) -> Result<usize, Failure> {
        match self.reader.value("calls_max", CALLS, value)? {
            Value::Whole(calls) => Ok(calls as usize),
            other => unreachable!("a whole number was read, not {other}"),
        }
    }

    fn budget_day(&self, key: &Key<'_>, value: &Item<'_>) -> Result<PicoUsd, Failure> {
        match self.reader.value(key.get_ref(), Kind::Usd, value)? {
            Value::Usd(amount) => Ok(amount),
            other => unreachable!("an amount was read, not {other}"),
        }
    }

    fn headers(&self, value: &Item<'_>) -> Result<Vec<(String, SecretString)>, Failure> {
        let table = self.reader.table("headers", value, "headers = { X-Team = \"blue\" }")?;
        check_count("headers", table.len(), HEADERS_MAX)
            .map_err(|failure| self.reader.refuse(value.span(), failure))?;
        let read = |(key, value): (&Key<'_>, &Item<'_>)| {
            let name =
                header_name(key.get_ref()).map_err(|failure| self.reader.refuse(key.span(), failure))?;
            let text = self.reader.text(key.get_ref(), value)?;
            header_value(&name, text).map_err(|failure| self.reader.refuse(value.span(), failure))?;
            Ok((name, SecretString::from(text)))
        };
        in_order(table).into_iter().map(read).collect()
    }
}

/// The names of all kinds.
pub(in crate::settings) fn kinds() -> impl Iterator<Item = &'static str> {
    let known = Known::ALL.iter().map(|known| known.id);
    known.chain(Known::KINDS.iter().map(|(name, _)| *name))
}

/// A program that prints the key.
fn key_command(value: &DeValue<'_>) -> Result<Vec<String>, Failure> {
    let words = reader::read_command("key_command", value)?;
    let program = &words[0];
    // A relative program could be a stranger's, from the project in the current folder.
    if program.contains('/') && !program.starts_with('/') {
        return Err(invalid(format!("the program `{program}` of `key_command` has no whole path"))
            .with_next(Advice::WritePathOrName));
    }
    Ok(words)
}

/// A header name in the form it is sent, if users may set it.
pub(in crate::settings) fn header_name(text: &str) -> Result<String, Failure> {
    let Ok(name) = HeaderName::from_bytes(text.as_bytes()) else {
        return Err(invalid(format!("`{text}` cannot be the name of a header")));
    };
    if RESERVED.contains(&name.as_str()) {
        return Err(
            invalid(format!("the header `{name}` is not yours to set")).with_next(Advice::KeyElsewhere)
        );
    }
    Ok(name.as_str().to_owned())
}

/// The failure does not show the value.
pub(in crate::settings) fn header_value(name: &str, text: &str) -> Result<(), Failure> {
    let is_value = !text.trim().is_empty()
        && text.len() <= HEADER_BYTES_MAX
        && text.is_ascii()
        && HeaderValue::from_str(text).is_ok();
    if is_value {
        return Ok(());
    }
    Err(invalid(format!(
        "the value of the header `{name}` is not 1 to {HEADER_BYTES_MAX} visible ASCII characters"
    )))
}
