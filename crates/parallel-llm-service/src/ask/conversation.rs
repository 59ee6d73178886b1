//! Follow-ups: the conversation of a stored run goes on with a further question, which is a run of its own.
//!
//! The one place for every door. Invariants: the panel, the synthesizers and the strategy, or the stages of the flow, are
//! those of the earlier run, unless the question names its own or a preset; its files stay in the conversation; and a principal goes on only
//! from a run that it may read.

use std::sync::Arc;

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::plan::flow::{PlannedFlow, Stage};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::flow::{Flow, FlowStage, STAGE_CHAIN_MAX};
use parallel_llm_engine::request::strategy::AUTO;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, Message, Role, RunId, RunPlan, RunRequest, Seat, SeatNumber};

use super::Asking;

/// How the name of a run begins that is counted from the newest.
const NEWEST: char = '@';

/// What was said in a run, and who said it.
pub(super) struct Conversation {
    pub(super) run_id: RunId,
    /// Its messages, and its final text as the reply.
    messages: Vec<Message>,
    plan: Arc<RunPlan>,
    /// The synthesizers of its text.
    chain: Vec<Seat>,
    strategy: String,
}

impl Asking {
    /// The conversation of a run, found as by [`crate::History::find`]. Fails if the run has no answer or its texts were
    /// not kept.
    pub(super) async fn conversation(
        &self,
        name: &str,
        request: &RunRequest,
    ) -> Result<Conversation, Failure> {
        let run = self.continued(name, request).await?;
        let run_id = run.plan.run_id;
        if run.status == RunStatus::Running && !run.is_decided() {
            let failure = Failure::new(Code::Busy, format!("the run {run_id} has no answer yet"));
            return Err(failure.with_run(run_id).with_next(Operation::WaitForRun));
        }
        if run.plan.store != StoreMode::Full {
            let message =
                format!("the texts of run {run_id} were not kept, so its conversation cannot go on");
            return Err(Failure::new(Code::Usage, message).with_run(run_id).with_next(Operation::KeepTexts));
        }
        let Some(answer) = run.outcome.as_ref().and_then(|outcome| outcome.text.as_deref()) else {
            let failure = Failure::new(Code::Usage, format!("the run {run_id} has no answer to go on from"));
            return Err(failure.with_run(run_id).with_next(Operation::Resume));
        };
        let reply = Message::text(Role::Assistant, answer);
        let said = run.plan.messages.iter().skip(usize::from(run.plan.has_instructions));
        Ok(Conversation {
            run_id,
            messages: said.cloned().chain([reply]).collect(),
            chain: run.chain().to_vec(),
            strategy: strategy(&run),
            plan: run.plan,
        })
    }
}

impl Asking {
    /// The run that a question goes on from. `@` is a follow-up itself once that has begun: whoever sends it again, under its
    /// key or because it got no answer, means the run from which it went on.
    async fn continued(&self, name: &str, request: &RunRequest) -> Result<Run, Failure> {
        let is_relative = name.starts_with(NEWEST);
        if let Some(key) = request.idempotency_key.as_deref().filter(|_| is_relative) {
            let asked_by = self.history.principal.name();
            let known = self.history.store.get().await?.find_keyed(asked_by, key).await?;
            if let Some(id) = known
                && let Some(before) = self.history.find(&id.to_string()).await?.run().plan.continues
            {
                return Ok(self.history.find(&before.to_string()).await?.run());
            }
        }
        let run = self.history.find(name).await?.run();
        let has_text = run.outcome.as_ref().is_some_and(|outcome| outcome.text.is_some());
        let is_same = run.plan.messages.last() == request.messages.last();
        match run.plan.continues.filter(|_| is_relative && is_same && !has_text) {
            Some(before) => Ok(self.history.find(&before.to_string()).await?.run()),
            None => Ok(run),
        }
    }
}

/// The strategy as the user gave it: `auto` chooses anew for each question.
fn strategy(run: &Run) -> String {
    match run.plan.chosen_because {
        Some(_) => AUTO.to_owned(),
        None => run.plan.strategy_choice().to_string(),
    }
}

impl Conversation {
    /// Puts the conversation in front of the question. Unless both are kept, system messages of the question replace the
    /// earlier ones, because many models take only one.
    pub(super) fn precede(&mut self, request: &mut RunRequest, keeps_system: bool) {
        let is_system = |message: &Message| message.role == Role::System;
        let (instructions, question): (Vec<_>, Vec<_>) = std::mem::take(&mut request.messages)
            .into_iter()
            .partition(|message| !keeps_system && is_system(message));
        if !instructions.is_empty() {
            self.messages.retain(|message| !is_system(message));
        }
        let earlier = std::mem::take(&mut self.messages);
        request.messages = instructions.into_iter().chain(earlier).chain(question).collect();
    }

    /// Makes the panel, the synthesizers and the strategy of the conversation the defaults of the question, or its flow,
    /// unless the question names what a flow decides. They count as settings: a model that is no longer offered only fails
    /// its own seat.
    pub(super) fn fill(&self, request: &RunRequest, defaults: &mut Defaults) {
        let again = |seat: &Seat| {
            let mut entry = seat.entry();
            // An option that the question names is for every seat.
            entry.options.temperature = entry.options.temperature.filter(|_| request.temperature.is_none());
            entry.options.effort = entry.options.effort.filter(|_| request.effort.is_none());
            entry
        };
        let written = |seats: &[Seat]| seats.iter().map(|seat| again(seat).to_string()).collect();
        defaults.panel = written(&self.plan.seats);
        defaults.synthesizers = written(&self.chain);
        defaults.strategy.clone_from(&self.strategy);
        let names_its_own = request.models.is_some() || request.strategy.is_some();
        if let Some(flow) = self.plan.flow.as_ref().filter(|_| !names_its_own) {
            // A flow says how long its replies may be.
            let capped = |seat: &Seat| {
                let mut entry = again(seat);
                entry.options.max_tokens = Some(seat.max_tokens).filter(|_| request.max_tokens.is_none());
                entry.to_string()
            };
            defaults.flow = Some(self.written(flow, capped));
            // What was allowed once is not allowed again.
            defaults.budget = self.plan.budget.min(defaults.budget);
        }
    }

    /// The flow written again with the models that were asked.
    fn written(&self, planned: &PlannedFlow, again: impl Fn(&Seat) -> String) -> Flow {
        let models = |seats: &[Seat], numbers: &[SeatNumber]| -> Vec<String> {
            numbers.iter().filter_map(|number| seats.get(number.index())).map(&again).collect()
        };
        let stage = |stage: &Stage| {
            // One named by hand stands in front of a chain that may be as long as a flow may write it.
            let chain = models(&self.plan.synthesizers, &stage.synthesizers);
            let chain: Vec<String> = chain.into_iter().take(STAGE_CHAIN_MAX).collect();
            FlowStage {
                name: stage.name.clone(),
                from: stage.from.iter().filter_map(|read| Some(planned.stage(*read)?.name.clone())).collect(),
                panel: models(&self.plan.seats, &stage.seats),
                strategy: Some(stage.strategy_choice().to_string()),
                synthesizer: Some(chain).filter(|chain| !chain.is_empty()),
                ..FlowStage::default()
            }
        };
        Flow { name: planned.name.clone(), about: None, stages: planned.stages.iter().map(stage).collect() }
    }
}
