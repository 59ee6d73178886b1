//! Reads TOML values with errors that name their location.
//!
//! [`crate::settings::document`] and [`crate::settings::providers::provider`] know the names and their meaning.

use std::collections::BTreeMap;
use std::ops::Range;

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::nearest::{nearest, suggest};
use parallel_llm_engine::value::next::{Advice, MachineStep, Next, Operation};
use parallel_llm_provider::Known;
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeString, DeTable, DeValue};

use super::file::Source;
use super::meant;
use crate::settings::value::command;
use crate::settings::value::failure::{at, invalid};
use crate::settings::value::kind::{Kind, NO_LIMIT, Value};
use crate::settings::value::origin::FileLocation;

/// A key in a file.
pub(in crate::settings) type Key<'i> = Spanned<DeString<'i>>;
/// A value in a file.
pub(in crate::settings) type Item<'i> = Spanned<DeValue<'i>>;

/// A reader of one file.
#[derive(Clone, Copy, Debug)]
pub(in crate::settings) struct Reader<'a>(pub(in crate::settings) &'a Source);

impl<'a> Reader<'a> {
    /// Parses the whole file.
    pub(in crate::settings) fn parse(self) -> Result<Spanned<DeTable<'a>>, Failure> {
        DeTable::parse(&self.0.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let failure = invalid(error.message());
            let line = self.line(span.start);
            // A line that is right by itself is wrong only where it stands.
            let meant = DeTable::parse(line).is_err().then(|| meant::line(line)).flatten();
            self.refuse(span, written_as(failure, meant))
        })
    }

    /// A table; `written` shows its syntax.
    pub(in crate::settings) fn table<'i>(
        self,
        name: &str,
        value: &'i Item<'i>,
        written: &str,
    ) -> Result<&'i DeTable<'i>, Failure> {
        value.get_ref().as_table().ok_or_else(|| {
            let failure = invalid(format!("`{name}` is a table, not {}", noun(value.get_ref())));
            self.refuse(value.span(), failure.with_next(Next::WriteAs(written.to_owned().into())))
        })
    }

    /// A string.
    pub(in crate::settings) fn text<'i>(self, name: &str, value: &'i Item<'i>) -> Result<&'i str, Failure> {
        value.get_ref().as_str().ok_or_else(|| {
            let failure = invalid(format!("`{name}` is a string, not {}", noun(value.get_ref())));
            self.refuse(value.span(), failure)
        })
    }

    /// A value of this kind, from TOML's own type or from a string.
    pub(in crate::settings) fn value(
        self,
        name: &str,
        kind: Kind,
        value: &Item<'_>,
    ) -> Result<Value, Failure> {
        let read = match value.get_ref() {
            words if kind == Kind::Command => read_command(name, words).map(Value::Command),
            DeValue::Array(items) if kind.is_list() => kind.list(name, self.entries(name, kind, items)?),
            single => read_single(name, kind, single),
        };
        read.map_err(|failure| {
            let written = self.0.text.get(value.span()).unwrap_or_default();
            let is_open = failure.next_steps() == [Next::Do(Advice::CorrectOrDefault)];
            let meant = is_open.then(|| meant::line_of(name, kind, written)).flatten();
            self.refuse(value.span(), written_as(failure, meant))
        })
    }

    /// The line that holds this place.
    fn line(self, place: usize) -> &'a str {
        self.0.text[self.line_start(place)..].lines().next().unwrap_or_default()
    }

    /// Where the line of this place begins.
    fn line_start(self, place: usize) -> usize {
        let before = self.0.text.get(..place).unwrap_or_default();
        before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The entries of a list, so that an error names the entry's own location.
    fn entries(self, name: &str, kind: Kind, items: &DeArray<'_>) -> Result<Vec<String>, Failure> {
        let read = |item: &Item<'_>| match item.get_ref() {
            DeValue::String(text) => kind.entry(name, text),
            other => Err(kind.mismatch(name, &format!("one that holds {}", noun(other)))),
        };
        items.iter().map(|item| read(item).map_err(|failure| self.refuse(item.span(), failure))).collect()
    }

    /// The failure for an unknown name, with the nearest known one.
    pub(in crate::settings) fn unknown<'k>(
        self,
        key: &Key<'_>,
        known: impl Iterator<Item = &'k str>,
    ) -> Failure {
        let is_of_key = |known: &&Known| known.key_variable == key.get_ref().as_ref();
        if let Some(known) = Known::ALL.iter().find(is_of_key) {
            return self.refuse(key.span(), no_key(known.id));
        }
        let failure = invalid(format!("there is no setting `{}`", key.get_ref()))
            .with_next([Next::Do(Advice::TakeOut), Next::Use(Operation::ShowSettings)]);
        self.refuse(key.span(), suggest(failure, nearest(key.get_ref(), known)))
    }

    /// The failure with its location in front.
    pub(in crate::settings) fn refuse(self, span: Range<usize>, failure: Failure) -> Failure {
        at(&self.location(span), failure)
    }

    /// The location where a span begins.
    pub(in crate::settings) fn location(self, span: Range<usize>) -> FileLocation {
        let before = self.0.text.get(..span.start).unwrap_or_default();
        // No editor counts the mark that some programs put in front of a text.
        let in_line = before[self.line_start(span.start)..].trim_start_matches('\u{feff}');
        FileLocation {
            path: self.0.path.clone(),
            line: before.matches('\n').count() + 1,
            column: in_line.chars().count() + 1,
        }
    }
}

