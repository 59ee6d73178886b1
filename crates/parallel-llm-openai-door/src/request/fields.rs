//! Fields that this endpoint does not honour: those that change nothing in a certain value, which clients send by default,
//! and all others, which are refused.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// The longest quoted name or value in a message, in characters.
const QUOTED_CHARS: usize = 60;

/// The fields of an object that its type does not know.
pub(crate) type Rest = Map<String, Value>;

/// A field that is refused unless its value changes nothing. `null` never does.
pub(crate) struct Neutral {
    pub(crate) name: &'static str,
    /// The other values that change nothing, as JSON.
    pub(crate) values: &'static [&'static str],
    /// Why any other is refused, after "cannot be honoured:".
    pub(crate) why: &'static str,
}

const TOOLS: &str = "a panel calls no tools";
const ONE_TEXT: &str = "a panel gives one answer";
const NO_PROBABILITIES: &str = "an answer of several models has no probabilities";
const NOT_TO_ALL: &str = "not every model of a panel takes it";
const NO_SOUND: &str = "a panel answers in text";
const PLAIN_TEXT: &str = "the form of a fused answer is not enforced";

/// Such fields of chat completions.
pub(crate) const NEUTRAL_IN_CHAT: &[Neutral] = &[
    Neutral { name: "tools", values: &["[]"], why: TOOLS },
    Neutral { name: "tool_choice", values: &["\"none\"", "\"auto\""], why: TOOLS },
    Neutral { name: "parallel_tool_calls", values: &["true", "false"], why: TOOLS },
    Neutral { name: "functions", values: &["[]"], why: TOOLS },
    Neutral { name: "function_call", values: &["\"none\"", "\"auto\""], why: TOOLS },
    Neutral { name: "web_search_options", values: &[], why: TOOLS },
    Neutral { name: "n", values: &["1"], why: ONE_TEXT },
    Neutral { name: "logprobs", values: &["false"], why: NO_PROBABILITIES },
    Neutral { name: "top_logprobs", values: &["0"], why: NO_PROBABILITIES },
    Neutral { name: "logit_bias", values: &["{}"], why: NOT_TO_ALL },
    Neutral { name: "presence_penalty", values: &["0"], why: NOT_TO_ALL },
    Neutral { name: "frequency_penalty", values: &["0"], why: NOT_TO_ALL },
    Neutral { name: "top_p", values: &["1"], why: NOT_TO_ALL },
    Neutral {
        name: "seed",
        values: &[],
        why: "models do not repeat themselves; `Idempotency-Key` repeats an answer",
    },
    Neutral { name: "stop", values: &["[]"], why: "a fused answer ends where it ends" },
    Neutral { name: "response_format", values: &["{\"type\":\"text\"}"], why: PLAIN_TEXT },
    Neutral { name: "modalities", values: &["[\"text\"]"], why: NO_SOUND },
    Neutral { name: "audio", values: &[], why: NO_SOUND },
    Neutral { name: "prediction", values: &[], why: NOT_TO_ALL },
    Neutral { name: "verbosity", values: &["\"medium\""], why: NOT_TO_ALL },
    Neutral { name: "service_tier", values: &["\"auto\"", "\"default\""], why: NOT_TO_ALL },
    Neutral { name: "prompt_cache_retention", values: &[], why: NOT_TO_ALL },
];

/// Such fields of responses.
pub(crate) const NEUTRAL_IN_RESPONSES: &[Neutral] = &[
    Neutral { name: "tools", values: &["[]"], why: TOOLS },
    Neutral { name: "tool_choice", values: &["\"none\"", "\"auto\""], why: TOOLS },
    Neutral { name: "parallel_tool_calls", values: &["true", "false"], why: TOOLS },
    Neutral { name: "max_tool_calls", values: &[], why: TOOLS },
    Neutral { name: "top_logprobs", values: &["0"], why: NO_PROBABILITIES },
    Neutral { name: "top_p", values: &["1"], why: NOT_TO_ALL },
    Neutral { name: "include", values: &["[]"], why: "there is nothing else to include" },
    Neutral {
        name: "text",
        values: &[
            "{}",
            "{\"format\":{\"type\":\"text\"}}",
            "{\"verbosity\":\"medium\"}",
            "{\"format\":{\"type\":\"text\"},\"verbosity\":\"medium\"}",
        ],
        why: PLAIN_TEXT,
    },
    Neutral { name: "truncation", values: &["\"disabled\""], why: "a conversation is never cut silently" },
    Neutral {
        name: "background",
        values: &["false"],
        why: "a run goes on by itself; `GET /v1/responses/{id}` reads it",
    },
    Neutral { name: "conversation", values: &[], why: "`previous_response_id` goes on with a conversation" },
    Neutral { name: "prompt", values: &[], why: "this server keeps no prompts" },
    Neutral { name: "service_tier", values: &["\"auto\"", "\"default\""], why: NOT_TO_ALL },
    Neutral {
        name: "stream_options",
        values: &["{}", "{\"include_obfuscation\":false}"],
        why: "there is no padding",
    },
    Neutral { name: "context_management", values: &["[]"], why: "a conversation is never cut silently" },
    Neutral { name: "prompt_cache_retention", values: &[], why: NOT_TO_ALL },
];

impl Neutral {
    /// The values that change nothing.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> {
        self.values.iter().map(|text| serde_json::from_str(text).expect("the values of the table are JSON"))
    }

    fn holds(&self, value: &Value) -> bool {
        let value = without_nulls(value);
        self.values().any(|neutral| is_same(&neutral, &value))
    }

    fn refuse(&self, path: &str, value: &Value) -> Refusal {
        let name = format!("{path}{}", self.name);
        let shown = excerpt(&value.to_string(), QUOTED_CHARS);
        let message = format!("`{name}` cannot be honoured as `{shown}`: {}", self.why);
        let failure = Failure::new(Code::Usage, message).with_next(Next::LeaveOut(name.clone().into()));
        Refusal::field(name, "unsupported_parameter", failure)
    }
}

/// Refuses every field of an object of type `T` that is not neutral. `path` leads to the object, with a point at its end.
pub(crate) fn check<T: JsonSchema>(path: &str, rest: &Rest, neutral: &[Neutral]) -> Result<(), Refusal> {
    for (name, value) in rest.iter().filter(|(_, value)| !value.is_null()) {
        match neutral.iter().find(|field| field.name == *name) {
            Some(field) if field.holds(value) => {}
            Some(field) => return Err(field.refuse(path, value)),
            None => {
                return Err(unknown(
                    path,
                    name,
                    known::<T>().iter().map(String::as_str).chain(neutral.iter().map(|field| field.name)),
                ));
            }
        }
    }
    Ok(())
}

/// The fields of an object of type `T`.
fn known<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let known = schema.get("properties").and_then(Value::as_object);
    known.into_iter().flat_map(|known| known.keys().cloned()).collect()
}

/// The refusal of a field that an object with these fields does not have.
pub(super) fn unknown<'a>(path: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Refusal {
    let shown = excerpt(name, QUOTED_CHARS);
    let failure = Failure::new(Code::Usage, format!("there is no field `{path}{shown}`"));
    let next = match nearest(name, known) {
        Some(meant) => Next::Meant(format!("{path}{meant}").into()),
        None => Next::LeaveOut(shown.clone().into()),
    };
    Refusal::field(format!("{path}{shown}"), "unknown_parameter", failure.with_next(next))
}

/// A value without the members that are `null`, which count as left out.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        value => value.clone(),
    }
}

/// Whether two values are the same; `1` is `1.0`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < f64::EPSILON,
        _ => one == other,
    }
}
