//! Full names for the models of a question: an alias of the user's becomes what it stands for, and a short name such as
//! `opus` the id of the one model it fits.
//!
//! Every door passes here before a question is planned. Invariants: only a list that was just fetched and is complete
//! resolves a short name, because only it shows that the name is no id; a name that fits several models is refused, and so is
//! one that cannot be an id while the list cannot be fetched.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::flow::{Flow, FlowError, FlowPlace};
use parallel_llm_engine::request::panel::{ModelRef, WrittenReference};
use parallel_llm_engine::request::short_name::NamedModels;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Catalogue, Code, Failure, ProviderId, RunRequest};

use super::Models;
use super::catalogue::Wanted;
use super::lists::{KnownLists, Lists};
use crate::access::Scope;

/// The most models that a refusal names: enough to see what to add to the name.
const CANDIDATES_MAX: usize = 8;

/// What is known of the models of a question once they have their full names.
pub(crate) struct InFull {
    /// The lists of their providers.
    pub(crate) lists: KnownLists,
    /// The names of a flow that fit several models.
    pub(crate) flow_errors: Vec<FlowError>,
}

impl Models {
    /// Whether a word is the name of a model, as far as the lists at hand know. Nothing is fetched.
    pub async fn is_name(&self, word: &str) -> Result<bool, Failure> {
        self.principal.check(Scope::Read)?;
        if self.settings().aliases.expand(word) != word {
            return Ok(true);
        }
        let providers = &self.lists.providers;
        let Some(model) = providers.model_of(word) else { return Ok(false) };
        let Some(provider) = providers.find(&model.provider) else { return Ok(false) };
        let known = self.lists.of(provider, Wanted::Cached).await.known;
        let catalogue = known.list.map(|list| list.catalogue);
        Ok(catalogue.is_some_and(|catalogue| {
            let is_listed = catalogue.find(&model.model).is_some();
            is_listed || !matches!(catalogue.named(&model.model), NamedModels::None)
        }))
    }
}

impl Lists {
    /// Gives the models that a request and its defaults name their full names, and returns the lists of their providers.
    /// Fails for a short name that fits several models, unless a flow names it.
    pub(crate) async fn name_in_full(
        &self,
        request: &mut RunRequest,
        defaults: &mut Defaults,
    ) -> Result<InFull, Failure> {
        let aliases = &self.providers.settings.aliases;
        for (_, reference) in references(request, defaults) {
            *reference = aliases.expand(reference);
        }
        for reference in defaults.equivalence.references_mut() {
            *reference = aliases.expand(reference);
        }
        let lists = self.for_request(request, defaults).await;
        let mut flow_errors = Vec::new();
        for (place, reference) in references(request, defaults) {
            match (self.in_full(reference, &lists.catalogues), place) {
                (Ok(Some(full)), _) => *reference = full,
                (Ok(None), _) => {}
                (Err(failure), Some(place)) => flow_errors.push(FlowError { place, failure }),
                (Err(failure), None) => return Err(failure),
            }
        }
        Ok(InFull { lists, flow_errors })
    }

    /// The reference with the full name of its model; `None` if it has it already, or if no list resolves it.
    fn in_full(
        &self,
        reference: &str,
        catalogues: &BTreeMap<ProviderId, Arc<Catalogue>>,
    ) -> Result<Option<String>, Failure> {
        let Some(model) = self.providers.model_of(reference) else { return Ok(None) };
        let Some(catalogue) = catalogues.get(&model.provider) else { return Ok(None) };
        let full = full_name(&model, catalogue)?.map(|full| full.to_string());
        Ok(full
            .map(|name| WrittenReference { name: &name, ..WrittenReference::split(reference) }.to_string()))
    }
}

