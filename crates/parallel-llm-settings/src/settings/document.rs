//! Parses a settings file: settings, presets, aliases, personas and providers, with the location of every error.
//!
//! A project file comes from a stranger with a repository. It may only set certain settings, within the user's limits,
//! and cannot send questions to providers that the user does not use.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use parallel_llm_engine::request::panel::{DEFAULT_PROVIDER, PanelEntry};
use parallel_llm_engine::request::persona::Persona;
use parallel_llm_engine::value::next::{Advice, MachineStep, Next};
use parallel_llm_engine::{Failure, ProviderId};
use parallel_llm_provider::Known;

use super::providers::provider_table::{self, Table};
use super::sources::file::Source;
use super::sources::layer::{Entry, Layer};
use super::sources::reader::{Item, Key, Reader, check_count, in_order};
use super::table::{Reach, Setting};
use super::tables::alias::{self, Alias, AliasTable, Aliases};
use super::tables::persona;
use super::tables::preset::{self, Preset, Presets};
use super::tables::price::{self, PriceTable, SetPrice};
use super::value::failure::invalid;
use super::value::kind::{self, Kind, Value};
use super::value::origin::Origin;

/// The table of presets.
const PRESETS: &str = "presets";
/// The table of providers.
const PROVIDERS: &str = "providers";
/// The table of aliases.
const ALIASES: &str = "aliases";
/// The syntax of aliases.
const ALIASES_WRITTEN: &str = "[aliases]";
/// Most aliases in one file, as many as presets and personas.
const ALIASES_MAX: usize = 64;
/// The table of prices.
const PRICES: &str = "prices";
/// The syntax of prices.
const PRICES_WRITTEN: &str = "[prices]";
/// Most prices in one file; a panel and its presets name fewer models.
const PRICES_MAX: usize = 256;
/// The table of personas.
const PERSONAS: &str = "personas";
/// The syntax of personas.
const PERSONAS_WRITTEN: &str = "[personas.NAME]";
/// Most personas in one file; they are listed to models like presets.
const PERSONAS_MAX: usize = 64;
/// The syntax of presets.
const PRESETS_WRITTEN: &str = "[presets.NAME]";
/// The syntax of providers.
const PROVIDERS_WRITTEN: &str = "[providers.NAME]";
/// Most presets in one file; they are listed to models, which read every word.
const PRESETS_MAX: usize = 64;
/// Longest preset name in bytes; it is typed by hand and shown in lists.
const PRESET_NAME_BYTES_MAX: usize = 40;

/// The owner of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileOwner<'a> {
    /// The user.
    User,
    /// A project, bound by these limits.
    Project(&'a UserLimits<'a>),
}

/// The user's settings without the project file, as limits for it.
#[derive(Debug)]
pub(super) struct UserLimits<'a> {
    /// The settings in force.
    layer: &'a Layer,
    /// The user's file.
    user: &'a Document,
    /// The providers that read questions anyway: the default one, and those of models that the user names.
    readers: BTreeSet<ProviderId>,
}

impl<'a> UserLimits<'a> {
    /// `usual` are the settings of every call, `layer` those of this one.
    pub(super) fn new(usual: &Layer, layer: &'a Layer, user: &'a Document) -> Self {
        let mut limits =
            Self { layer, user, readers: BTreeSet::from([ProviderId(DEFAULT_PROVIDER.to_owned())]) };
        let lists = [usual, layer]
            .into_iter()
            .flat_map(|layer| [Setting::Panel, Setting::Synthesizer].map(|setting| layer.list(setting)));
        let presets = user.presets.values().flat_map(|preset| [&preset.panel, &preset.synthesizer]);
        let named: Vec<String> = lists.flatten().chain(presets.flatten().flatten().cloned()).collect();
        let readers: Vec<ProviderId> = named.iter().filter_map(|model| limits.reader(model)).collect();
        limits.readers.extend(readers);
        limits
    }

    /// The seat of a reference; `None` if it is invalid.
    fn seat(&self, model: &str) -> Option<PanelEntry> {
        let is_provider = |name: &str| Known::by_id(name).is_some() || self.user.providers.contains_key(name);
        kind::entry_of(&Aliases::of(&self.user.aliases).expand(model), is_provider)
    }

