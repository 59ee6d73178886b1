//! The request of `POST /v1/responses`.

use std::collections::BTreeMap;
use std::fmt;

use parallel_llm_engine::{Message, Role};
use parallel_llm_service::attachment::Attachments;
use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::content::{Content, Place};
use super::fields::{self, NEUTRAL_IN_RESPONSES, Neutral, Rest};
use super::own::{self, Own};
use super::{Asked, EffortWord, Options, check_cap, last_is_users, required};
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
    effort: Option<EffortWord>,
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
    /// The conversation.
    Items(Vec<InputItem>),
}

/// A message of the input.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "what is accepted and not used is read for its type")]
struct InputItem {
    /// `message`.
    #[serde(rename = "type")]
    kind: Option<ItemKind>,
    /// Who speaks.
    role: ItemRole,
    /// What is said.
    content: Content,
    /// The id of an earlier answer, which is not sent.
    id: Option<String>,
    /// The state of an earlier answer, which is not sent.
    status: Option<String>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// The kinds of items that a panel knows.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ItemKind {
    Message,
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

/// Fields of `reasoning` that change nothing when they are empty.
const NEUTRAL_IN_REASONING: &[Neutral] = &[
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
        Some(self.reasoning.as_ref()?.effort?.effort().word())
    }

    /// The question.
    pub(crate) fn ask(self, caller: &Caller) -> Result<Asked, Refusal> {
        fields::check::<Self>("", &self.rest, NEUTRAL_IN_RESPONSES)?;
        if let Some(reasoning) = &self.reasoning {
            fields::check::<Reasoning>("reasoning.", &reasoning.rest, NEUTRAL_IN_REASONING)?;
        }
        let (model, input) = (required("model", self.model)?, required("input", self.input)?);
        let max_tokens = check_cap("max_output_tokens", self.max_output_tokens)?;
        let continues = self.previous_response_id.as_deref().map(own::run_id).transpose();
        let continues = continues.map_err(|failure| {
            Refusal::field("previous_response_id", "previous_response_not_found", failure)
        })?;
        let mut files = Attachments::new(caller.services.settings.attachment_bytes_max);
        let instructions = self.instructions.map(|text| Message::text(Role::System, text));
        let messages = instructions.map(Ok).into_iter().chain(input.read(&mut files));
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        last_is_users(&messages, "input")?;
        let options = Options {
            model,
            temperature: self.temperature,
            max_tokens,
            effort: self.reasoning.and_then(|reasoning| reasoning.effort).map(EffortWord::effort),
            store: self.store,
            continues: continues.map(|id| id.to_string()),
            own: self.parallel_llm.unwrap_or_default(),
        };
        options.ask(caller, messages)
    }
}

impl Input {
    fn read(self, files: &mut Attachments) -> Vec<Result<Message, Refusal>> {
        match self {
            Self::Text(text) => vec![Ok(Message::text(Role::User, text))],
            Self::Items(items) => {
                items.into_iter().enumerate().map(|(index, item)| item.read(index, files)).collect()
            }
        }
    }
}

impl InputItem {
    fn read(self, index: usize, files: &mut Attachments) -> Result<Message, Refusal> {
        let path = format!("input[{index}]");
        fields::check::<Self>(&format!("{path}."), &self.rest, &[])?;
        let role = match self.role {
            ItemRole::System | ItemRole::Developer => Role::System,
            ItemRole::User => Role::User,
            ItemRole::Assistant => Role::Assistant,
        };
        self.content.message(Place { path: &format!("{path}.content"), role }, files)
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct InputReader;
        impl<'de> Visitor<'de> for InputReader {
            type Value = Input;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text or a list of messages")
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
