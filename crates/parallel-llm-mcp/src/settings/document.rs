//! What a settings file says: TOML to a layer of settings and its presets, every error with its place.
//!
//! A project's file comes with a repository, from a stranger: it is held to the settings it may touch, and to
//! the user's own limits.

use std::collections::BTreeMap;
use std::ops::Range;

use parallel_llm_engine::Failure;
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeString, DeTable, DeValue};

use super::file::Source;
use super::kind::{self, Kind, Value};
use super::layer::{Entry, Layer};
use super::nearest::{nearest, suggest};
use super::origin::{Origin, Place};
use super::preset::{self, Preset, Presets};
use super::table::{Reach, Setting};
use super::{at, invalid};

/// The table that presets stand in.
const PRESETS: &str = "presets";
/// The most presets one file may define: they are listed to models, which read every word.
const PRESETS_MAX: usize = 64;
/// The longest name of a preset in bytes. It is typed by hand and shown in lists.
const PRESET_NAME_BYTES_MAX: usize = 40;

/// Whose file it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner<'a> {
    /// The user's own.
    User,
    /// A project's, and what holds without it.
    Project(&'a Layer),
}

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) layer: Layer,
    pub(super) presets: Presets,
}

impl Document {
    /// Reads a file's text.
    pub(super) fn read(source: &Source, owner: Owner<'_>) -> Result<Self, Failure> {
        let reader = Reader { source, owner };
        let table = DeTable::parse(&source.text)
            .map_err(|error| reader.refuse(error.span().unwrap_or(0..0), invalid(error.message())))?;
        let mut document = Self::default();
        for (key, value) in in_order(table.get_ref()) {
            match Setting::by_name(key.get_ref()) {
                Some(setting) => document.layer.set(setting, reader.entry(setting, key, value)?),
                None if key.get_ref() == PRESETS => document.presets = reader.presets(value)?,
                None => return Err(reader.unknown(key, Setting::names().chain([PRESETS]))),
            }
        }
        Ok(document)
    }
}

type Key<'i> = Spanned<DeString<'i>>;
type Item<'i> = Spanned<DeValue<'i>>;

struct Reader<'a> {
    source: &'a Source,
    owner: Owner<'a>,
}

