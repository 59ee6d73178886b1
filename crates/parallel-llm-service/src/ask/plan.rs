//! Planning: resolves a request into a plan.

use std::sync::Arc;

use parallel_llm_engine::plan::flow::Stage;
use parallel_llm_engine::plan::{Defaults, Terms};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::flow::FlowError;
use parallel_llm_engine::request::strategy::StrategyChoice;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, Message, Role, RunPlan, RunRequest, Seat};

use super::conversation::Conversation;
use super::fitness::{self, Typed};
use crate::access::Principal;
use crate::models::lists::{KnownLists, Lists};
use crate::models::naming::InFull;
use crate::recursion;
use crate::runs::CalibrationFile;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::{FlowErrors, Named, NamedFlow, Settings};

/// A question as a door passes it.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The question and its options.
    pub request: RunRequest,
    /// A preset or flow for the options that the request leaves open.
    pub preset: Option<String>,
    /// A flow in place of a preset, from a file that the owner named.
    pub flow: Option<Box<NamedFlow>>,
    /// The run whose conversation goes on, as in [`crate::History::run_id`].
    pub continues: Option<String>,
    /// Whether the system messages of that conversation stay beside those of the question.
    pub keeps_system: bool,
    /// A system message for this question alone, in front of all others: a conversation goes on without it.
    pub instructions: Option<String>,
    /// What readers of the run must know of how the question was made.
    pub notes: Vec<Warning>,
    /// The greatest age of a cached answer to the very same question, in milliseconds; `None` to ask again.
    pub cache_ms: Option<u64>,
}

impl Question {
    /// A question without preset, conversation and cache.
    pub fn of(request: RunRequest) -> Self {
        Self { request, ..Self::default() }
    }
}

/// Plans questions for one principal.
#[derive(Clone)]
pub(crate) struct Planner {
    pub(crate) principal: Principal,
    /// Whether the owner may use the check command.
    pub(crate) checks: bool,
    pub(crate) lists: Lists,
    pub(crate) calibration: Arc<CalibrationFile>,
}

impl Planner {
    pub(crate) fn settings(&self) -> &Settings {
        &self.lists.providers.settings
    }

    /// The plan of a question after a conversation, if there is one; its worst case may exceed its budget.
    pub(super) async fn plan(
        &self,
        mut question: Question,
        mut conversation: Option<Conversation>,
    ) -> Result<Planned, Failure> {
        recursion::check(&question.request.lineage.via)?;
        self.principal.check_request(&question.request, self.settings().budget)?;
        fitness::check_reach(&self.lists.providers, &self.principal, &question.request)?;
        let has_instructions = question.instructions.is_some();
        let source = self.source(&question);
        let notes = std::mem::take(&mut question.notes);
        let (request, defaults) = self.filled(question, &mut conversation)?;
        let mut planned =
            self.checked_plan(request, defaults).await.map_err(|why| why.failure(source.as_ref()))?;
        let plan = &mut planned.plan;
        plan.has_instructions = has_instructions;
        plan.warnings.extend(notes);
        plan.continues = conversation.map(|conversation| conversation.run_id);
        Ok(planned)
    }

    /// The plan of a question as if every key and command were there, so that it can be shown.
    pub(super) async fn sketch(&self, question: Question) -> Result<RunPlan, Failure> {
        let source = self.source(&question);
        let (request, defaults) = self.filled(question, &mut None)?;
        let drafted = self.draft(request, defaults).await;
        drafted.map(|draft| draft.plan).map_err(|why| why.failure(source.as_ref()))
    }

    /// The plan of a flow as it is in its file, or every mistake in the file.
    pub(super) async fn check_flow(
        &self,
        flow: &NamedFlow,
        request: RunRequest,
    ) -> Result<RunPlan, FlowErrors> {
        let mut defaults = self.defaults();
        flow.fill(&mut defaults);
        let drafted = self.draft(request, defaults).await;
        drafted.map(|draft| draft.plan).map_err(|why| match why {
            Unplanned::Flow(errors) => flow.refused(errors),
            Unplanned::Other(failure) => flow.refused_whole(failure),
        })
    }

    /// The file of the flow that a question goes through, if it names one.
    fn source(&self, question: &Question) -> Option<NamedFlow> {
        let by_name = |name: &String| match self.settings().named(name) {
            Ok(Named::Flow(flow)) => Some(flow.clone()),
            _ => None,
        };
        let by_path = question.flow.as_deref().cloned();
        by_path.or_else(|| question.preset.as_ref().and_then(by_name))
    }

    /// The request of a question, and the values for what it leaves open.
    fn filled(
        &self,
        question: Question,
        conversation: &mut Option<Conversation>,
    ) -> Result<(RunRequest, Defaults), Failure> {
        let Question { mut request, preset, flow, keeps_system, instructions, .. } = question;
        let mut defaults = self.defaults();
        defaults.limits = self.day_limits();
        if let Some(conversation) = conversation {
            conversation.precede(&mut request, keeps_system);
        }
        if let Some(instructions) = instructions {
            request.messages.insert(0, Message::text(Role::System, instructions));
        }
        match (flow, preset, &conversation) {
            (Some(flow), ..) => {
                flow.fill(&mut defaults);
                request.preset = Some(flow.flow.name.clone());
            }
            (None, Some(name), _) => {
                self.settings().named(&name)?.fill(&mut request, &mut defaults);
                request.preset = Some(name);
            }
            (None, None, Some(conversation)) => conversation.fill(&request, &mut defaults),
            (None, None, None) => {}
        }
        if self.principal != Principal::Owner {
            // A preset's budget is meant for the owner's runs only.
            defaults.budget = defaults.budget.min(self.settings().budget);
        }
        Ok((request, defaults))
    }

