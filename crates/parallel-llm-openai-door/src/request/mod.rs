//! Requests as clients of OpenAI write them, read into questions of the service.
//!
//! [`body`] parses, [`query`] reads what an address has, [`fields`] refuses what cannot be honoured, [`chat`] and [`responses`] are the two protocols, [`content`]
//! is what their messages share and [`own`] what this program adds. Invariant: every field is honoured, named in the table of
//! fields that may be neutral, or refused; no URL is fetched.

mod body;
mod chat;
mod content;
mod fields;
mod own;
mod query;
mod responses;
mod unique;

use std::time::Duration;

use parallel_llm_engine::request::{OUTPUT_TOKENS_MAX, StoreMode};
use parallel_llm_engine::value::next::{Argument, Next};
use parallel_llm_engine::{Code, Effort, Failure, Lineage, Message, Role, RunId, RunRequest};
use parallel_llm_service::Question;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use body::read;
pub(crate) use chat::{ChatRequest, NEUTRAL_IN_MESSAGE, NEUTRAL_IN_OPTIONS};
pub(crate) use fields::{NEUTRAL_IN_CHAT, NEUTRAL_IN_RESPONSES, Neutral};
pub(crate) use own::{Own, Progress, run_id};
pub(crate) use query::{Parameters, check_parameters};
pub(crate) use responses::{NEUTRAL_IN_ITEM, NEUTRAL_IN_REASONING, ResponsesRequest};

use crate::caller::Caller;
use crate::model::Model;
use crate::refusal::Refusal;

/// The highest sampling temperature.
const TEMPERATURE_MAX: f64 = 2.0;

/// A question of either protocol, ready to be asked.
pub(crate) struct Asked {
    pub(crate) question: Question,
    /// The name of the model, as the answer repeats it.
    pub(crate) model: String,
    /// How the progress of the panel is shown in a stream.
    pub(crate) progress: Progress,
}

/// The options that both protocols have.
pub(super) struct Options {
    pub(super) model: String,
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: Option<u32>,
    pub(super) effort: Option<Effort>,
    pub(super) store: Option<bool>,
    /// The response whose conversation goes on.
    pub(super) continues: Option<RunId>,
    /// Instructions for this question alone.
    pub(super) instructions: Option<String>,
    pub(super) own: Own,
}

impl Options {
    /// The question of these messages.
    pub(super) fn ask(self, caller: &Caller, messages: Vec<Message>) -> Result<Asked, Refusal> {
        let Self { model: name, temperature, max_tokens, effort, store, continues, instructions, own } = self;
        let settings = &caller.services.settings;
        let model = Model::read(settings, &name)
            .map_err(|failure| Refusal::from(failure).at(|_| Some("model".to_owned())))?;
        own.check()?;
        if temperature.is_some_and(|value| !(0.0..=TEMPERATURE_MAX).contains(&value)) {
            let failure = Failure::new(Code::Usage, "`temperature` is a number from 0 to 2");
            let next = Next::Example("0.7".into());
            return Err(Refusal::field("temperature", "invalid_value", failure.with_next(next)));
        }
        let stored_of_caller = store.map(|stores| if stores { StoreMode::Full } else { StoreMode::Metadata });
        let store = own.store_mode().or(stored_of_caller);
        let of_header = caller.idempotency_key.clone();
        // A key that a client makes for its own repetitions is no wish to have the run stored.
        let is_stored = store.unwrap_or(settings.store) != StoreMode::None;
        let of_header = of_header.filter(|key| is_stored || !Caller::is_automatic(key));
        let request = RunRequest {
            messages,
            models: model.models,
            synthesizer: own.synthesizer.clone(),
            strategy: own.strategy_beside(model.strategy)?,
            temperature,
            max_tokens,
            effort,
            deadline_ms: own.deadline_s.map(|seconds| seconds.saturating_mul(1000)),
            client_timeout_ms: caller.client_timeout.map(millis),
            budget: own.budget()?,
            store,
            idempotency_key: own.idempotency_key.clone().or(of_header),
            lineage: Lineage { via: caller.via.clone(), trace: caller.trace.clone(), ..Lineage::default() },
            fresh: own.fresh.unwrap_or_default(),
            ..RunRequest::default()
        };
        // All items of a response stay in its conversation, as OpenAI has it.
        let keeps_system = continues.is_some();
        let continues = continues.or(own.continued()?).map(|id| id.to_string());
        let progress = own.progress.unwrap_or_else(|| Progress::by_word(&settings.stream_progress));
        let preset = model.preset;
        let question =
            Question { request, preset, continues, keeps_system, instructions, ..Question::default() };
        Ok(Asked { question, model: name, progress })
    }
}

/// How hard the models think.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffortWord {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl EffortWord {
    const fn effort(self) -> Effort {
        match self {
            Self::None => Effort::None,
            Self::Minimal => Effort::Minimal,
            Self::Low => Effort::Low,
            Self::Medium => Effort::Medium,
            Self::High => Effort::High,
            Self::Xhigh => Effort::Xhigh,
            Self::Max => Effort::Max,
        }
    }
}

/// A field that a request must have.
fn required<T>(name: &'static str, value: Option<T>) -> Result<T, Refusal> {
    value.ok_or_else(|| {
        let failure = Failure::new(Code::Usage, format!("`{name}` is missing"));
        Refusal::field(name, "missing_required_parameter", failure)
    })
}

/// The refusal of options of a stream that is not asked for.
fn without_stream() -> Refusal {
    let failure = Failure::new(Code::Usage, "`stream_options` belongs to a stream, and `stream` is not true");
    let failure = failure.with_next(Next::LeaveOut("stream_options".into()));
    Refusal::field("stream_options", "invalid_value", failure)
}

/// The output cap of this name, which is above 0.
fn check_cap(name: &'static str, cap: Option<u32>) -> Result<Option<u32>, Refusal> {
    if cap.is_some_and(|tokens| !(1..=OUTPUT_TOKENS_MAX).contains(&tokens)) {
        let message = format!("`{name}` is a whole number from 1 to {OUTPUT_TOKENS_MAX}");
        let failure = Failure::new(Code::Usage, message);
        return Err(Refusal::field(name, "invalid_value", failure.with_next(Next::Example("16000".into()))));
    }
    Ok(cap)
}

/// Fails unless the last message is the user's: a panel does not go on with an answer begun by another.
fn last_is_users(messages: &[Message], field: &'static str) -> Result<(), Refusal> {
    if messages.last().is_some_and(|message| message.role == Role::User) {
        return Ok(());
    }
    let failure = Failure::new(Code::Usage, format!("the last message of `{field}` is not the user's"));
    Err(Refusal::field(field, "invalid_value", failure.with_next(Next::Give(Argument::Prompt))))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
