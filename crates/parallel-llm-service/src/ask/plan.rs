//! Asking: a request is resolved into a plan, and the plan becomes a run under way.

use std::sync::Arc;

use parallel_llm_engine::plan::{Defaults, Terms};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, RunPlan, RunRequest};

use super::fitness::{self, Typed};
use crate::access::Principal;
use crate::models::lists::Lists;
use crate::runs::CalibrationFile;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::Settings;

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

/// Makes plans of questions, for one principal.
#[derive(Clone)]
pub(crate) struct Planner {
    pub(crate) principal: Principal,
    /// Whether the owner may have answers run through the check command.
    pub(crate) checks: bool,
    pub(crate) lists: Lists,
    pub(crate) calibration: Arc<CalibrationFile>,
}

impl Planner {
    pub(super) fn settings(&self) -> &Settings {
        &self.lists.providers.settings
    }

    /// What is asked, resolved; it may cost more than its budget.
    pub(super) async fn plan(&self, question: Question) -> Result<RunPlan, Failure> {
        let (providers, mut request) = (&self.lists.providers, question.request);
        self.principal.check_wishes(&request, self.settings().budget)?;
        fitness::check_reach(providers, &self.principal, &request)?;
        let mut defaults = self.defaults();
        defaults.limits = self.day_limits();
        if let Some(name) = &question.preset {
            self.settings().preset(name)?.fill(&mut request, &mut defaults);
        }
        if self.principal != Principal::Owner {
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
        let providers = &self.lists.providers;
        request.asked_by = self.principal.name().map(str::to_owned);
        // Whoever wants no text stored wants none in files either, unless this call says so.
        let stored = request.store.unwrap_or(self.settings().store) == StoreMode::Full;
        let has_files = stored && self.principal == Principal::Owner;
        request.files = request.files.or_else(|| (!has_files).then_some(false));
        let catalogues = self.lists.for_request(&request, &defaults).await;
        let terms = Terms { defaults: &defaults, providers: providers.ids(), catalogues: &catalogues };
        let identity = clock::new_identity().map_err(|error| {
            Failure::new(Code::Internal, format!("the system gives no random bytes: {error}"))
        })?;
        let typed = Typed::of(&request);
        let mut plan = RunPlan::draft(request, &terms, identity)?;
        self.check_checker(plan.strategy_choice())?;
        fitness::check_inputs(providers, &plan, typed)?;
        fitness::check_keys(providers, &typed.places(&plan), &plan.seats.iter().collect::<Vec<_>>()).await?;
        check_memory(&plan)?;
        plan.warnings.extend(fitness::check_wait(self.settings(), &plan)?);
        let places = [("seat", &*plan.seats), ("synthesizer", &*plan.synthesizers)];
        let unable = fitness::inabilities(providers, &plan.routing, places);
        plan.warnings.extend(unable);
        plan.warnings.extend(self.calibration.warning().await);
        Ok(plan)
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
    Err(Failure::new(Code::Usage, message).with_next(Operation::KeepFacts))
}