/// The failure with the line that was meant, if that is known.
fn written_as(failure: Failure, line: Option<String>) -> Failure {
    match line {
        Some(line) => failure.with_next(Next::WriteAs(line.into())),
        None => failure,
    }
}

/// The refusal of a key of this provider in a file.
pub(in crate::settings) fn no_key(provider: &str) -> Failure {
    invalid("a key is never read from this file: it would be in every copy of it").with_next([
        MachineStep::KeepKey(provider.to_owned().into()).into(),
        Next::Do(Advice::NameKeyVariable),
    ])
}

/// A value of this kind that TOML does not write as a list. The error has no location.
pub(in crate::settings) fn read_single(
    name: &str,
    kind: Kind,
    value: &DeValue<'_>,
) -> Result<Value, Failure> {
    match value {
        DeValue::Integer(number) if kind.is_number() => kind.read(name, &digits(number)),
        DeValue::Float(number) if kind.is_number() => {
            kind.read(name, number.as_str().trim_start_matches('+'))
        }
        DeValue::Boolean(on) if matches!(kind, Kind::Switch { .. }) => Ok(Value::Switch(*on)),
        DeValue::String(text) if !kind.is_number() => kind.read(name, text),
        DeValue::String(text) if kind == Kind::Budget && text.eq_ignore_ascii_case(NO_LIMIT) => {
            kind.read(name, text)
        }
        other => Err(kind.mismatch(name, noun(other))),
    }
}

/// A program and its arguments: a list, or one string to be split.
pub(in crate::settings) fn read_command(name: &str, value: &DeValue<'_>) -> Result<Vec<String>, Failure> {
    match value {
        DeValue::String(text) => command::of_text(name, text),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
            let words = texts.collect::<Option<Vec<_>>>();
            command::of_words(name, words.ok_or_else(|| invalid(format!("`{name}` is a list of strings")))?)
        }
        other => Err(invalid(format!("`{name}` is a list of strings or one string, not {}", noun(other)))),
    }
}

/// The entries in the order of the file, so that the first error is reported.
pub(in crate::settings) fn in_order<'i>(table: &'i DeTable<'i>) -> Vec<(&'i Key<'i>, &'i Item<'i>)> {
    let by_place: BTreeMap<usize, _> = table.iter().map(|entry| (entry.0.span().start, entry)).collect();
    by_place.into_values().collect()
}

/// Fails if there are more items than allowed.
pub(in crate::settings) fn check_count(what: &str, count: usize, most: usize) -> Result<(), Failure> {
    if count <= most {
        return Ok(());
    }
    Err(invalid(format!("there are {count} {what}; at most {most} are read")))
}

/// The name of a TOML type in a message.
pub(in crate::settings) const fn noun(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A whole number in decimal, from any base.
fn digits(number: &DeInteger<'_>) -> String {
    match u64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => number.to_string(),
        Err(_) => number.to_string(),
    }
}
