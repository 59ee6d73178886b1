//! The settings of a program that imports the library: the defaults, and what its code sets.
//!
//! Invariants: neither the environment nor any file is read; a value from code is checked like one from a file; without a
//! folder nothing is read or written on disk.

use std::collections::BTreeMap;
use std::path::Path;

use parallel_llm_engine::value::nearest::suggest_or_list;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Failure, PicoUsd, ProviderId};
use parallel_llm_provider::{Dialect, Endpoint, Known};
use secrecy::{ExposeSecret, SecretString};

use super::Settings;
use super::document::Document;
use super::providers::provider::{ProviderKey, ProviderSettings, USUAL_KIND, with_path};
use super::providers::provider_table::{self, HEADERS_MAX, check_name, kinds};
use super::sources::environment::Environment;
use super::sources::layer::{Entry, Layer};
use super::sources::reader::check_count;
use super::table::Setting;
use super::value::effective::EffectiveValue;
use super::value::failure::invalid;
use super::value::kind::Value;
use super::value::origin::Origin;

/// A provider that code sets up. What is `None` stays as it is, for a known provider as its row says.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedProvider {
    /// The id in model references.
    pub id: String,
    /// The address of its API.
    pub base_url: Option<String>,
    /// How it speaks: the id of a known provider, or a further kind.
    pub kind: Option<String>,
    /// Its key.
    pub key: Option<SecretString>,
    /// Headers sent with every call.
    pub headers: Vec<(String, SecretString)>,
    /// Most concurrent calls.
    pub calls_max: Option<usize>,
    /// The most that all runs together may cost per day with its key.
    pub budget_day: Option<PicoUsd>,
    /// Whether the code itself makes its calls, so that it needs neither address nor key.
    pub is_called_by_code: bool,
}

/// Fails if a setting does not exist or cannot have this value.
pub fn check_value(name: &str, text: &str) -> Result<(), Failure> {
    Setting::read(name, text).map(drop)
}

/// Fails if one of these headers is not the user's to set. The failure shows no value.
pub fn check_headers(headers: &[(String, SecretString)]) -> Result<(), Failure> {
    checked_headers(headers.to_vec()).map(drop)
}

impl Settings {
    /// The defaults with these values: names of settings and their texts. Runs are kept in `folder`, an absolute path, or
    /// in memory.
    pub fn embedded(values: &[(&str, String)], folder: Option<&Path>) -> Result<Self, Failure> {
        let mut layer = Layer::defaults().under(&Layer::of_code(values)?);
        let folder_value = Value::Path(folder.map(Path::to_owned).unwrap_or_default());
        let data_dir = Entry { value: folder_value, origin: Origin::Code };
        layer.set(Setting::DataDir, data_dir);
        let nothing = Environment::default();
        let documents = [Document::default(), Document::default()];
        let mut settings = Self::of_documents(&layer, &nothing, Path::new(""), documents)?;
        settings.in_memory = folder.is_none();
        settings.system_proxy = false;
        for provider in &mut settings.providers {
            provider.in_code = true;
            provider.key_variable = None;
        }
        Ok(settings)
    }

    /// Sets up a provider in code.
    pub fn set_provider(&mut self, own: EmbeddedProvider) -> Result<(), Failure> {
        check_name(&own.id)?;
        let index = self.providers.iter().position(|provider| provider.id.0 == own.id);
        let provider = own.resolve(index.map(|index| &self.providers[index]))?;
        if let Some(base_url) = &provider.base_url {
            // The address is the user's own, so a local server there is not merely presumed.
            self.shown.push(EffectiveValue {
                name: format!("providers.{}.base_url", provider.id),
                value: base_url.clone(),
                origin: Origin::Code,
            });
        }
        match index {
            Some(index) => self.providers[index] = provider,
            None => self.providers.push(provider),
        }
        Ok(())
    }
}

impl EmbeddedProvider {
    /// The provider, on top of one of this id that is there already.
    fn resolve(self, before: Option<&ProviderSettings>) -> Result<ProviderSettings, Failure> {
        let known = Known::by_id(&self.id);
        let kind = self.kind.as_deref().or_else(|| known.map(|known| known.id)).unwrap_or(USUAL_KIND);
        let Some(dialect) = Known::dialect_of(kind) else {
            let all: Vec<&str> = kinds().collect();
            let failure = invalid(format!("there is no kind of provider `{kind}`"));
            return Err(suggest_or_list(failure, kind, &all));
        };
        let id = ProviderId(self.id.clone());
        let base_url = self.address(before, Known::by_id(kind));
        // OpenRouter's id is also used for other servers, which are recognized by their paths.
        let dialect = match (&self.kind, &base_url) {
            (None, Some(base_url)) if self.id == Known::ALL[0].id => Dialect::of_base_url(base_url),
            _ => dialect,
        };
        match &base_url {
            Some(base_url) => drop(Endpoint::new(id.clone(), base_url, None, dialect)?),
            None if self.is_called_by_code => {}
            None => {
                let failure = invalid(format!("the provider `{id}` has no base URL"));
                return Err(failure.with_next(Advice::GiveAddressInCode));
            }
        }
        let in_code = self.key.is_some() || before.is_none_or(|before| before.in_code);
        let kept = before.map(|before| before.headers.clone()).unwrap_or_default();
        // A later header of the same name replaces an earlier one.
        let headers = checked_headers(kept.into_iter().chain(self.headers).collect())?;
        let key = match self.key {
            Some(key) => ProviderKey::Set { key, origin: Origin::Code },
            None => before.map_or(ProviderKey::Missing, |before| before.key.clone()),
        };
        Ok(ProviderSettings {
            name: known.map_or(&*self.id, |known| known.name).to_owned(),
            base_url,
            base_url_variable: before.and_then(|before| before.base_url_variable),
            dialect,
            key,
            key_variable: before.and_then(|before| before.key_variable.clone()),
            headers,
            calls_max: self.calls_max.or_else(|| before.and_then(|before| before.calls_max)),
            budget_day: self.budget_day.or_else(|| before.and_then(|before| before.budget_day)),
            in_code,
            id,
        })
    }

    /// The address: the one given, else the one it has, else that of its kind. Code that makes its own calls needs none.
    fn address(&self, before: Option<&ProviderSettings>, pattern: Option<&Known>) -> Option<String> {
        if self.is_called_by_code {
            return None;
        }
        let path = pattern.map_or("", |pattern| pattern.path);
        let given = self.base_url.as_deref().map(|text| with_path(text.trim(), path));
        let usual = || pattern.map(|pattern| pattern.base_url.to_owned()).filter(|url| !url.is_empty());
        given.or_else(|| before.map_or_else(usual, |before| before.base_url.clone()))
    }
}

/// The headers in the form they are sent. Fails for one that is not the user's to set; the failure shows no value.
fn checked_headers(headers: Vec<(String, SecretString)>) -> Result<Vec<(String, SecretString)>, Failure> {
    check_count("headers", headers.len(), HEADERS_MAX)?;
    let mut checked = BTreeMap::new();
    for (name, value) in headers {
        let name = provider_table::header_name(&name)?;
        provider_table::header_value(&name, value.expose_secret())?;
        checked.insert(name, value);
    }
    Ok(checked.into_iter().collect())
}