    /// The plan of a request with these defaults; its worst case may exceed its budget.
    pub(crate) async fn plan_with(
        &self,
        request: RunRequest,
        defaults: Defaults,
    ) -> Result<RunPlan, Failure> {
        let planned = self.checked_plan(request, defaults).await;
        planned.map(|planned| planned.plan).map_err(|why| why.failure(None))
    }

    async fn checked_plan(&self, request: RunRequest, defaults: Defaults) -> Result<Planned, Unplanned> {
        let providers = &self.lists.providers;
        let Draft { mut plan, typed, lists } = self.draft(request, defaults).await?;
        self.check_checker(checking(&plan))?;
        plan.models().map(|seat| &seat.model.provider).try_for_each(|id| providers.check_apart(id))?;
        fitness::check_inputs(providers, &plan, typed)?;
        fitness::check_keys(providers, &typed.seats(&plan), &plan.seats.iter().collect::<Vec<_>>()).await?;
        check_store(&plan)?;
        plan.warnings.extend(fitness::check_wait(self.settings(), &plan)?);
        let groups: [(&str, &[Seat]); 3] = [
            ("seat", &*plan.seats),
            ("synthesizer", &*plan.synthesizers),
            ("equivalence model", plan.equivalence.as_slice()),
        ];
        let unable = fitness::inabilities(providers, &plan.routing, &groups);
        plan.warnings.extend(unable);
        plan.warnings.extend(self.calibration.warning().await);
        plan.warnings.extend(fitness::unpriced(&plan.worst_case));
        let old = lists.old_prices(plan.models());
        plan.warnings.extend(old);
        let unlisted = plan.worst_case.unpriced().first().and_then(|model| lists.failure_of(model)).cloned();
        Ok(Planned { plan, unlisted })
    }

    /// The resolved request, and the parts that this call names. Whether they can be asked is not checked.
    async fn draft(&self, mut request: RunRequest, mut defaults: Defaults) -> Result<Draft, Unplanned> {
        request.asked_by = self.principal.name().map(str::to_owned);
        // A call that stores no texts writes none to files either, unless it asks for files.
        let stored = request.store.unwrap_or(self.settings().store) == StoreMode::Full;
        let has_files = stored && self.principal == Principal::Owner;
        request.files = request.files.or_else(|| (!has_files).then_some(false));
        let InFull { lists, mut flow_errors } = self.lists.name_in_full(&mut request, &mut defaults).await?;
        let providers = self.lists.providers.ids();
        let terms = Terms { defaults: &defaults, providers, catalogues: &lists.catalogues };
        if let Some(flow) = &defaults.flow {
            flow_errors.extend(RunPlan::flow_errors(flow, &terms));
        }
        if !flow_errors.is_empty() {
            return Err(Unplanned::Flow(flow_errors));
        }
        let identity = clock::new_identity()?;
        let typed = Typed::of(&request);
        let plan = RunPlan::draft(request, &terms, identity)?;
        Ok(Draft { plan, typed, lists })
    }
}

/// A plan that can be asked, and why the list is missing that would tell a price that is unknown.
pub(super) struct Planned {
    pub(super) plan: RunPlan,
    pub(super) unlisted: Option<Failure>,
}

/// A plan, the parts that its call names, and what is known of its models.
struct Draft {
    plan: RunPlan,
    typed: Typed,
    lists: KnownLists,
}

/// Why a request cannot be planned.
enum Unplanned {
    /// The flow is wrong, which its file can show.
    Flow(Vec<FlowError>),
    Other(Failure),
}

impl From<Failure> for Unplanned {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl Unplanned {
    /// The failure, with the places in the file of the flow. A conversation goes through a flow that has no file.
    fn failure(self, source: Option<&NamedFlow>) -> Failure {
        match (self, source) {
            (Self::Flow(errors), Some(source)) => source.refused(errors).failure(),
            (Self::Flow(errors), None) => {
                let first = errors.into_iter().next();
                first.map(|error| error.failure).expect("it is refused for an error")
            }
            (Self::Other(failure), _) => failure,
        }
    }
}

/// The strategy of the plan; of a flow, that of a stage that checks answers, if there is one.
fn checking(plan: &RunPlan) -> StrategyChoice {
    let mut stages = plan.flow.iter().flat_map(|flow| &flow.stages).map(Stage::strategy_choice);
    stages.find(|strategy| strategy.options.is_checked()).unwrap_or(plan.strategy_choice())
}

/// Fails for a run that is not stored but needs to be, for an idempotency key or a daily limit.
fn check_store(plan: &RunPlan) -> Result<(), Failure> {
    let needs = match (&plan.idempotency_key, plan.limits.first()) {
        _ if plan.store != StoreMode::None => return Ok(()),
        (Some(_), _) => "an idempotency key".to_owned(),
        (None, Some(limit)) => format!("the limit `{}`", limit.setting),
        (None, None) => return Ok(()),
    };
    let message = format!("{needs} needs the run to be stored, and `store` is `none`");
    Err(Failure::new(Code::Usage, message).with_next(Operation::KeepFacts))
}
