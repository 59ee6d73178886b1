//! The failure for a model that its provider's list lacks: it says which part of the name is wrong, and suggests another.

use crate::request::catalogue::Catalogue;
use crate::request::panel::{DEFAULT_PROVIDER, ModelRef, ProviderId};
use crate::request::short_name::NamedModels;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::nearest::nearest;
use crate::value::next::Next;

/// The failure for a model that is missing in the live list of its provider.
pub(super) fn failure(model: &ModelRef, providers: &[ProviderId], catalogue: &Catalogue) -> Failure {
    let name = &*model.model;
    if let Some((provider, rest)) = unknown_provider(model, catalogue) {
        let message = format!("no provider is called `{provider}`");
        return refuse(message, &meant_provider(provider, rest, providers, catalogue));
    }
    let written = |id: &str| ModelRef { model: id.to_owned(), ..model.clone() }.to_string();
    // Other programs write the provider in front of vendor and model.
    let behind_provider = name.strip_prefix(DEFAULT_PROVIDER).and_then(|rest| rest.strip_prefix('/'));
    let is_default = model.provider.0 == DEFAULT_PROVIDER;
    if let Some(rest) = behind_provider.filter(|rest| is_default && rest.contains('/')) {
        let meant: Vec<String> = meant_ids(rest, catalogue).iter().map(|id| written(id)).collect();
        return refuse(format!("the model `{model}` is unknown"), &meant);
    }
    if let Some((vendor, rest)) = unknown_vendor(name, catalogue) {
        let message = format!("the model `{model}` is unknown: no vendor is called `{vendor}`");
        let meant = meant_vendor(vendor, rest, catalogue);
        return refuse(message, &meant.iter().map(|id| written(id)).collect::<Vec<_>>());
    }
    let similar: Vec<String> = catalogue.similar(name).into_iter().map(written).collect();
    refuse(format!("the model `{model}` is unknown"), &similar)
}

fn refuse(message: String, meant: &[String]) -> Failure {
    let failure = Failure::new(Code::ModelUnknown, message);
    match meant {
        [] => failure,
        [one] => failure.with_next(Next::Meant(one.clone().into())),
        several => failure.with_next(Next::choose_one(several)),
    }
}

/// The provider that a reference names in vain, and the model it wants from it. A suffix such as `:free` names no
/// provider, and neither does a vendor.
fn unknown_provider<'a>(model: &'a ModelRef, catalogue: &Catalogue) -> Option<(&'a str, &'a str)> {
    let (provider, rest) = model.model.split_once(':')?;
    let is_provider = model.provider.0 == DEFAULT_PROVIDER && !provider.contains('/');
    (is_provider && !catalogue.is_variant(rest)).then_some((provider, rest))
}

/// The references that may be meant: a provider of a similar name, else a vendor of this name.
fn meant_provider(
    provider: &str,
    rest: &str,
    providers: &[ProviderId],
    catalogue: &Catalogue,
) -> Vec<String> {
    let listed =
        catalogue.vendors().contains(provider).then(|| catalogue.named(&format!("{provider}/{rest}")));
    if let Some(NamedModels::One(id)) = listed {
        return vec![id];
    }
    let similar = nearest(provider, providers.iter().map(|known| &*known.0));
    similar.into_iter().map(|known| format!("{known}:{rest}")).collect()
}

/// The vendor that a list lacks, and the name behind it.
fn unknown_vendor<'a>(name: &'a str, catalogue: &Catalogue) -> Option<(&'a str, &'a str)> {
    let (vendor, rest) = name.trim_start_matches('~').split_once('/')?;
    let vendors = catalogue.vendors();
    (!vendors.is_empty() && !vendors.contains(vendor)).then_some((vendor, rest))
}

/// The ids that may be meant: the name at a vendor of a similar name, else the most similar id of all.
fn meant_vendor(vendor: &str, rest: &str, catalogue: &Catalogue) -> Vec<String> {
    let at_vendor = nearest(vendor, catalogue.vendors()).map(|known| format!("{known}/{rest}"));
    meant_ids(&at_vendor.unwrap_or_else(|| format!("{vendor}/{rest}")), catalogue)
}

/// The id of this name, else the most similar ones.
fn meant_ids(name: &str, catalogue: &Catalogue) -> Vec<String> {
    match catalogue.named(name) {
        NamedModels::One(id) => vec![id],
        _ => catalogue.similar(name).into_iter().map(str::to_owned).collect(),
    }
}
