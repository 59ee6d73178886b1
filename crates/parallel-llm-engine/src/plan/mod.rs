//! The plan of a run: its request with every default resolved.
//!
//! The plan is stored with the run, so that the run can be explained and repeated. Resolving is pure and refuses a wrong
//! request before anything is paid.

pub mod budget;
pub mod call_count;
pub mod caller_slot;
pub mod flow;
mod hash;
mod resolve;
pub(crate) mod seats;
pub(crate) mod seed;
pub mod size;
pub mod slots;
pub mod step;
mod unknown;
pub mod worst_case;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::flow::PlannedFlow;
use crate::plan::size::QuestionSize;
use crate::plan::step::Step;
use crate::plan::worst_case::WorstCase;
use crate::request::catalogue::Catalogue;
use crate::request::file_names::FileNames;
use crate::request::flow::Flow;
use crate::request::panel::{ProviderId, Seat};
use crate::request::persona::Personas;
use crate::request::price::PriceBook;
use crate::request::routing::Routing;
use crate::request::strategy::{Strategy, StrategyChoice, StrategyOptions};
use crate::request::wait::Wait;
use crate::request::{AnswerLine, Effort, Equivalence, Lineage, Message, StoreMode};
use crate::value::id::RunId;
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

pub use crate::plan::seats::IDEMPOTENCY_KEY_BYTES_MAX;

/// Time limits in milliseconds. Each is a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// From sending to the first text or reasoning. Some reasoning models think for minutes before they write.
    pub first_text_ms: u64,
    /// Without any byte; keep-alive comments count.
    pub idle_ms: u64,
    /// Without text or reasoning after the first of it. Comments do not count, because they hide a stall.
    pub content_ms: u64,
    /// One call. An ordinary question took nine minutes of reasoning once.
    pub call_ms: u64,
    /// The whole run.
    pub run_ms: u64,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            first_text_ms: 300_000,
            idle_ms: 90_000,
            content_ms: 180_000,
            call_ms: 900_000,
            run_ms: 1_200_000,
        }
    }
}

/// The values for what a request leaves open: the settings a run needs.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The model references of the panel, as written.
    pub panel: Vec<String>,
    /// The model references of the synthesizers, as written.
    pub synthesizers: Vec<String>,
    /// The personas seats may name.
    pub personas: Personas,
    /// The strategy and its options, as written.
    pub strategy: String,
    /// Output cap of each call in tokens.
    pub max_tokens: u32,
    /// The reasoning effort of the panel.
    pub effort: Option<Effort>,
    /// The terms for the providers behind a router.
    pub routing: Routing,
    /// Whether seats whose answers are counted are asked for the answer line.
    pub answer_line: AnswerLine,
    /// Who says which short answers mean the same.
    pub equivalence: Equivalence,
    /// The most one run may cost.
    pub budget: PicoUsd,
    /// What is known of prices besides the catalogues.
    pub prices: PriceBook,
    /// The longest prompt in characters.
    pub prompt_chars_max: usize,
    /// Time limits.
    pub timers: Timers,
    /// The most retries of one call.
    pub retries_max: u32,
    /// When to stop waiting.
    pub wait: Wait,
    /// How much is stored.
    pub store: StoreMode,
    /// Whether answers are also written as files.
    pub files: bool,
    /// The names of those files.
    pub file_names: FileNames,
    /// The limits of a day.
    pub limits: Vec<DayLimit>,
    /// Identifies the check command, if there is one. The same question under another check command may have another
    /// outcome, so it is part of the plan hash.
    pub checker: Option<String>,
    /// The flow that names who is asked, instead of the panel and the strategy.
    pub flow: Option<Flow>,
}

/// The settings, providers and catalogues a request is resolved with.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The values for what the request leaves open.
    pub defaults: &'a Defaults,
    /// The configured providers, the default one first. Never empty.
    pub providers: &'a [ProviderId],
    /// The catalogues of the providers. A provider without one has none.
    pub catalogues: &'a BTreeMap<ProviderId, Arc<Catalogue>>,
}

/// A limit on what runs cost together in a UTC day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLimit {
    /// The provider whose calls it counts; `None` for all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderId>,
    /// The principal whose runs it counts; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// The limit.
    pub usd: PicoUsd,
    /// The setting that holds it.
    pub setting: String,
}

