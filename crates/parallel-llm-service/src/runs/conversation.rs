//! The conversation of a stored run, for a further question.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::RunStatus;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, Message, Role, RunId};

use super::history::History;

/// What was said in a run.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The run.
    pub run_id: RunId,
    /// Its messages, and its final text as the reply.
    pub messages: Vec<Message>,
}

impl History {
    /// The conversation of a run, found as by [`History::find`]. Fails if the run has no answer or its texts were not
    /// kept.
    pub async fn conversation(&self, name: &str) -> Result<Conversation, Failure> {
        let run = self.find(name).await?.run();
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
        Ok(Conversation { run_id, messages: run.plan.messages.iter().cloned().chain([reply]).collect() })
    }
}
