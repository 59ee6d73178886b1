//! Asking: a request is resolved into a plan, and the plan becomes a run under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use parallel_llm_engine::panel::{ModelRef, PanelEntry};
use parallel_llm_engine::plan::{Defaults, Terms};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Catalogue, Code, Failure, ProviderId, RunPlan, RunRequest};

use super::catalogue::Wanted;
use super::fitness::Typed;
use super::{RunHandle, Service};
use crate::clock;

/// A question as a door hands it over.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What is asked, and the caller's wishes.
    pub request: RunRequest,
    /// A preset whose values stand in for what the request leaves open.
    pub preset: Option<String>,
}

impl Service {
    /// Begins a run. Whatever is wrong is said here, before anything is paid.
    pub async fn ask(&self, question: Question) -> Result<RunHandle, Failure> {
        let plan = self.plan(question).await?;
        self.runs().await?.start(plan, self.output_dir()).await
    }

    async fn plan(&self, question: Question) -> Result<RunPlan, Failure> {
        let mut request = question.request;
        let mut defaults = self.settings().defaults();
        if let Some(name) = &question.preset {
            self.settings().preset(name)?.fill(&mut request, &mut defaults);
        }
        // Whoever wants no text stored wants none in files either, unless this call says so.
        let stored = request.store.unwrap_or(self.settings().store) == StoreMode::Full;
        request.files = request.files.or_else(|| (!stored).then_some(false));
        let catalogues = self.catalogues_for(&request, &defaults).await;
        let terms = Terms { defaults: &defaults, providers: &self.0.providers, catalogues: &catalogues };
        let identity = clock::new_identity().map_err(|error| {
            Failure::new(Code::Internal, format!("the system gives no random bytes: {error}"))
        })?;
        let typed = Typed::of(&request);
        let mut plan = RunPlan::resolve(request, &terms, identity)?;
        self.check_inputs(&plan, typed)?;
        self.check_keys(&typed.places(&plan), &plan.seats.iter().collect::<Vec<_>>()).await?;
        plan.warnings.extend(self.warnings_of(&plan));
        Ok(plan)
    }

    /// The list of each provider that is named. A provider is asked for its own only where a typed name is in no
    /// fresh list; all are asked at once.
    async fn catalogues_for(
        &self,
        request: &RunRequest,
        defaults: &Defaults,
    ) -> BTreeMap<ProviderId, Arc<Catalogue>> {
        let typed = request.models.iter().flatten().chain(&request.synthesizer);
        let settled =
            defaults.panel.iter().filter(|_| request.models.is_none()).chain(&defaults.synthesizers);
        let mut names: BTreeMap<ProviderId, Vec<String>> = BTreeMap::new();
        for model in typed.filter_map(|reference| self.model_of(reference)) {
            names.entry(model.provider).or_default().push(model.model);
        }
        for model in settled.filter_map(|reference| self.model_of(reference)) {
            names.entry(model.provider).or_default();
        }
        let known = names.into_iter().map(|(provider, names)| async move {
            let settings = self.provider(&provider)?;
            let wanted = if names.is_empty() { Wanted::AtHand } else { Wanted::Names(&names) };
            let list = self.shelf(settings, wanted).await.known.list?;
            Some((provider, list.catalogue))
        });
        join_all(known).await.into_iter().flatten().collect()
    }

    /// The model a reference names; `None` where it cannot be read, which resolving says.
    pub(super) fn model_of(&self, reference: &str) -> Option<ModelRef> {
        let is_provider = |id: &str| self.0.providers.iter().any(|known| known.0 == id);
        let default = self.0.providers.first()?;
        PanelEntry::parse(reference, default, is_provider).ok().map(|entry| entry.model)
    }
}