/// The values that differ between two runs of the same request.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The id of the run.
    pub run_id: RunId,
    /// The seed of all randomness in the run: shuffles, fences, jitter.
    pub seed: u64,
}

/// A run with everything resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The version of the stored shape.
    pub version: u32,
    /// The id of the run.
    pub run_id: RunId,
    /// The seed of all randomness in the run.
    pub seed: u64,
    /// Identifies the question: BLAKE3 of the request and its defaults as 64 hexadecimal digits. Two runs of the same request
    /// have the same hash, even if the catalogue has changed in between. Empty in the oldest plans.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_hash: String,
    /// The conversation. Empty if the store keeps only metadata.
    #[serde(default)]
    pub messages: Arc<[Message]>,
    /// The size of the conversation.
    #[serde(default, skip_serializing_if = "QuestionSize::is_unknown")]
    pub question_size: QuestionSize,
    /// The panel.
    pub seats: Vec<Seat>,
    /// The chain of synthesizers; the first that can fuses.
    pub synthesizers: Vec<Seat>,
    /// The model that says which short answers mean the same, if the strategy counts them and there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalence: Option<Seat>,
    /// The strategy that makes one text of the answers.
    pub strategy: Strategy,
    /// The options of the strategy. Stored under their first name.
    #[serde(rename = "knobs", default, skip_serializing_if = "StrategyOptions::is_default")]
    pub strategy_options: StrategyOptions,
    /// Why it is this strategy; `None` if the user named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_because: Option<String>,
    /// The calls the strategy may make besides the panel and the synthesizers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// The preset or flow that filled up the request, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The stages of its flow; `None` for one panel. The strategy above is that of the last stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<PlannedFlow>,
    /// Time limits.
    pub timers: Timers,
    /// The most retries of one call.
    pub retries_max: u32,
    /// When to stop waiting.
    pub wait: Wait,
    /// The most the run may cost.
    pub budget: PicoUsd,
    /// The worst case of its cost.
    pub worst_case: WorstCase,
    /// How much is stored.
    pub store: StoreMode,
    /// Whether answers are also written as files.
    pub files: bool,
    /// The names of those files.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file_names: FileNames,
    /// The terms for the providers behind a router.
    #[serde(default, skip_serializing_if = "is_default")]
    pub routing: Arc<Routing>,
    /// The principal who asks, if it is known. Equal questions of different principals are different questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// The idempotency key the caller gave the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The earlier run whose conversation goes on here; its messages are in front of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
    /// Whether the first message holds instructions for this run alone: a conversation goes on without them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_instructions: bool,
    /// What the run passes on to the calls it makes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lineage: Arc<Lineage>,
    /// Whether the run begins even if an earlier run of the same question could be joined or continued. Not stored, because
    /// it matters only at the beginning.
    #[serde(skip)]
    pub fresh: bool,
    /// The limits of a day in force when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<DayLimit>,
    /// Warnings about the plan itself.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

impl RunPlan {
    /// The strategy and its options.
    pub const fn strategy_choice(&self) -> StrategyChoice {
        StrategyChoice { strategy: self.strategy, options: self.strategy_options }
    }

    /// The text of the last message, which is the question.
    pub fn question(&self) -> String {
        question(&self.messages)
    }

    /// The size of the conversation.
    pub fn size(&self) -> QuestionSize {
        if self.question_size.is_unknown() { QuestionSize::of(&self.messages) } else { self.question_size }
    }

    /// A copy without the question and the persona prompts. A persona prompt comes from the settings, not from the
    /// caller, but it is a prompt: if prompts are not kept, neither is it.
    #[must_use]
    pub fn without_texts(&self) -> Self {
        Self { messages: Arc::default(), ..self.without_persona_prompts() }
    }

    /// A copy without the persona prompts.
    #[must_use]
    pub fn without_persona_prompts(&self) -> Self {
        Self { seats: self.seats.iter().map(Seat::without_text).collect(), ..self.clone() }
    }
}

fn question(messages: &[Message]) -> String {
    messages.last().map(|message| message.texts().collect::<Vec<_>>().join("\n")).unwrap_or_default()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
