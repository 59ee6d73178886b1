//! Asking: a request is resolved into a plan, and the plan becomes a run under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use parallel_llm_engine::plan::{Defaults, Terms};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::panel::{ModelRef, PanelEntry};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Catalogue, Code, Failure, ProviderId, RunPlan, RunRequest};

use crate::ask::fitness::Typed;
use crate::ask::quote::{Proposal, What};
use crate::models::catalogue::Wanted;
use crate::{Asker, RunHandle, Scope, Service};
use parallel_llm_settings::clock;

/// A question as a door hands it over.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What is asked, and the caller's wishes.
    pub request: RunRequest,
    /// A preset whose values stand in for what the request leaves open.
    pub preset: Option<String>,
    /// How old an answer to the very same question may be to be given again, in milliseconds; asked anew where `None`.
    pub cache_ms: Option<u64>,
}

impl Question {
    /// What is asked, by this request alone.
    pub fn of(request: RunRequest) -> Self {
        Self { request, ..Self::default() }
    }
}

impl Service {
    /// Begins a run. Whatever is wrong is said here, before anything is paid. Where the same question is being answered
    /// already, or was asked under the same idempotency key, that run is given instead.
    pub async fn ask(&self, question: Question) -> Result<RunHandle, Failure> {
        // Boxed, because every door holds what a question waits in, and a plan is large.
        Box::pin(async { self.propose(question).await?.begin().await }).await
    }

    /// Resolves a question without beginning it. Fails where it cannot be asked whatever it costs.
    pub async fn propose(&self, question: Question) -> Result<Proposal, Failure> {
        self.asker().check(Scope::Ask)?;
        let cache_ms = question.cache_ms;
        if cache_ms.is_some() {
            // What is in the history is read.
            self.asker().check(Scope::Read)?;
        }
        let plan = self.plan(question).await?;
        Ok(Proposal::new(self, What::Ask(Box::new(plan), cache_ms)))
    }

    /// Begins what was proposed, or gives the answer there is to it.
    pub(crate) async fn begin_asking(
        &self,
        plan: RunPlan,
        cache_ms: Option<u64>,
    ) -> Result<RunHandle, Failure> {
        if let Some(handle) = self.answered_before(&plan, cache_ms).await? {
            return Ok(handle);
        }
        self.begin(plan).await
    }

    /// The newest answer to the very same question, where one is wanted and not too old.
    async fn answered_before(
        &self,
        plan: &RunPlan,
        cache_ms: Option<u64>,
    ) -> Result<Option<RunHandle>, Failure> {
        let Some(within_ms) = cache_ms else { return Ok(None) };
        let within_ms = i64::try_from(within_ms).unwrap_or(i64::MAX);
        let asked_by = plan.asked_by.as_deref();
        let same = self.store().await?.find_same(&plan.plan_hash, asked_by, within_ms).await?;
        let Some(id) = same else { return Ok(None) };
        let note = Failure::new(Code::Repeated, format!("this is the answer of run {id}"));
        let past = self.recall(id).await?;
        let cost = past.run.cost();
        let handle = past.join(plan.budget).await?.spending_since(cost);
        Ok(Some(handle.with_note(Warning::of("nothing was asked anew", &note))))
    }

    /// What is asked, resolved; it may cost more than its budget.
    async fn plan(&self, question: Question) -> Result<RunPlan, Failure> {
        let mut request = question.request;
        self.asker().check_wishes(&request, self.settings().budget)?;
        self.check_reach(&request)?;
        let mut defaults = self.defaults();
        defaults.limits = self.day_limits();
        if let Some(name) = &question.preset {
            self.settings().preset(name)?.fill(&mut request, &mut defaults);
        }
        if *self.asker() != Asker::Owner {
            // A preset's own budget is the owner's wish for the owner's runs.
            defaults.budget = defaults.budget.min(self.settings().budget);
        }
        self.plan_with(request, defaults).await
    }

    /// The plan of a request, these holding for what it leaves open. It may cost more than its budget.
    pub(crate) async fn plan_with(
        &self,
        mut request: RunRequest,
        defaults: Defaults,
    ) -> Result<RunPlan, Failure> {
        request.asked_by = self.asker().name().map(str::to_owned);
        // Whoever wants no text stored wants none in files either, unless this call says so.
        let stored = request.store.unwrap_or(self.settings().store) == StoreMode::Full;
        let has_files = stored && *self.asker() == Asker::Owner;
        request.files = request.files.or_else(|| (!has_files).then_some(false));
        let catalogues = self.catalogues_for(&request, &defaults).await;
        let terms = Terms { defaults: &defaults, providers: &self.parts.providers, catalogues: &catalogues };
        let identity = clock::new_identity().map_err(|error| {
            Failure::new(Code::Internal, format!("the system gives no random bytes: {error}"))
        })?;
        let typed = Typed::of(&request);
        let mut plan = RunPlan::draft(request, &terms, identity)?;
        self.check_checker(plan.recipe())?;
        self.check_inputs(&plan, typed)?;
        self.check_keys(&typed.places(&plan), &plan.seats.iter().collect::<Vec<_>>()).await?;
        check_memory(&plan)?;
        plan.warnings.extend(self.check_wait(&plan)?);
        let places = [("seat", &*plan.seats), ("synthesizer", &*plan.synthesizers)];
        let unable = self.inabilities(&plan.routing, places);
        plan.warnings.extend(unable);
        plan.warnings.extend(self.check_calibration().await);
        Ok(plan)
    }

    /// The list of each provider that is named. A provider is asked for its own only where a typed name is in no
    /// fresh list; all are asked at once.
    pub(crate) async fn catalogues_for(
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
    pub(crate) fn model_of(&self, reference: &str) -> Option<ModelRef> {
        self.entry_of(reference).map(|entry| entry.model)
    }

    /// The same with all that the reference says.
    pub(crate) fn entry_of(&self, reference: &str) -> Option<PanelEntry> {
        let is_provider = |id: &str| self.parts.providers.iter().any(|known| known.0 == id);
        let default = self.parts.providers.first()?;
        PanelEntry::parse(reference, default, is_provider).ok()
    }
}

/// Refuses a run that nothing is to remember where something has to be remembered of it.
fn check_memory(plan: &RunPlan) -> Result<(), Failure> {
    let needs = match (&plan.idempotency_key, plan.limits.first()) {
        _ if plan.store != StoreMode::None => return Ok(()),
        (Some(_), _) => "an idempotency key".to_owned(),
        (None, Some(limit)) => format!("the limit `{}`", limit.setting),
        (None, None) => return Ok(()),
    };
    let message = format!("{needs} needs a memory of the run, and `store` is `none`");
    Err(Failure::new(Code::Usage, message).with_next("use `--store metadata`, which keeps no texts"))
}
