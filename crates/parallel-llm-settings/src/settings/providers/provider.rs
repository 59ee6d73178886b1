//! Resolves providers from the built-in table, the user's file, the environment and stored keys.
//!
//! A known provider is a row of [`Known`]; the user's own provider is a table that may use a row as its template.
//! Invariants: every known provider is included, the default one first. A key whose variable belongs to a known
//! provider is sent only to that provider's host, or to the address to which the user's own file or environment has
//! moved it. Keys and header values are never shown.

use std::collections::BTreeMap;

use parallel_llm_engine::value::next::{Advice, MachineStep, Next, Operation};
use parallel_llm_engine::{Failure, PicoUsd, ProviderId};
use parallel_llm_provider::{Dialect, Endpoint, Known, is_loopback_url};
use secrecy::SecretString;
use url::Url;

use super::kept::KeptKeys;
use super::provider_table::Table;
use crate::settings::sources::environment::Environment;
use crate::settings::value::effective::EffectiveValue;
use crate::settings::value::failure::{at, invalid};
use crate::settings::value::kind::Value;
use crate::settings::value::origin::Origin;

/// The kind of the user's own providers by default.
pub(in crate::settings) const USUAL_KIND: &str = "openai-compatible";

/// One provider, resolved.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// The id used in model references.
    pub id: ProviderId,
    /// The display name.
    pub name: String,
    /// The base URL; `None` if it differs per customer and is not set. The provider crate decides whether it may be
    /// called.
    pub base_url: Option<String>,
    /// The variable that sets the base URL, if any.
    pub base_url_variable: Option<&'static str>,
    /// The dialect of its API.
    pub dialect: Dialect,
    /// The source of its key.
    pub key: ProviderKey,
    /// The variable that may hold its key, if any.
    pub key_variable: Option<String>,
    /// Headers sent with every call besides authentication.
    pub headers: Vec<(String, SecretString)>,
    /// Concurrent calls, if different from the setting.
    pub calls_max: Option<usize>,
    /// The most that all runs together may cost per day with its key.
    pub budget_day: Option<PicoUsd>,
    /// Whether its key comes from a program that imports the library, and from nowhere else.
    pub in_code: bool,
}

/// The source of a provider's key.
#[derive(Clone, Debug)]
pub enum ProviderKey {
    /// No key is set.
    Missing,
    /// The key is known.
    Set {
        /// The key as written.
        key: SecretString,
        /// A variable or the file of stored keys.
        origin: Origin,
    },
    /// A program prints the key: its name and arguments.
    Command(Vec<String>),
}

impl ProviderSettings {
    /// The next steps if the key is missing.
    pub fn key_advice(&self) -> Vec<Next> {
        if self.in_code {
            return vec![Next::Do(Advice::GiveKeyInCode)];
        }
        self.key_advice_steps().map(Next::Machine).collect()
    }

    fn key_advice_steps(&self) -> impl Iterator<Item = MachineStep> {
        let set = self.key_variable.clone().map(|variable| MachineStep::SetVariable(variable.into()));
        set.into_iter().chain([MachineStep::KeepKey(self.id.0.clone().into())])
    }

    /// Whether its server is the user's own machine, which asks for no money. A router or a vendor known by name is not, even if
    /// it is reached through a server on this machine: what stands behind it is paid.
    pub fn is_own_machine(&self) -> bool {
        let is_paid = self.dialect.routes || Known::by_id(&self.id.0).is_some_and(|known| !known.is_local());
        match &self.base_url {
            Some(base_url) => !is_paid && is_loopback_url(base_url),
            // Code that makes its own calls knows what they cost.
            None => self.in_code,
        }
    }

    /// The next steps if a call fails without a key. New users start with the default provider, so its steps mention
    /// the demo.
    pub fn call_advice(&self) -> Vec<Next> {
        let demo = (self.is_default() && !self.in_code).then_some(Next::Use(Operation::Demo));
        self.key_advice().into_iter().chain(demo).collect()
    }

