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

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::{Argument, Next};
use parallel_llm_engine::{Code, Effort, Failure, Lineage, Message, Role, RunId, RunRequest};
use parallel_llm_service::Question;
use parallel_llm_service::form::{self, Field, Given};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

pub(crate) use body::read;
pub(crate) use chat::{ChatRequest, NEUTRAL_IN_MESSAGE, NEUTRAL_IN_OPTIONS};
pub(crate) use fields::{NEUTRAL_IN_CHAT, NEUTRAL_IN_RESPONSES, Neutral};
pub(crate) use own::{Own, Progress, run_id};
pub(crate) use query::{Parameters, check_parameters};
pub(crate) use responses::{NEUTRAL_IN_ITEM, NEUTRAL_IN_REASONING, ResponsesRequest};

use crate::caller::Caller;
use crate::model::Model;
use crate::refusal::Refusal;

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
        let request = RunRequest {
            messages,
            models: model.models,
            strategy: model.strategy,
            max_tokens,
            effort,
            client_timeout_ms: caller.client_timeout.map(millis),
            store: store.map(|stores| if stores { StoreMode::Full } else { StoreMode::Metadata }),
            lineage: Lineage { via: caller.via.clone(), trace: caller.trace.clone(), ..Lineage::default() },
            ..RunRequest::default()
        };
        // All items of a response stay in its conversation, as OpenAI has it.
        let keeps_system = continues.is_some();
        let continues = continues.or(own.continued()?).map(|id| id.to_string());
        let preset = model.preset;
        let mut question =
            Question { request, preset, continues, keeps_system, instructions, ..Question::default() };
        if let Some(temperature) = temperature {
            set(&mut question, "temperature", &temperature.into())?;
        }
        own.set(&mut question)?;
        let of_header = caller.idempotency_key.clone();
        // A key that a client makes for its own repetitions is no wish to have the run stored.
        let is_stored = question.request.store.unwrap_or(settings.store) != StoreMode::None;
        let of_header = of_header.filter(|key| is_stored || !Caller::is_automatic(key));
        question.request.idempotency_key = question.request.idempotency_key.or(of_header);
        let progress = own.progress.unwrap_or_else(|| Progress::by_word(&settings.stream_progress));
        Ok(Asked { question, model: name, progress })
    }
}

/// The schema of a field that an option of a question has; `null` counts as left out.
pub(crate) fn schema_of(field: &Field) -> Schema {
    json_schema!({ "anyOf": [field.kind.schema(), { "type": "null" }], "description": field.about })
}

fn schema_of_effort(_: &mut SchemaGenerator) -> Schema {
    schema_of(&form::option("effort").field)
}

/// Sets an option of the question, from a field of its own name.
fn set(question: &mut Question, name: &'static str, value: &Value) -> Result<(), Refusal> {
    let option = form::option(name);
    let given = option.field.read(&format!("`{name}`"), value);
    given
        .and_then(|given| option.set(question, given))
        .map_err(|failure| Refusal::field(name, "invalid_value", failure))
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

/// The output cap of this name.
fn check_cap(name: &'static str, cap: Option<u32>) -> Result<Option<u32>, Refusal> {
    let Some(tokens) = cap else { return Ok(None) };
    let given = form::option("max_tokens").field.read(&format!("`{name}`"), &tokens.into());
    given.map(Given::tokens).map_err(|failure| Refusal::field(name, "invalid_value", failure))
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
