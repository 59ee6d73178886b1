//! Aliases: the table `[aliases]` of the user's file, with names of the user's own for models.
//!
//! Only the user's file may define them: they choose who reads a question and what it costs. Invariants: an alias leads to
//! a model, not back to itself, and hides neither a model of its name nor a provider.

use std::collections::BTreeMap;

use parallel_llm_engine::Failure;
use parallel_llm_engine::request::panel::WrittenReference;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_provider::embedded_catalogue;

use crate::settings::providers::provider::ProviderSettings;
use crate::settings::sources::reader::{Item, Key, Reader};
use crate::settings::value::effective::EffectiveValue;
use crate::settings::value::failure::invalid;
use crate::settings::value::kind::read_model;
use crate::settings::value::origin::Origin;

/// Longest name in bytes; it is typed by hand.
const NAME_BYTES_MAX: usize = 40;

/// An alias and the location that defines it.
#[derive(Clone, Debug)]
pub(in crate::settings) struct Alias {
    pub(in crate::settings) target: String,
    pub(in crate::settings) origin: Origin,
}

/// Aliases by name.
pub(in crate::settings) type AliasTable = BTreeMap<String, Alias>;

/// The user's own names for models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases(BTreeMap<String, String>);

impl Aliases {
    pub(in crate::settings) fn of(table: &AliasTable) -> Self {
        Self(table.iter().map(|(name, alias)| (name.clone(), alias.target.clone())).collect())
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The reference with its alias replaced by the model it stands for. The number of seats and the options of the
    /// reference win over those of the alias; a variant such as `:free` is kept.
    pub fn expand(&self, reference: &str) -> String {
        let mut expanded = reference.to_owned();
        // An alias may lead to another one. Every step uses a further alias, since none leads back to itself.
        for _ in 0..self.0.len() {
            let Some(next) = self.step(&expanded) else { break };
            expanded = next;
        }
        expanded
    }

    /// The reference with one alias replaced; `None` if it names none.
    fn step(&self, reference: &str) -> Option<String> {
        let own = WrittenReference::split(reference);
        let (name, variant) =
            own.name.split_once(':').map_or((own.name, None), |(name, it)| (name, Some(it)));
        let target = WrittenReference::split(self.0.get(name)?);
        let name =
            variant.map_or_else(|| target.name.to_owned(), |variant| format!("{}:{variant}", target.name));
        // Of two options of the same key the later one holds.
        let options: Vec<&str> = target.options.into_iter().chain(own.options).collect();
        let options = (!options.is_empty()).then(|| options.join(","));
        let count = own.count.or(target.count);
        Some(WrittenReference { name: &name, count, options: options.as_deref() }.to_string())
    }
}

/// Whether an alias may have this name. It holds no `/` and no `:`, so it is no model of a router with its vendor.
fn is_name(name: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'_');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_part)
}

/// Parses one alias.
pub(in crate::settings) fn read(
    reader: Reader<'_>,
    name: &Key<'_>,
    value: &Item<'_>,
) -> Result<String, Failure> {
    if !is_name(name.get_ref()) {
        let message = format!(
            "the name of an alias has 1 to {NAME_BYTES_MAX} lower-case letters, digits, `-`, `_` or `.`, not `{}`",
            name.get_ref()
        );
        return Err(reader.refuse(name.span(), invalid(message).with_next(Advice::RenameAlias)));
    }
    let text = reader.text(name.get_ref(), value)?;
    read_model(text).map_err(|failure| reader.refuse(value.span(), failure))
}

/// Fails if an alias leads back to itself, or hides a provider or a model.
pub(in crate::settings) fn check(table: &AliasTable, providers: &[ProviderSettings]) -> Result<(), Failure> {
    let aliases = Aliases::of(table);
    for (name, alias) in table {
        let refuse = |message: String, next: Vec<Next>| {
            let failure = invalid(message).with_next(next);
            match &alias.origin {
                Origin::User(location) => crate::settings::value::failure::at(location, failure),
                _ => failure,
            }
        };
        // As many steps as there are aliases end at a model, unless they go in a circle.
        if aliases.step(&aliases.expand(name)).is_some() {
            let message = format!("the alias `{name}` leads to no model: its aliases go in a circle");
            return Err(refuse(message, vec![Advice::LeadAliasToModel.into()]));
        }
        if providers.iter().any(|provider| provider.id.0 == *name) {
            let message = format!("the alias `{name}` has the name of a provider");
            return Err(refuse(message, vec![Advice::RenameAlias.into()]));
        }
        if let Some(hidden) = hidden_model(name, &aliases.expand(name)) {
            let message = format!("the alias `{name}` hides the model `{hidden}`");
            return Err(refuse(message, vec![Advice::RenameAlias.into()]));
        }
    }
    Ok(())
}

/// A known model that has this very name behind its vendor and is not the one the alias stands for.
fn hidden_model(name: &str, target: &str) -> Option<String> {
    let target = WrittenReference::split(target).name;
    let behind = target.rsplit(['/', ':']).next().unwrap_or(target);
    let catalogue = embedded_catalogue();
    let is_exact = |id: &str| id.trim_start_matches('~').rsplit('/').next() == Some(name);
    let hidden = catalogue.models().iter().find(|model| is_exact(&model.id))?;
    (behind != name).then(|| hidden.id.clone())
}

/// The value to show of an alias.
pub(in crate::settings) fn shown(name: &str, alias: &Alias) -> EffectiveValue {
    EffectiveValue {
        name: format!("aliases.{name}"),
        value: alias.target.clone(),
        origin: alias.origin.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(reference: &str) -> String {
        let aliases = [
            ("fast", "google/gemini-3.8-flash"),
            ("team", "ollama:llama4:8b*2@temperature=0.2,effort=low"),
            ("quick", "fast*3"),
        ];
        Aliases(aliases.map(|(name, target)| (name.to_owned(), target.to_owned())).into()).expand(reference)
    }

    #[test]
    fn an_alias_stands_for_its_model_and_leaves_the_rest_as_typed() {
        for (reference, expanded) in [
            ("fast", "google/gemini-3.8-flash"),
            (" fast*2@temperature=1 ", "google/gemini-3.8-flash*2@temperature=1"),
            ("fast:free", "google/gemini-3.8-flash:free"),
            ("team", "ollama:llama4:8b*2@temperature=0.2,effort=low"),
            ("team*4@temperature=0.9", "ollama:llama4:8b*4@temperature=0.2,effort=low,temperature=0.9"),
            ("quick", "google/gemini-3.8-flash*3"),
            ("quick*1", "google/gemini-3.8-flash*1"),
            ("faster", "faster"),
            ("google/fast", "google/fast"),
            ("openai:fast", "openai:fast"),
            ("", ""),
        ] {
            assert_eq!(expand(reference), expanded, "{reference}");
        }
    }
}