    /// The provider that would read the question; `None` if the reference is invalid.
    fn reader(&self, model: &str) -> Option<ProviderId> {
        self.seat(model).map(|seat| seat.model.provider)
    }

    /// Fails if a seat would be allowed more tokens than the user allows each call.
    fn check_tokens(&self, model: &str) -> Result<(), Failure> {
        let tokens = self.seat(model).and_then(|seat| seat.options.max_tokens);
        tokens.map_or(Ok(()), |tokens| {
            check_limit(self.layer, Setting::MaxTokens, &Value::Whole(u64::from(tokens)))
        })
    }

    /// Fails if the question would go to an additional provider.
    fn check_reader(&self, name: &str, model: &str) -> Result<(), Failure> {
        let Some(reader) = self.reader(model).filter(|reader| !self.readers.contains(reader)) else {
            return Ok(());
        };
        let message = format!(
            "a project file may not set `{name}` to a model of `{reader}`: a stranger's project does not choose who reads a question"
        );
        let trust = MachineStep::TrustReader(reader.to_string().into());
        Err(invalid(message).with_next([Next::Do(Advice::TakeOut), trust.into()]))
    }
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) layer: Layer,
    pub(super) presets: Presets,
    /// Personas by name, with their origins.
    pub(super) personas: BTreeMap<String, (Origin, Persona)>,
    /// Aliases by name.
    pub(super) aliases: AliasTable,
    /// Prices by model.
    pub(super) prices: PriceTable,
    /// Provider tables by name.
    pub(super) providers: BTreeMap<String, Table>,
}

impl Document {
    /// Parses a file.
    pub(super) fn read(source: &Source, owner: FileOwner<'_>) -> Result<Self, Failure> {
        let reading = DocumentReader { reader: Reader(source), owner };
        let table = reading.reader.parse()?;
        let mut document = Self::default();
        for (key, value) in in_order(table.get_ref()) {
            match Setting::by_name(key.get_ref()) {
                Some(setting) => document.layer.set(setting, reading.entry(setting, key, value)?),
                None if key.get_ref() == PRESETS => document.presets = reading.presets(value)?,
                None if key.get_ref() == ALIASES => document.aliases = reading.aliases(key, value)?,
                None if key.get_ref() == PRICES => document.prices = reading.prices(key, value)?,
                None if key.get_ref() == PERSONAS => document.personas = reading.personas(key, value)?,
                None if key.get_ref() == PROVIDERS => document.providers = reading.providers(key, value)?,
                None => {
                    let known = Setting::names().chain([PRESETS, ALIASES, PRICES, PERSONAS, PROVIDERS]);
                    return Err(reading.reader.unknown(key, known));
                }
            }
        }
        Ok(document)
    }
}

/// A file being parsed, and its owner.
struct DocumentReader<'a> {
    reader: Reader<'a>,
    owner: FileOwner<'a>,
}