    /// The next steps if the provider refuses the key: they name its source. A variable comes before the stored keys.
    pub fn refused_key_advice(&self) -> Vec<Next> {
        if self.in_code {
            return [Advice::CheckKey, Advice::AskAnotherModel].map(Next::Do).into();
        }
        let provider = || self.id.0.clone().into();
        let steps = match &self.key {
            ProviderKey::Set { origin: Origin::Environment(variable), .. } => vec![
                MachineStep::CorrectVariable(variable.clone().into()),
                MachineStep::KeepKeyInstead(provider()),
            ],
            ProviderKey::Set { .. } => vec![MachineStep::ReplaceKey(provider())],
            ProviderKey::Command(_) => vec![MachineStep::TryKeyCommand(provider())],
            ProviderKey::Missing => self.key_advice_steps().collect(),
        };
        let steps = steps.into_iter().map(Next::Machine);
        [Next::Do(Advice::CheckKey)]
            .into_iter()
            .chain(steps)
            .chain([Next::Do(Advice::AskAnotherModel)])
            .collect()
    }

    /// Whether calls need a key. Without a valid address, the answer is that for a remote host.
    pub fn needs_key(&self) -> bool {
        let base_url = self.base_url.as_deref().unwrap_or_default();
        Endpoint::new(self.id.clone(), base_url, None, self.dialect)
            .map_or(true, |endpoint| endpoint.needs_key())
    }

    /// Whether model references without a provider mean this one.
    fn is_default(&self) -> bool {
        self.id.0 == Known::ALL[0].id
    }

    /// The next step if the address is missing.
    pub fn address_advice(&self) -> Next {
        if self.in_code {
            return Next::Do(Advice::GiveAddressInCode);
        }
        let variable = self.base_url_variable.map(Into::into);
        Next::Machine(MachineStep::SetBaseUrl { provider: self.id.0.clone().into(), variable })
    }
}

/// The sources of providers.
#[derive(Clone, Copy)]
pub(in crate::settings) struct Sources<'a> {
    pub(in crate::settings) environment: &'a Environment,
    pub(in crate::settings) tables: &'a BTreeMap<String, Table>,
    pub(in crate::settings) kept: (&'a KeptKeys, Option<&'a std::path::Path>),
}

/// Every known provider, the default one first, then the user's own by name; and the values to show of them.
pub(in crate::settings) fn resolve(
    sources: Sources<'_>,
) -> Result<(Vec<ProviderSettings>, Vec<EffectiveValue>), Failure> {
    let known = Known::ALL.iter().map(|known| known.id);
    let own = sources.tables.keys().map(String::as_str).filter(|name| Known::by_id(name).is_none());
    let (mut providers, mut shown) = (Vec::new(), Vec::new());
    for id in known.chain(own) {
        let (provider, lines) = sources.provider(id)?;
        providers.push(provider);
        shown.extend(lines);
    }
    for provider in &providers {
        let located = sources.tables.get(&provider.id.0).and_then(|table| table.key_variable.as_ref());
        check_binding(provider, &providers).map_err(|failure| match located {
            Some(located) => at(&located.location, failure),
            None => failure,
        })?;
    }
    Ok((providers, shown))
}

