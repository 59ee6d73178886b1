//! The request of `POST /v1/chat/completions`.

use std::collections::BTreeMap;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Effort, Failure, Message, Role};
use parallel_llm_service::attachment::Attachments;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::content::{Content, Place};
use super::fields::{self, NEUTRAL_IN_CHAT, Neutral, Rest};
use super::own::Own;
use super::{Asked, Options, last_is_users, required};
use crate::caller::Caller;
use crate::model::PREFIX;
use crate::refusal::Refusal;

/// A chat completion, as it is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "what is accepted and not used is read for its type")]
pub(crate) struct ChatRequest {
    /// The panel: `panel/` and the name of a preset, a flow or a strategy, or models joined by `+`.
    #[schemars(required, with = "String")]
    model: Option<String>,
    /// The conversation. The last message is the question, and the user's.
    #[schemars(length(min = 1))]
    #[schemars(required, with = "Vec<ChatMessage>")]
    messages: Option<Vec<ChatMessage>>,
    /// Whether the answer is streamed.
    pub(crate) stream: Option<bool>,
    /// Options of the stream.
    stream_options: Option<StreamOptions>,
    /// Sampling temperature of each model.
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    /// Output cap of each call in tokens, reasoning included.
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
    /// The same by its newer name.
    #[schemars(range(min = 1))]
    max_completion_tokens: Option<u32>,
    /// How hard the models think.
    #[serde(default)]
    #[schemars(schema_with = "super::schema_of_effort")]
    reasoning_effort: Option<Effort>,
    /// Whether the texts are kept. `false` keeps costs and reasons only; by default the settings decide.
    store: Option<bool>,
    /// Accepted and not used.
    metadata: Option<BTreeMap<String, String>>,
    /// Accepted and not used.
    user: Option<String>,
    /// Accepted and not used.
    safety_identifier: Option<String>,
    /// Accepted and not used.
    prompt_cache_key: Option<String>,
    /// Options of this program.
    parallel_llm: Option<Own>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// Options of a stream.
#[derive(Debug, Deserialize, JsonSchema)]
struct StreamOptions {
    /// Whether a last chunk gives the tokens.
    include_usage: Option<bool>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// A message of the conversation.
#[derive(Debug, Deserialize, JsonSchema)]
struct ChatMessage {
    /// Who speaks.
    role: ChatRole,
    /// What is said.
    content: Option<Content>,
    /// What an earlier answer said instead of content.
    refusal: Option<String>,
    /// The reasoning of an earlier answer, which is not sent.
    reasoning_content: Option<String>,
    /// Marks of an earlier answer, which are not sent.
    annotations: Option<Vec<Value>>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// The speakers that a panel knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChatRole {
    System,
    Developer,
    User,
    Assistant,
}

/// Fields of a message that change nothing when they are empty.
pub(crate) const NEUTRAL_IN_MESSAGE: &[Neutral] = &[
    Neutral { name: "tool_calls", values: &["[]"], why: "a panel calls no tools" },
    Neutral { name: "function_call", values: &[], why: "a panel calls no tools" },
    Neutral { name: "audio", values: &[], why: "a panel answers in text" },
    Neutral { name: "name", values: &[], why: "the models of a panel are not told names" },
];

/// Such fields of the options of a stream.
pub(crate) const NEUTRAL_IN_OPTIONS: &[Neutral] =
    &[Neutral { name: "include_obfuscation", values: &["false"], why: "there is no padding" }];

impl ChatRequest {
    /// Whether a stream ends with the tokens.
    pub(crate) fn includes_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or_default()
    }

    /// Whether the name of the model is a panel's.
    pub(crate) fn names_panel(&self) -> bool {
        self.model.as_ref().is_some_and(|model| model.starts_with(PREFIX))
    }

    /// Names the default panel instead of the model.
    pub(crate) fn ask_default_panel(&mut self) {
        self.model = Some(format!("{PREFIX}default"));
    }

    /// The question.
    pub(crate) fn ask(self, caller: &Caller) -> Result<Asked, Refusal> {
        fields::check::<Self>("", &self.rest, NEUTRAL_IN_CHAT)?;
        if let Some(options) = &self.stream_options {
            fields::check::<StreamOptions>("stream_options.", &options.rest, NEUTRAL_IN_OPTIONS)?;
            if !self.stream.unwrap_or_default() {
                return Err(super::without_stream());
            }
        }
        let (model, messages) = (required("model", self.model)?, required("messages", self.messages)?);
        let max_tokens = max_tokens(self.max_tokens, self.max_completion_tokens)?;
        let mut files = Attachments::new(caller.services.settings.attachment_bytes_max);
        let read = |(index, message): (usize, ChatMessage)| message.read(index, &mut files);
        let messages = messages.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        last_is_users(&messages, "messages")?;
        let options = Options {
            model,
            temperature: self.temperature,
            max_tokens,
            effort: self.reasoning_effort,
            store: self.store,
            continues: None,
            instructions: None,
            own: self.parallel_llm.unwrap_or_default(),
        };
        options.ask(caller, messages)
    }
}

/// The output cap of both its names.
fn max_tokens(older: Option<u32>, newer: Option<u32>) -> Result<Option<u32>, Refusal> {
    if let (Some(older), Some(newer)) = (older, newer)
        && older != newer
    {
        let failure = Failure::new(Code::Usage, "`max_tokens` and `max_completion_tokens` are two caps");
        let failure = failure.with_next(Next::LeaveOut("max_tokens".into()));
        return Err(Refusal::field("max_tokens", "invalid_value", failure));
    }
    let name = if newer.is_some() { "max_completion_tokens" } else { "max_tokens" };
    super::check_cap(name, newer.or(older))
}

impl ChatMessage {
    fn read(self, index: usize, files: &mut Attachments) -> Result<Message, Refusal> {
        let path = format!("messages[{index}]");
        fields::check::<Self>(&format!("{path}."), &self.rest, NEUTRAL_IN_MESSAGE)?;
        let role = match self.role {
            ChatRole::System | ChatRole::Developer => Role::System,
            ChatRole::User => Role::User,
            ChatRole::Assistant => Role::Assistant,
        };
        if role != Role::Assistant {
            let given = [
                ("refusal", self.refusal.is_some()),
                ("reasoning_content", self.reasoning_content.is_some()),
                ("annotations", self.annotations.is_some()),
            ];
            if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                let failure = Failure::new(Code::Usage, format!("only an answer has `{name}`"));
                let failure = failure.with_next(Next::LeaveOut(name.into()));
                return Err(Refusal::field(format!("{path}.{name}"), "unknown_parameter", failure));
            }
        }
        let content = self.content.or_else(|| self.refusal.map(Content::Text)).ok_or_else(|| {
            let failure = Failure::new(Code::Usage, format!("`{path}.content` is missing"));
            Refusal::field(format!("{path}.content"), "missing_required_parameter", failure)
        })?;
        content.message(Place { path: &format!("{path}.content"), role }, files)
    }
}
