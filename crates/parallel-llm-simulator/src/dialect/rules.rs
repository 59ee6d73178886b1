//! The rules about single fields, read from `assets/fields.json`: path, condition, violation and error text.

use serde::Deserialize;
use serde_json::Value;

use super::error_text::{ApiError, ErrorDetails, ErrorKind, ErrorText};
use super::rule_input::{RuleInput, values};

/// One rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// The path of the field, as in the fields of its endpoint.
    path: String,
    #[serde(default)]
    when: When,
    wrong: Wrong,
    error: ErrorText,
}

/// The requests that a rule applies to.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum When {
    #[default]
    Always,
    /// The model can reason.
    Reasoner,
    /// The model can reason, and the request does not switch it off.
    Reasoning,
    /// Reasoning cannot be switched off.
    Mandatory,
    /// The model cannot reason.
    NoReasoner,
    /// The header has this value.
    Version(String, String),
}

/// The violation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wrong {
    /// The field is present.
    Present,
    /// The field is missing.
    Missing,
    Above(f64),
    /// The value is this text.
    Is(String),
    /// The value is none of these texts.
    NoneOf(Vec<String>),
    /// The value exceeds the model's limit on output tokens.
    AboveOutputMax,
}

/// Returns the error of the first rule that the request violates.
pub(super) fn check(rules: &'static [Rule], input: RuleInput<'_>) -> Result<(), ApiError> {
    for rule in rules.iter().filter(|rule| rule.when.holds(input)) {
        if let Some((at, value)) = rule.broken(input) {
            let (context, output_max) = (input.model.context_tokens, input.model.output_tokens_max);
            let details =
                Box::new(ErrorDetails { at, value, context, output_max, ..ErrorDetails::default() });
            return Err(ApiError { kind: ErrorKind::UnknownField, text: Some(&rule.error), details });
        }
    }
    Ok(())
}

impl Rule {
    fn broken(&self, input: RuleInput<'_>) -> Option<(Vec<String>, Value)> {
        let found = values(input.body, &self.path);
        if matches!(self.wrong, Wrong::Missing) {
            let at = self.path.split('.').map(str::to_owned).collect();
            return found.is_empty().then_some((at, Value::Null));
        }
        let broken = found.into_iter().find(|(_, value)| self.wrong.is(value, input));
        broken.map(|(at, value)| (at, value.clone()))
    }
}

impl When {
    fn holds(&self, input: RuleInput<'_>) -> bool {
        let model = input.model;
        match self {
            Self::Always => true,
            Self::Reasoner => model.reasons,
            Self::Reasoning => model.reasons && !input.forbids_reasoning,
            Self::Mandatory => model.reasoning_mandatory,
            Self::NoReasoner => !model.reasons,
            Self::Version(name, value) => input.headers.get(name).is_some_and(|found| found == value),
        }
    }
}

impl Wrong {
    fn is(&self, value: &Value, input: RuleInput<'_>) -> bool {
        match self {
            Self::Present => !value.is_null(),
            Self::Missing => false,
            Self::Above(limit) => value.as_f64().is_some_and(|number| number > *limit),
            Self::Is(text) => value == text,
            Self::NoneOf(texts) => !texts.iter().any(|text| value == text),
            Self::AboveOutputMax => {
                value.as_u64().is_some_and(|tokens| tokens > input.model.output_tokens_max)
            }
        }
    }
}