impl Sources<'_> {
    fn provider(self, id: &str) -> Result<(ProviderSettings, Vec<EffectiveValue>), Failure> {
        let nothing = Table::default();
        let (known, table) = (Known::by_id(id), self.tables.get(id).unwrap_or(&nothing));
        let kind = match (&table.kind, known) {
            (Some(located), _) => located.value.as_str(),
            (None, Some(known)) => known.id,
            (None, None) => USUAL_KIND,
        };
        // The dialect of a known provider does not change its address, so its key stays there.
        let pattern = known.or_else(|| Known::by_id(kind));
        let (base_url, address_origin) = self.address(known, pattern, table)?;
        if let (None, None, Some(location)) = (&base_url, known, &table.location) {
            let failure = invalid(format!("the provider `{id}` has no `base_url`"));
            return Err(at(location, failure.with_next(Advice::WriteAddress)));
        }
        let (key, key_variable) = self.key(id, known, table);
        let dialect = match (&table.kind, &base_url) {
            // OpenRouter's variable is also used for other servers, which are recognized by their paths.
            (None, Some(base_url)) if id == Known::ALL[0].id => Dialect::of_base_url(base_url),
            _ => Known::dialect_of(kind).expect("a kind was looked up when it was read"),
        };
        let own_calls_max = table.calls_max.as_ref().map(|located| located.value);
        let provider = ProviderSettings {
            id: ProviderId(id.to_owned()),
            name: known.map_or(id, |known| known.name).to_owned(),
            base_url,
            base_url_variable: known.map(|known| known.base_url_variable),
            dialect,
            key,
            key_variable,
            headers: table.headers.as_ref().map(|located| located.value.clone()).unwrap_or_default(),
            calls_max: own_calls_max.or_else(|| pattern.and_then(|pattern| pattern.calls_max)),
            budget_day: table.budget_day.as_ref().map(|located| located.value),
            in_code: false,
        };
        let shown = shown(&provider, table, address_origin);
        Ok((provider, shown))
    }

    /// The base URL and its origin.
    fn address(
        self,
        known: Option<&Known>,
        pattern: Option<&Known>,
        table: &Table,
    ) -> Result<(Option<String>, Origin), Failure> {
        let variable = known.map(|known| known.base_url_variable);
        let in_environment = match variable {
            Some(variable) => self.environment.text(variable)?.map(|text| (text, variable)),
            None => None,
        };
        let (text, origin) = match (in_environment, &table.base_url, pattern) {
            (Some((text, variable)), ..) => (text, Origin::Environment(variable.to_owned())),
            (None, Some(located), _) => (located.value.as_str(), Origin::User(located.location.clone())),
            (None, None, Some(pattern)) if !pattern.base_url.is_empty() => {
                (pattern.base_url, Origin::Default)
            }
            _ => return Ok((None, Origin::Default)),
        };
        Ok((Some(with_path(text, pattern.map_or("", |pattern| pattern.path))), origin))
    }

    /// The key and its variable, in this order: the environment, a program, the stored keys.
    fn key(self, id: &str, known: Option<&Known>, table: &Table) -> (ProviderKey, Option<String>) {
        let named = table.key_variable.as_ref().map(|located| located.value.clone());
        let variable = named.or_else(|| known.map(|known| known.key_variable.to_owned()));
        if let Some(variable) = &variable
            && let Some(key) = self.environment.secret(variable)
        {
            let origin = Origin::Environment(variable.clone());
            return (ProviderKey::Set { key, origin }, Some(variable.clone()));
        }
        let key = match (&table.key_command, self.kept) {
            (Some(located), _) => ProviderKey::Command(located.value.clone()),
            (None, (keys, Some(path))) => keys.get(id).map_or(ProviderKey::Missing, |key| ProviderKey::Set {
                key: key.clone(),
                origin: Origin::Kept(path.to_owned()),
            }),
            (None, (_, None)) => ProviderKey::Missing,
        };
        (key, variable)
    }
}

/// Adds the provider's own path to an address without one.
pub(in crate::settings) fn with_path(text: &str, path: &str) -> String {
    match Url::parse(text) {
        // An address with a query is refused later, whatever its path.
        Ok(url) if url.path() == "/" && url.query().is_none() && url.fragment().is_none() => {
            format!("{}{path}", text.trim_end_matches('/'))
        }
        _ => text.to_owned(),
    }
}

/// Checks that a known provider's variable is used only for that provider's host: a key in it must not go elsewhere.
/// Only the user can move a known provider; its own address is that of its row.
fn check_binding(provider: &ProviderSettings, providers: &[ProviderSettings]) -> Result<(), Failure> {
    let variable = provider.key_variable.as_deref();
    let bound = Known::ALL.iter().find(|known| Some(known.key_variable) == variable);
    let Some(known) = bound.filter(|known| known.id != provider.id.0) else { return Ok(()) };
    let host_of = |provider: &ProviderSettings| host(provider.base_url.as_deref()?);
    let mine = host_of(provider);
    let theirs = providers.iter().find(|provider| provider.id.0 == known.id).and_then(host_of);
    if mine.is_some() && (mine == host(known.base_url) || mine == theirs) {
        return Ok(());
    }
    let (name, id) = (known.key_variable, known.id);
    let message = format!("`{name}` holds the key of `{id}`, which goes to that provider's host only");
    Err(invalid(message).with_next(Advice::KeyInAnotherVariable))
}

