//! What the address of a stored answer has behind its path. None of it is honoured, so all but neutral values is refused.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure};
use schemars::JsonSchema;

use super::fields::{self, Neutral, Rest};
use crate::refusal::Refusal;

/// The parameters of an address, if they can be read.
pub(crate) type Parameters = Result<Query<Vec<(String, String)>>, QueryRejection>;

/// The parameters that are honoured: none.
#[derive(JsonSchema)]
struct Honoured {}

/// Parameters that OpenAI has. Their values are texts.
const NEUTRAL: &[Neutral] = &[
    Neutral { name: "stream", values: &["\"false\""], why: "a stored answer is returned whole" },
    Neutral { name: "starting_after", values: &[], why: "a stored answer is returned whole" },
    Neutral { name: "include_obfuscation", values: &["\"false\""], why: "there is no padding" },
    Neutral { name: "include", values: &[], why: "there is nothing else to include" },
    Neutral { name: "include[]", values: &[], why: "there is nothing else to include" },
];

/// Refuses every parameter that would change something.
pub(crate) fn check_parameters(given: Parameters) -> Result<(), Refusal> {
    let Ok(Query(given)) = given else {
        let failure = Failure::new(Code::Usage, "the parameters of the address cannot be read");
        return Err(failure.with_next(Operation::Help).into());
    };
    let given: Rest = given.into_iter().map(|(name, value)| (name, value.into())).collect();
    fields::check::<Honoured>("", &given, NEUTRAL)
}
