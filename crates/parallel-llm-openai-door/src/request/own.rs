//! What this program adds to a request, all under one field.

use parallel_llm_engine::plan::IDEMPOTENCY_KEY_BYTES_MAX;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::strategy::ResolvedStrategy;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure, PicoUsd, RunId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::fields::{self, Rest};
use crate::refusal::Refusal;

/// The name of the field.
const NAME: &str = "parallel_llm";
/// The longest deadline in seconds, a day.
const DEADLINE_S_MAX: u64 = 86_400;
/// The longest quoted id in a message, in characters.
const QUOTED_CHARS: usize = 60;
/// How the ids of answers begin; the id of their run follows.
const ID_PREFIXES: [&str; 2] = ["resp_", "chatcmpl-"];

/// Options of this program.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(default)]
pub(crate) struct Own {
    /// Refuse the question if it could cost more, in USD.
    pub(crate) budget_usd: Option<f64>,
    /// The time for the whole run, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub(crate) deadline_s: Option<u64>,
    /// The model that fuses the answers.
    pub(crate) synthesizer: Option<String>,
    /// How the answers become one, with its options: `vote@first=2`.
    pub(crate) strategy: Option<String>,
    /// The same key and question are the same run. Counts before the header `Idempotency-Key`.
    #[schemars(length(min = 1, max = IDEMPOTENCY_KEY_BYTES_MAX))]
    pub(crate) idempotency_key: Option<String>,
    /// The id of a run, a completion or a response whose conversation goes on.
    pub(crate) continue_run: Option<String>,
    /// How the progress of the panel is shown in a stream.
    pub(crate) progress: Option<Progress>,
    /// How much is kept of the run. Counts before `store`.
    store: Option<Store>,
    /// Ask anew although the same question has an unfinished run.
    pub(crate) fresh: Option<bool>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// How the progress of the panel is shown in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Progress {
    /// As comments, which clients skip, once a model has answered.
    Comments,
    /// As reasoning, likewise.
    Reasoning,
    /// Not at all.
    Off,
}

impl Progress {
    /// That of the setting.
    pub(super) fn by_word(word: &str) -> Self {
        match word {
            "reasoning" => Self::Reasoning,
            "off" => Self::Off,
            _ => Self::Comments,
        }
    }
}

/// How much is kept of a run.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Store {
    Full,
    Metadata,
    None,
}

impl Own {
    /// Fails for a field that is not among them or a value out of range.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        fields::check::<Self>(&format!("{NAME}."), &self.rest, &[])?;
        self.check_strategy()?;
        if self
            .idempotency_key
            .as_ref()
            .is_some_and(|key| !(1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len()))
        {
            let message = format!("an idempotency key has 1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes");
            let failure = Failure::new(Code::Usage, message).with_next(Advice::GiveOwnIdempotencyKey);
            return Err(invalid("idempotency_key", failure));
        }
        if self.deadline_s.is_some_and(|seconds| !(1..=DEADLINE_S_MAX).contains(&seconds)) {
            let failure = Failure::new(Code::Usage, "the deadline is out of range");
            let next = Next::WholeNumber { from: 1, to: DEADLINE_S_MAX };
            return Err(invalid("deadline_s", failure.with_next(next)));
        }
        Ok(())
    }

    pub(super) fn store_mode(&self) -> Option<StoreMode> {
        self.store.map(|store| match store {
            Store::Full => StoreMode::Full,
            Store::Metadata => StoreMode::Metadata,
            Store::None => StoreMode::None,
        })
    }

    pub(super) fn budget(&self) -> Result<Option<PicoUsd>, Refusal> {
        let Some(usd) = self.budget_usd else { return Ok(None) };
        let budget = Some(usd).filter(|usd| *usd >= 0.0).and_then(PicoUsd::from_f64);
        budget.map(Some).ok_or_else(|| {
            let failure = Failure::new(Code::Usage, "the budget is no amount in USD");
            invalid("budget_usd", failure.with_next(Next::Example("0.5".into())))
        })
    }

    /// Fails for a strategy that cannot be read.
    fn check_strategy(&self) -> Result<(), Refusal> {
        let read = self.strategy.as_deref().map_or(Ok(()), ResolvedStrategy::check);
        read.map_err(|failure| invalid("strategy", failure))
    }

    /// The strategy, beside the one that the name of the model has.
    pub(super) fn strategy_beside(&self, named: Option<String>) -> Result<Option<String>, Refusal> {
        match (&self.strategy, named) {
            (Some(_), Some(named)) => {
                let message =
                    format!("the model names the strategy `{named}`, and `{NAME}.strategy` another");
                let next = Next::LeaveOut(format!("{NAME}.strategy").into());
                Err(invalid("strategy", Failure::new(Code::Usage, message).with_next(next)))
            }
            (own, named) => Ok(own.clone().or(named)),
        }
    }

    /// The run whose conversation goes on.
    pub(super) fn continued(&self) -> Result<Option<RunId>, Refusal> {
        let Some(text) = &self.continue_run else { return Ok(None) };
        run_id(text).map(Some).map_err(|failure| invalid("continue_run", failure))
    }
}

/// The refusal of a question that goes on with two conversations.
pub(super) fn goes_on_twice() -> Refusal {
    let message = format!("`previous_response_id` names one conversation, and `{NAME}.continue_run` another");
    let next = Next::LeaveOut(format!("{NAME}.continue_run").into());
    invalid("continue_run", Failure::new(Code::Usage, message).with_next(next))
}

/// The run of an id of a run, a completion or a response.
pub(crate) fn run_id(text: &str) -> Result<RunId, Failure> {
    let id = ID_PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    id.parse().map_err(|_| {
        let message = format!("`{}` is no id of an answer of this server", excerpt(text, QUOTED_CHARS));
        Failure::new(Code::RunNotFound, message)
    })
}

fn invalid(name: &str, failure: Failure) -> Refusal {
    Refusal::field(format!("{NAME}.{name}"), "invalid_value", failure)
}