impl Reader<'_> {
    fn entry(&self, setting: Setting, key: &Key<'_>, value: &Item<'_>) -> Result<Entry, Failure> {
        self.check_reach(setting).map_err(|failure| self.refuse(key.span(), failure))?;
        let entry = Entry {
            value: self.value(setting.name(), setting.kind(), value)?,
            origin: self.origin(key.span()),
        };
        if let Owner::Project(own) = self.owner
            && setting.reach() == Reach::Tighter
            && matches!(own.entry(setting).origin, Origin::Default | Origin::User(_))
        {
            check_limit(own, setting, &entry.value).map_err(|failure| self.refuse(value.span(), failure))?;
        }
        Ok(entry)
    }

    /// Whether the file may set it at all.
    fn check_reach(&self, setting: Setting) -> Result<(), Failure> {
        let (name, variable) = (setting.name(), setting.variable());
        match (setting.reach(), self.owner) {
            (Reach::Environment, _) => Err(invalid(format!("`{name}` is never read from a file"))
                .with_next(format!("take it out of the file and set `{variable}`"))),
            (Reach::User, Owner::Project(_)) => Err(invalid(format!("a project file may not set `{name}`"))
                .with_next(format!("set it in your own file or as `{variable}`"))),
            _ => Ok(()),
        }
    }

    fn presets(&self, value: &Item<'_>) -> Result<Presets, Failure> {
        let table = self.table(PRESETS, value)?;
        if table.len() > PRESETS_MAX {
            let failure =
                invalid(format!("there are {} presets; at most {PRESETS_MAX} are read", table.len()));
            return Err(self.refuse(value.span(), failure));
        }
        in_order(table).into_iter().map(|(name, value)| self.preset(name, value)).collect()
    }

    fn preset(&self, name: &Key<'_>, value: &Item<'_>) -> Result<(String, Preset), Failure> {
        self.check_preset_name(name)?;
        let mut preset = Preset::new(self.origin(name.span()));
        for (key, value) in in_order(self.table(name.get_ref(), value)?) {
            let kind = preset::kind(key.get_ref()).ok_or_else(|| self.unknown(key, preset::keys()))?;
            let read = self.value(key.get_ref(), kind, value)?;
            if let (Owner::Project(own), Some(setting)) = (self.owner, Setting::by_name(key.get_ref()))
                && setting.reach() == Reach::Tighter
            {
                check_limit(own, setting, &read).map_err(|failure| self.refuse(value.span(), failure))?;
            }
            preset.set(key.get_ref(), read);
        }
        Ok((name.get_ref().to_string(), preset))
    }

    fn check_preset_name(&self, name: &Key<'_>) -> Result<(), Failure> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if (1..=PRESET_NAME_BYTES_MAX).contains(&name.get_ref().len()) && name.get_ref().bytes().all(is_word)
        {
            return Ok(());
        }
        let message = format!(
            "the name of a preset has 1 to {PRESET_NAME_BYTES_MAX} letters, digits, `-` or `_`, not `{}`",
            name.get_ref()
        );
        Err(self.refuse(name.span(), invalid(message).with_next("rename the preset")))
    }

    fn table<'i>(&self, name: &str, value: &'i Item<'i>) -> Result<&'i DeTable<'i>, Failure> {
        value.get_ref().as_table().ok_or_else(|| {
            let failure = invalid(format!("`{name}` is a table, not {}", noun(value.get_ref())));
            self.refuse(value.span(), failure.with_next("write presets as `[presets.NAME]`"))
        })
    }

    /// A value by its kind, from TOML's own type for it or from text.
    fn value(&self, name: &str, kind: Kind, value: &Item<'_>) -> Result<Value, Failure> {
        let read = match value.get_ref() {
            DeValue::Array(items) if kind == Kind::Models => {
                Kind::Models.list(name, self.references(name, items)?)
            }
            DeValue::Integer(number) if kind.is_number() => kind.read(name, &digits(number)),
            DeValue::Float(number) if kind.is_number() => {
                kind.read(name, number.as_str().trim_start_matches('+'))
            }
            DeValue::Boolean(on) if kind == Kind::Switch => Ok(Value::Switch(*on)),
            DeValue::String(text) if !kind.is_number() => kind.read(name, text),
            other => Err(kind.mismatch(name, noun(other))),
        };
        read.map_err(|failure| self.refuse(value.span(), failure))
    }

    /// The entries of a list, one by one, so that an error names the entry's own place.
    fn references(&self, name: &str, items: &DeArray<'_>) -> Result<Vec<String>, Failure> {
        let read = |item: &Item<'_>| match item.get_ref() {
            DeValue::String(text) => kind::read_model(text),
            other => Err(Kind::Models.mismatch(name, &format!("one that holds {}", noun(other)))),
        };
        items.iter().map(|item| read(item).map_err(|failure| self.refuse(item.span(), failure))).collect()
    }

    fn unknown(&self, key: &Key<'_>, known: impl Iterator<Item = &'static str>) -> Failure {
        let failure = invalid(format!("there is no setting `{}`", key.get_ref()))
            .with_next("take it out; `config show` lists every name");
        self.refuse(key.span(), suggest(failure, nearest(key.get_ref(), known)))
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        match self.owner {
            Owner::User => Origin::User(self.place(span)),
            Owner::Project(_) => Origin::Project(self.place(span)),
        }
    }

    fn refuse(&self, span: Range<usize>, failure: Failure) -> Failure {
        at(&self.place(span), failure)
    }

    fn place(&self, span: Range<usize>) -> Place {
        let before = self.source.text.get(..span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            path: self.source.path.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// Whether the value keeps to the user's own.
fn check_limit(own: &Layer, setting: Setting, value: &Value) -> Result<(), Failure> {
    let entry = own.entry(setting);
    if !value.is_looser_than(&entry.value) {
        return Ok(());
    }
    let (name, limit, origin) = (setting.name(), &entry.value, &entry.origin);
    let message = format!("a project file may not set `{name}` to `{value}`: you allow `{limit}` ({origin})");
    Err(invalid(message)
        .with_next(format!("tighten it, or set `{name}` in your own file or as `{}`", setting.variable())))
}

/// The entries as they stand in the file, so that the first error is the one reported.
fn in_order<'i>(table: &'i DeTable<'i>) -> Vec<(&'i Key<'i>, &'i Item<'i>)> {
    let by_place: BTreeMap<usize, _> = table.iter().map(|entry| (entry.0.span().start, entry)).collect();
    by_place.into_values().collect()
}

/// TOML's whole numbers in decimal, whatever base they are written in.
fn digits(number: &DeInteger<'_>) -> String {
    match u64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) => number.to_string(),
        Err(_) => number.to_string(),
    }
}

/// TOML's types in a sentence.
const fn noun(value: &DeValue<'_>) -> &'static str {
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

#[cfg(test)]
mod tests {
    use super::super::reference::EXAMPLE;
    use super::*;

    /// Whatever a file holds, it is read or refused with its place.
    fn check(text: String) {
        let source = Source { path: "it.toml".into(), text };
        for owner in [Owner::User, Owner::Project(&Layer::defaults())] {
            if let Err(failure) = Document::read(&source, owner) {
                assert!(failure.message.starts_with("it.toml:"), "{}: {}", failure.message, source.text);
            }
        }
    }

    #[test]
    fn damaged_files_are_refused_with_their_place() {
        for (at, _) in EXAMPLE.char_indices() {
            check(EXAMPLE[..at].to_owned());
            for odd in ["", "\0", "\"", "]", "=", "é", "\r\n", "1"] {
                check(format!("{}{odd}{}", &EXAMPLE[..at], &EXAMPLE[at + 1..]));
            }
        }
    }
}
