//! The request of `POST /v1/responses`.

use std::collections::BTreeMap;
use std::fmt;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Effort, Failure, Message, Role};
use parallel_llm_service::attachment::Attachments;
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::content::{Content, Place, missing};
use super::fields::{self, NEUTRAL_IN_RESPONSES, Neutral, Rest};
use super::own::{self, Own};
use super::{Asked, Options, check_cap, last_is_users, required};
use crate::caller::Caller;
use crate::refusal::Refusal;

/// A response, as it is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "what is accepted and not used is read for its type")]
pub(crate) struct ResponsesRequest {
    /// The panel: `panel/` and the name of a preset, a flow or a strategy, or models joined by `+`.
    #[schemars(required, with = "String")]
    pub(crate) model: Option<String>,
    /// The question, or the conversation that ends with it.
    #[schemars(required, with = "Input")]
    input: Option<Input>,
    /// Instructions for the whole conversation.
    pub(crate) instructions: Option<String>,
    /// Whether the answer is streamed.
    pub(crate) stream: Option<bool>,
    /// Sampling temperature of each model.
    #[schemars(range(min = 0, max = 2))]
    pub(crate) temperature: Option<f64>,
    /// Output cap of each call in tokens, reasoning included.
    #[schemars(range(min = 1))]
    pub(crate) max_output_tokens: Option<u32>,
    /// How hard the models think.
    reasoning: Option<Reasoning>,
    /// The response whose conversation goes on.
    pub(crate) previous_response_id: Option<String>,
    /// Whether the texts are kept. `false` keeps costs and reasons only; by default the settings decide.
    store: Option<bool>,
    /// Repeated in the answer.
    pub(crate) metadata: Option<BTreeMap<String, String>>,
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

/// How hard the models think.
#[derive(Debug, Deserialize, JsonSchema)]
struct Reasoning {
    /// The effort.
    #[serde(default)]
    #[schemars(schema_with = "super::schema_of_effort")]
    effort: Option<Effort>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// The input: a text, or messages.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
enum Input {
    /// The question.
    Text(String),
    /// The conversation in items.
    Items(Vec<InputItem>),
}

/// A message of the input, or the reasoning of an earlier response, which is not sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "what is accepted and not used is read for its type")]
struct InputItem {
    /// `message`, also if it is left out, or `reasoning`.
    #[serde(rename = "type")]
    kind: Option<ItemKind>,
    /// Who speaks in a message.
    role: Option<ItemRole>,
    /// What is said in a message. Reasoning has none.
    content: Option<Content>,
    /// The id of an earlier answer, which is not sent.
    id: Option<String>,
    /// The state of an earlier answer, which is not sent.
    status: Option<String>,
    /// The summary of reasoning, which is not sent.
    summary: Option<Vec<Value>>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// The kinds of items that a panel knows.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ItemKind {
    Message,
    Reasoning,
}

/// The speakers that a panel knows.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ItemRole {
    System,
    Developer,
    User,
    Assistant,
}

/// Fields of an item that change nothing when they are empty.
pub(crate) const NEUTRAL_IN_ITEM: &[Neutral] = &[Neutral {
    name: "encrypted_content",
    values: &["\"\""],
    why: "the models of a panel are not told the reasoning of others",
}];

/// Such fields of `reasoning`.
pub(crate) const NEUTRAL_IN_REASONING: &[Neutral] = &[
    Neutral { name: "summary", values: &[], why: "the reasoning of several models is not summarized" },
    Neutral {
        name: "generate_summary",
        values: &[],
        why: "the reasoning of several models is not summarized",
    },
];

impl ResponsesRequest {
    /// The effort in its word, as the answer repeats it.
    pub(crate) fn effort(&self) -> Option<&'static str> {
        Some(self.reasoning.as_ref()?.effort?.word())
    }

