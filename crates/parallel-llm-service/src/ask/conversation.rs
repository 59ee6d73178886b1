//! Follow-ups: the conversation of a stored run goes on with a further question, which is a run of its own.
//!
//! The one place for every door. Invariants: the panel, the synthesizers and the strategy are those of the earlier
//! run, unless the question names its own or a preset; its files stay in the conversation; and a principal goes on only
//! from a run that it may read.

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::strategy::AUTO;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, Message, PanelEntry, Role, RunId, RunRequest, Seat};

use super::Asking;

/// What was said in a run, and who said it.
pub(super) struct Conversation {
    pub(super) run_id: RunId,
    /// Its messages, and its final text as the reply.
    messages: Vec<Message>,
    panel: Vec<PanelEntry>,
    synthesizers: Vec<PanelEntry>,
    strategy: String,
}

impl Asking {
    /// The conversation of a run, found as by [`crate::History::find`]. Fails if the run has no answer or its texts were
    /// not kept.
    pub(super) async fn conversation(&self, name: &str) -> Result<Conversation, Failure> {
        let run = self.history.find(name).await?.run();
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
        let entries = |seats: &[Seat]| seats.iter().map(Seat::entry).collect();
        Ok(Conversation {
            run_id,
            messages: run.plan.messages.iter().cloned().chain([reply]).collect(),
            panel: entries(&run.plan.seats),
            synthesizers: entries(run.chain()),
            strategy: strategy(&run),
        })
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
    /// Puts the conversation in front of the question. Instructions of the question replace the earlier ones, because
    /// many models take only one system message.
    pub(super) fn precede(&mut self, request: &mut RunRequest) {
        let is_system = |message: &Message| message.role == Role::System;
        let (instructions, question): (Vec<_>, Vec<_>) =
            std::mem::take(&mut request.messages).into_iter().partition(is_system);
        if !instructions.is_empty() {
            self.messages.retain(|message| !is_system(message));
        }
        let earlier = std::mem::take(&mut self.messages);
        request.messages = instructions.into_iter().chain(earlier).chain(question).collect();
    }

    /// Makes the panel, the synthesizers and the strategy of the conversation the defaults of the question. They count as
    /// settings: a model that is no longer offered only fails its own seat.
    pub(super) fn fill(&self, request: &RunRequest, defaults: &mut Defaults) {
        let again = |entry: &PanelEntry| {
            let mut entry = entry.clone();
            // An option that the question names is for every seat.
            entry.options.temperature = entry.options.temperature.filter(|_| request.temperature.is_none());
            entry.options.effort = entry.options.effort.filter(|_| request.effort.is_none());
            entry.to_string()
        };
        defaults.panel = self.panel.iter().map(again).collect();
        defaults.synthesizers = self.synthesizers.iter().map(again).collect();
        defaults.strategy.clone_from(&self.strategy);
    }
}