/// The references that a plan is made of, those of a flow with their places in it. The panel of the settings is among them
/// only if neither the request nor a flow names models.
fn references<'a>(
    request: &'a mut RunRequest,
    defaults: &'a mut Defaults,
) -> impl Iterator<Item = (Option<FlowPlace>, &'a mut String)> {
    let of_settings = if defaults.flow.is_none() { defaults.panel.as_mut_slice() } else { &mut [] };
    let panel = request.models.as_deref_mut().unwrap_or(of_settings);
    let flow = defaults.flow.iter_mut().flat_map(Flow::references_mut);
    let flow = flow.map(|(place, reference)| (Some(place), reference));
    let others = panel.iter_mut().chain(&mut request.synthesizer).chain(&mut defaults.synthesizers);
    others.map(|reference| (None, reference)).chain(flow)
}

/// The model that a short name stands for; `None` for an id, and for a name that this list cannot resolve.
pub(super) fn full_name(model: &ModelRef, catalogue: &Catalogue) -> Result<Option<ModelRef>, Failure> {
    if catalogue.find(&model.model).is_some() {
        return Ok(None);
    }
    if !catalogue.is_live() {
        return unresolved(model, catalogue).map_or(Ok(None), Err);
    }
    let named = |id: String| ModelRef { provider: model.provider.clone(), model: id };
    match catalogue.named(&model.model) {
        NamedModels::None => Ok(None),
        NamedModels::One(id) => Ok(Some(named(id))),
        NamedModels::Several(ids) => {
            let message = format!("the name `{model}` fits {} models", ids.len());
            let candidates = ids.into_iter().take(CANDIDATES_MAX).map(|id| named(id).to_string());
            Err(Failure::new(Code::ModelUnknown, message).with_next(Next::choose_one(candidates)))
        }
    }
}

/// The refusal of a short name that a list of another day would resolve. A name of the form of the ids may be a new id.
fn unresolved(model: &ModelRef, catalogue: &Catalogue) -> Option<Failure> {
    let has_vendor = |id: &str| id.contains('/');
    let is_short =
        !has_vendor(&model.model) && catalogue.models().iter().all(|listed| has_vendor(&listed.id));
    let candidates = match catalogue.named(&model.model) {
        NamedModels::One(id) => vec![id],
        NamedModels::Several(ids) => ids,
        NamedModels::None => return None,
    };
    let named = |id: String| ModelRef { provider: model.provider.clone(), model: id }.to_string();
    let message = format!(
        "the list of `{}` cannot be fetched, so the short name `{model}` stands for nothing",
        model.provider
    );
    let candidates = candidates.into_iter().take(CANDIDATES_MAX).map(named);
    is_short.then(|| Failure::new(Code::ModelUnknown, message).with_next(Next::choose_one(candidates)))
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::ModelInfo;

    use super::*;

    fn named(model: &str, is_live: bool) -> String {
        let ids = ["~anthropic/claude-opus-latest", "anthropic/claude-opus-5.5", "other/claude-opus-5.5"];
        let catalogue = Catalogue::new(ids.map(ModelInfo::named).into(), is_live);
        let model = ModelRef { provider: ProviderId("router".to_owned()), model: model.to_owned() };
        match full_name(&model, &catalogue) {
            Ok(full) => full.map_or_else(|| "as typed".to_owned(), |full| full.to_string()),
            Err(failure) => format!("{} | {}", failure.message, failure.next_step()),
        }
    }

    #[test]
    fn a_list_of_the_moment_resolves_a_short_name_and_no_other_does() {
        assert_eq!(named("claude-opus", true), "router:~anthropic/claude-opus-latest");
        assert_eq!(
            named("claude-opus", false),
            "the list of `router` cannot be fetched, so the short name `router:claude-opus` stands for nothing | choose one of: router:~anthropic/claude-opus-latest"
        );
        assert_eq!(named("other/claude-opus", false), "as typed");
        assert_eq!(named("anthropic/claude-opus-5.5", true), "as typed");
        assert_eq!(named("nobody", true), "as typed");
        assert_eq!(
            named("claude-opus-5.5", true),
            "the name `router:claude-opus-5.5` fits 2 models | choose one of: router:anthropic/claude-opus-5.5, \
             router:other/claude-opus-5.5"
        );
    }
}