impl DocumentReader<'_> {
    fn entry(&self, setting: Setting, key: &Key<'_>, value: &Item<'_>) -> Result<Entry, Failure> {
        self.check_reach(setting).map_err(|failure| self.refuse(key.span(), failure))?;
        let entry = Entry {
            value: self.reader.value(setting.name(), setting.kind(), value)?,
            origin: self.origin(key.span()),
        };
        if let FileOwner::Project(limits) = self.owner
            && matches!(limits.layer.entry(setting).origin, Origin::Default | Origin::User(_))
        {
            check_limit(limits.layer, setting, &entry.value)
                .map_err(|failure| self.refuse(value.span(), failure))?;
        }
        self.check_readers(setting.name(), value, &entry.value)?;
        Ok(entry)
    }

    /// Fails if this file may not set the setting.
    fn check_reach(&self, setting: Setting) -> Result<(), Failure> {
        let name = setting.name();
        match (setting.reach(), self.owner) {
            (Reach::User, FileOwner::Project(_)) => {
                Err(invalid(format!("a project file may not set `{name}`")).with_next(as_user(setting)))
            }
            _ => Ok(()),
        }
    }

    /// Fails if a project's list of models names an additional provider.
    fn check_readers(&self, name: &str, item: &Item<'_>, value: &Value) -> Result<(), Failure> {
        let (FileOwner::Project(limits), Value::List(models)) = (self.owner, value) else { return Ok(()) };
        for (at, model) in models.iter().enumerate() {
            let entry = item.get_ref().as_array().and_then(|items| items.get(at)).unwrap_or(item);
            limits
                .check_reader(name, model)
                .and_then(|()| limits.check_tokens(model))
                .map_err(|failure| self.refuse(entry.span(), failure))?;
        }
        Ok(())
    }

    fn presets(&self, value: &Item<'_>) -> Result<Presets, Failure> {
        let table = self.reader.table(PRESETS, value, PRESETS_WRITTEN)?;
        check_count(PRESETS, table.len(), PRESETS_MAX)
            .map_err(|failure| self.refuse(value.span(), failure))?;
        in_order(table).into_iter().map(|(name, value)| self.preset(name, value)).collect()
    }

    /// Only the user may define providers: a stranger's base URL would receive keys and questions.
    fn providers(&self, key: &Key<'_>, value: &Item<'_>) -> Result<BTreeMap<String, Table>, Failure> {
        if let FileOwner::Project(_) = self.owner {
            let failure =
                invalid("a project file may not set `providers`: an address from a stranger steals keys")
                    .with_next(Advice::TakeOutOrOwnFile);
            return Err(self.refuse(key.span(), failure));
        }
        let table = self.reader.table(PROVIDERS, value, PROVIDERS_WRITTEN)?;
        provider_table::read_all(self.reader, table, value.span())
    }

    /// Only the user may define personas: a stranger's text would be sent to models in the user's name, with every
    /// question in that folder. A project may use the user's personas by name.
    fn personas(
        &self,
        key: &Key<'_>,
        value: &Item<'_>,
    ) -> Result<BTreeMap<String, (Origin, Persona)>, Failure> {
        if let FileOwner::Project(_) = self.owner {
            let failure =
                invalid("a project file may not set `personas`: a stranger does not speak to models for you")
                    .with_next(Advice::TakeOutOrOwnFile);
            return Err(self.refuse(key.span(), failure));
        }
        let table = self.reader.table(PERSONAS, value, PERSONAS_WRITTEN)?;
        check_count(PERSONAS, table.len(), PERSONAS_MAX)
            .map_err(|failure| self.refuse(value.span(), failure))?;
        let read = |(name, value): (&Key<'_>, &Item<'_>)| {
            let table = self.reader.table(name.get_ref(), value, PERSONAS_WRITTEN)?;
            let persona = persona::read(self.reader, name, table)?;
            Ok((name.get_ref().to_string(), (self.origin(name.span()), persona)))
        };
        in_order(table).into_iter().map(read).collect()
    }

    /// Only the user may define aliases: a stranger's would send questions to other models than the user names.
    fn aliases(&self, key: &Key<'_>, value: &Item<'_>) -> Result<AliasTable, Failure> {
        if let FileOwner::Project(_) = self.owner {
            let failure = invalid(
                "a project file may not set `aliases`: a stranger does not choose what your names mean",
            )
            .with_next(Advice::TakeOutOrOwnFile);
            return Err(self.refuse(key.span(), failure));
        }
        let table = self.reader.table(ALIASES, value, ALIASES_WRITTEN)?;
        check_count(ALIASES, table.len(), ALIASES_MAX)
            .map_err(|failure| self.refuse(value.span(), failure))?;
        let read = |(name, value): (&Key<'_>, &Item<'_>)| {
            let alias =
                Alias { target: alias::read(self.reader, name, value)?, origin: self.origin(name.span()) };
            Ok((name.get_ref().to_string(), alias))
        };
        in_order(table).into_iter().map(read).collect()
    }

    /// Only the user may set prices: with a stranger's, a budget would bound nothing.
    fn prices(&self, key: &Key<'_>, value: &Item<'_>) -> Result<PriceTable, Failure> {
        if let FileOwner::Project(_) = self.owner {
            let failure = invalid("a project file may not set `prices`: they decide what a run may cost")
                .with_next(Advice::TakeOutOrOwnFile);
            return Err(self.refuse(key.span(), failure));
        }
        let table = self.reader.table(PRICES, value, PRICES_WRITTEN)?;
        check_count(PRICES, table.len(), PRICES_MAX).map_err(|failure| self.refuse(value.span(), failure))?;
        let read = |(name, value): (&Key<'_>, &Item<'_>)| {
            kind::read_model(name.get_ref()).map_err(|failure| self.refuse(name.span(), failure))?;
            let price = price::read(self.reader, name, value)?;
            Ok((name.get_ref().to_string(), SetPrice { price, origin: self.origin(name.span()) }))
        };
        in_order(table).into_iter().map(read).collect()
    }

    fn preset(&self, name: &Key<'_>, value: &Item<'_>) -> Result<(String, Preset), Failure> {
        self.check_preset_name(name)?;
        let users = match self.owner {
            FileOwner::Project(limits) => limits.user.presets.get(&**name.get_ref()),
            FileOwner::User => None,
        };
        let origin = self.origin(name.span());
        let mut preset = match users {
            Some(users) => Preset { origin, ..users.clone() },
            None => Preset::new(origin),
        };
        for (key, value) in in_order(self.reader.table(name.get_ref(), value, PRESETS_WRITTEN)?) {
            let kind = preset::kind(key.get_ref()).ok_or_else(|| self.reader.unknown(key, preset::keys()))?;
            let read = self.reader.value(key.get_ref(), kind, value)?;
            let refuse = |failure| self.refuse(value.span(), failure);
            if let (FileOwner::Project(limits), Some(setting)) = (self.owner, Setting::by_name(key.get_ref()))
            {
                check_limit(limits.layer, setting, &read).map_err(refuse)?;
            }
            if let Some(users) = users {
                check_preset_limit(name.get_ref(), users, key.get_ref(), kind, &read).map_err(refuse)?;
            }
            self.check_readers(key.get_ref(), value, &read)?;
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
        Err(self.refuse(name.span(), invalid(message).with_next(Advice::RenamePreset)))
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        match self.owner {
            FileOwner::User => Origin::User(self.reader.location(span)),
            FileOwner::Project(_) => Origin::Project(self.reader.location(span)),
        }
    }

    fn refuse(&self, span: Range<usize>, failure: Failure) -> Failure {
        self.reader.refuse(span, failure)
    }
}

