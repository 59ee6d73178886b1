//! A chat completion, whole and in chunks.

use parallel_llm_engine::RunId;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, ChatUsage, Facts, created};

/// A chat completion.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Completion {
    /// `chatcmpl-` and the id of the run.
    id: String,
    /// `chat.completion`.
    object: &'static str,
    /// When the run began, in seconds since 1970.
    created: u64,
    /// The model as it was asked for.
    model: String,
    /// One answer.
    choices: Vec<Choice>,
    /// The tokens of all calls together; null if none is known.
    usage: Option<ChatUsage>,
    /// What this program adds.
    parallel_llm: Facts,
}

/// The answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Choice {
    /// 0.
    index: u32,
    /// The message.
    message: Message,
    /// Always null.
    logprobs: Option<()>,
    /// Why the text ends.
    finish_reason: FinishReason,
}

/// The message.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Message {
    /// `assistant`.
    role: &'static str,
    /// The text.
    content: String,
    /// Always null: a panel that declines says so in its text.
    refusal: Option<String>,
}

/// Why a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FinishReason {
    /// It is whole.
    Stop,
    /// It broke off, at the output cap or before.
    Length,
    /// A filter stopped it.
    ContentFilter,
}

/// A piece of a chat completion.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Chunk<'a> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [ChunkChoice<'a>; 1],
    /// Null in every chunk but the last, if the tokens are asked for; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<NotYet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_llm: Option<Facts>,
}

/// Null.
#[derive(Serialize, JsonSchema)]
struct NotYet;

#[derive(Serialize, JsonSchema)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<FinishReason>,
}

/// What a chunk adds.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Delta<'a> {
    /// `assistant`, in the first chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<&'static str>,
    /// More of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<&'a str>,
    /// The progress of the panel, if it is asked for as reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<&'a str>,
}

/// The last chunk, with the tokens.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UsageChunk<'a> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [(); 0],
    usage: Option<ChatUsage>,
}

/// The id of the completion of a run.
fn id(run_id: RunId) -> String {
    format!("chatcmpl-{run_id}")
}

impl Completion {
    pub(crate) fn new(answer: Answer, model: String) -> Self {
        let message = Message { role: "assistant", content: answer.text, refusal: None };
        Self {
            id: id(answer.run_id),
            object: "chat.completion",
            created: answer.created,
            model,
            choices: vec![Choice { index: 0, message, logprobs: None, finish_reason: answer.finish }],
            usage: answer.usage.map(|usage| usage.chat(answer.facts.cost_usd)),
            parallel_llm: answer.facts,
        }
    }
}

impl<'a> Chunk<'a> {
    /// A chunk that adds this.
    pub(crate) fn new(run_id: RunId, model: &'a str, delta: Delta<'a>) -> Self {
        Self {
            id: id(run_id),
            object: "chat.completion.chunk",
            created: created(run_id),
            model,
            choices: [ChunkChoice { index: 0, delta, logprobs: None, finish_reason: None }],
            usage: None,
            parallel_llm: None,
        }
    }

    /// The same in a stream whose last chunk has the tokens: the others say that they do not.
    pub(crate) fn without_usage(self) -> Self {
        Self { usage: Some(NotYet), ..self }
    }

    /// The chunk that ends the text.
    pub(crate) fn last(answer: &Answer, model: &'a str) -> Self {
        let mut chunk = Self::new(answer.run_id, model, Delta::default());
        chunk.choices[0].finish_reason = Some(answer.finish);
        chunk.parallel_llm = Some(answer.facts.clone());
        chunk
    }
}

impl<'a> UsageChunk<'a> {
    pub(crate) fn new(answer: &Answer, model: &'a str) -> Self {
        Self {
            id: id(answer.run_id),
            object: "chat.completion.chunk",
            created: answer.created,
            model,
            choices: [],
            usage: answer.usage.map(|usage| usage.chat(answer.facts.cost_usd)),
        }
    }
}
