//! What this program adds to a request, all under one field.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, RunId};
use parallel_llm_service::Question;
use parallel_llm_service::form::{self, Field};
use schemars::JsonSchema;
use serde::Deserialize;

use super::fields::{self, Rest};
use crate::refusal::Refusal;

/// The name of the field.
const NAME: &str = "parallel_llm";
/// The longest quoted id in a message, in characters.
const QUOTED_CHARS: usize = 60;
/// How the ids of answers begin; the id of their run follows.
const ID_PREFIXES: [&str; 2] = ["resp_", "chatcmpl-"];

/// The options of a question that the field has.
const OPTIONS: [&str; 7] =
    ["budget_usd", "deadline_s", "synthesizer", "strategy", "idempotency_key", "store", "fresh"];

/// Options of this program.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(default)]
pub(crate) struct Own {
    /// The id of a run, a completion or a response whose conversation goes on.
    continue_run: Option<String>,
    /// How the progress of the panel is shown in a stream.
    pub(crate) progress: Option<Progress>,
    /// The options of a question, and fields that are none.
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

impl Own {
    /// The options of a question.
    pub(crate) fn options() -> impl Iterator<Item = &'static Field> {
        OPTIONS.into_iter().map(|name| &form::option(name).field)
    }

    /// Sets the options of the question. Fails for a field that is none, and for a strategy beside that of the model's name.
    pub(super) fn set(&self, question: &mut Question) -> Result<(), Refusal> {
        for (name, value) in self.rest.iter().filter(|(_, value)| !value.is_null()) {
            if !OPTIONS.contains(&&**name) {
                let known = ["continue_run", "progress"].into_iter().chain(OPTIONS);
                return Err(fields::unknown(&format!("{NAME}."), name, known));
            }
            let option = form::option(name);
            let given = option.field.read_typed(&format!("`{NAME}.{name}`"), value);
            let named = question.request.strategy.as_ref().filter(|_| name == "strategy");
            if let (Ok(_), Some(named)) = (&given, named) {
                let message =
                    format!("the model names the strategy `{named}`, and `{NAME}.strategy` another");
                let next = Next::LeaveOut(format!("{NAME}.strategy").into());
                return Err(invalid("strategy", Failure::new(Code::Usage, message).with_next(next)));
            }
            given.and_then(|given| option.set(question, given)).map_err(|failure| invalid(name, failure))?;
        }
        Ok(())
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