/// Fails if the value exceeds the user's own.
fn check_limit(limits: &Layer, setting: Setting, value: &Value) -> Result<(), Failure> {
    let (entry, kind) = (limits.entry(setting), setting.kind());
    let (is_refused, verb, remedy) = match setting.reach() {
        Reach::Tighter => (kind.is_looser(value, &entry.value), "allow", Advice::TightenIt),
        Reach::Longer => (kind.is_looser(&entry.value, value), "wait", Advice::RaiseIt),
        Reach::Project | Reach::User => return Ok(()),
    };
    if !is_refused {
        return Ok(());
    }
    let (name, origin) = (setting.name(), &entry.origin);
    let limit = match &entry.value {
        Value::Unset => "it may only tighten it".to_owned(),
        limit => format!("you {verb} `{limit}` ({origin})"),
    };
    let message = format!("a project file may not set `{name}` to `{value}`: {limit}");
    Err(invalid(message).with_next([remedy.into(), as_user(setting)]))
}

/// The next step that sets it outside the project file.
fn as_user(setting: Setting) -> Next {
    let variable = Some(setting.variable().into());
    Next::Machine(MachineStep::SetAsUser { setting: setting.name().into(), variable })
}

/// Fails if a value of a project's preset exceeds the user's preset of the same name.
fn check_preset_limit(
    name: &str,
    users: &Preset,
    key: &str,
    kind: Kind,
    value: &Value,
) -> Result<(), Failure> {
    let Some(limit) = users.limit(key).filter(|limit| kind.is_looser(value, limit)) else { return Ok(()) };
    let origin = &users.origin;
    let step = MachineStep::SetInPreset { preset: name.to_owned().into(), key: key.to_owned().into() };
    let message = format!("a project file may not set `{key}` to `{value}`: you allow `{limit}` ({origin})");
    Err(invalid(message).with_next([Next::Do(Advice::TightenIt), step.into()]))
}

#[cfg(test)]
mod tests {
    use super::super::reference::EXAMPLE;
    use super::*;

    /// Checks that a file is either parsed or refused with a location.
    fn check(text: String) {
        let source = Source { path: "it.toml".into(), text };
        let (layer, user) = (Layer::defaults(), Document::default());
        for owner in [FileOwner::User, FileOwner::Project(&UserLimits::new(&layer, &layer, &user))] {
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