    /// The question.
    pub(crate) fn ask(self, caller: &Caller) -> Result<Asked, Refusal> {
        fields::check::<Self>("", &self.rest, NEUTRAL_IN_RESPONSES)?;
        let has_options = self.rest.get("stream_options").is_some_and(|options| !options.is_null());
        if has_options && !self.stream.unwrap_or_default() {
            return Err(super::without_stream());
        }
        if let Some(reasoning) = &self.reasoning {
            fields::check::<Reasoning>("reasoning.", &reasoning.rest, NEUTRAL_IN_REASONING)?;
        }
        let (model, input) = (required("model", self.model)?, required("input", self.input)?);
        let max_tokens = check_cap("max_output_tokens", self.max_output_tokens)?;
        let continues = self.previous_response_id.as_deref().map(own::run_id).transpose();
        let continues = continues.map_err(|failure| {
            Refusal::field("previous_response_id", "previous_response_not_found", failure)
        })?;
        let own = self.parallel_llm.unwrap_or_default();
        if let (Some(previous), Some(other)) = (continues, own.continued()?)
            && previous != other
        {
            return Err(own::goes_on_twice());
        }
        let mut files = Attachments::new(caller.services.settings.attachment_bytes_max);
        let messages = input.read(&mut files)?;
        last_is_users(&messages, "input")?;
        let options = Options {
            model,
            temperature: self.temperature,
            max_tokens,
            effort: self.reasoning.and_then(|reasoning| reasoning.effort),
            store: self.store,
            continues,
            instructions: self.instructions,
            own,
        };
        options.ask(caller, messages)
    }
}

impl Input {
    fn read(self, files: &mut Attachments) -> Result<Vec<Message>, Refusal> {
        match self {
            Self::Text(text) => Ok(vec![Message::text(Role::User, text)]),
            Self::Items(items) => {
                let items = items.into_iter().enumerate();
                items.filter_map(|(index, item)| item.read(index, files).transpose()).collect()
            }
        }
    }
}

impl InputItem {
    /// The message of an item; `None` for reasoning, which the panel does by itself.
    fn read(self, index: usize, files: &mut Attachments) -> Result<Option<Message>, Refusal> {
        let path = format!("input[{index}]");
        fields::check::<Self>(&format!("{path}."), &self.rest, NEUTRAL_IN_ITEM)?;
        if matches!(self.kind, Some(ItemKind::Reasoning)) {
            let is_empty = self.content.as_ref().is_none_or(Content::is_empty);
            let given = [("role", self.role.is_some()), ("content", !is_empty)];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((name, _)) => Err(strange(&path, name, "reasoning of an earlier response")),
                None => Ok(None),
            };
        }
        if self.summary.is_some() {
            return Err(strange(&path, "summary", "a message"));
        }
        let role = match required_in(&path, "role", self.role)? {
            ItemRole::System | ItemRole::Developer => Role::System,
            ItemRole::User => Role::User,
            ItemRole::Assistant => Role::Assistant,
        };
        let content = required_in(&path, "content", self.content)?;
        content.message(Place { path: &format!("{path}.content"), role }, files).map(Some)
    }
}

/// A field that the object at this path must have.
fn required_in<T>(path: &str, name: &str, value: Option<T>) -> Result<T, Refusal> {
    value.ok_or_else(|| missing(path, name))
}

/// The refusal of a field that belongs to another kind of item, which would be ignored.
fn strange(path: &str, name: &'static str, what: &str) -> Refusal {
    let failure = Failure::new(Code::Usage, format!("{what} has no `{name}`"));
    let failure = failure.with_next(Next::LeaveOut(name.into()));
    Refusal::field(format!("{path}.{name}"), "unknown_parameter", failure)
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct InputReader;
        impl<'de> Visitor<'de> for InputReader {
            type Value = Input;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text or a list of items")
            }

            fn visit_str<E>(self, text: &str) -> Result<Input, E> {
                Ok(Input::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Input, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Input::Items)
            }
        }
        source.deserialize_any(InputReader)
    }
}