fn host(base_url: &str) -> Option<String> {
    Url::parse(base_url).ok()?.host_str().map(str::to_owned)
}

/// The values to show of a provider: everything set by somebody, and for the default one also its address and key
/// status.
fn shown(provider: &ProviderSettings, table: &Table, address_origin: Origin) -> Vec<EffectiveValue> {
    let (id, is_default) = (&provider.id, provider.is_default());
    let line = |name: &str, value: String, origin: Origin| EffectiveValue {
        name: format!("providers.{id}.{name}"),
        value,
        origin,
    };
    let mut lines = Vec::new();
    let (value, origin) = match (&provider.key, &table.key_command) {
        (ProviderKey::Set { origin, .. }, _) => ("set", origin.clone()),
        (ProviderKey::Command(_), Some(located)) => ("set", Origin::User(located.location.clone())),
        _ => ("not set", Origin::Default),
    };
    if is_default || origin != Origin::Default {
        lines.push(line("key", value.to_owned(), origin));
    }
    if let Some(base_url) = &provider.base_url
        && (is_default || address_origin != Origin::Default)
    {
        lines.push(line("base_url", public(base_url), address_origin));
    }
    let user = |location: &crate::settings::value::origin::FileLocation| Origin::User(location.clone());
    let stated = [
        table.kind.as_ref().map(|located| line("kind", located.value.clone(), user(&located.location))),
        table
            .key_variable
            .as_ref()
            .map(|located| line("key_variable", located.value.clone(), user(&located.location))),
        // Arguments may be secrets; the program identifies the command.
        table
            .key_command
            .as_ref()
            .map(|located| line("key_command", located.value[0].clone(), user(&located.location))),
        table
            .calls_max
            .as_ref()
            .map(|located| line("calls_max", located.value.to_string(), user(&located.location))),
        table.budget_day.as_ref().map(|located| {
            line("budget_day_usd", Value::Usd(located.value).to_string(), user(&located.location))
        }),
        table.headers.as_ref().map(|located| line("headers", names(&located.value), user(&located.location))),
    ];
    lines.extend(stated.into_iter().flatten());
    lines
}

/// The names of headers; their values are secrets.
fn names(headers: &[(String, SecretString)]) -> String {
    headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
}

/// An address without password and query, which are invalid but can be typed.
fn public(base_url: &str) -> String {
    let Ok(mut url) = Url::parse(base_url) else { return "no address".to_owned() };
    if url.username().is_empty() && url.password().is_none() && url.query().is_none() {
        return base_url.to_owned();
    }
    let _ = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_gets_the_providers_own() {
        for (text, path, expected) in [
            ("https://x.openai.azure.com", "/openai/v1", "https://x.openai.azure.com/openai/v1"),
            ("https://x.openai.azure.com/", "/openai/v1", "https://x.openai.azure.com/openai/v1"),
            ("http://127.0.0.1:4000", "/v1", "http://127.0.0.1:4000/v1"),
            ("http://127.0.0.1:4000/other/", "/v1", "http://127.0.0.1:4000/other/"),
            ("https://api.deepseek.com", "", "https://api.deepseek.com"),
            ("https://a.b?key=1", "/v1", "https://a.b?key=1"),
            ("nonsense", "/v1", "nonsense"),
        ] {
            assert_eq!(with_path(text, path), expected);
        }
    }

    #[test]
    fn an_address_is_shown_without_secrets() {
        assert_eq!(public("https://a.b/v1"), "https://a.b/v1");
        assert_eq!(public("https://me:pw@a.b/v1?key=1"), "https://a.b/v1");
        assert_eq!(public("sk-0000"), "no address");
    }
}
