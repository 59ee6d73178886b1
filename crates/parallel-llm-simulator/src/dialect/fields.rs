//! Checks the fields of a request against `assets/fields.json`.
//!
//! Providers differ most in their treatment of unknown fields: some ignore them, some refuse the request.

use serde::Deserialize;
use serde_json::Value;

use super::error_text::{ApiError, ErrorDetails, ErrorKind};
use super::rule_input::{RuleInput, values};
use super::rules::{self, Rule};

/// The fields and rules of one endpoint.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fields {
    /// Known fields by the object that holds them: `""` is the body, `generationConfig` an object in it, and `[]` after
    /// a name means each item of a list. Objects that are not listed may hold anything.
    #[serde(default)]
    pub(super) known: Vec<(String, Vec<String>)>,
    pub(super) unknown: Unknown,
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
}

/// The treatment of an unknown field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unknown {
    Ignored,
    Refused,
    /// Refused; names may also be written in `snake_case`.
    RefusedInEitherCase,
}

/// Refuses a body with an unknown field.
pub(crate) fn check_fields(fields: &Fields, body: &Value) -> Result<(), ApiError> {
    if fields.unknown == Unknown::Ignored {
        return Ok(());
    }
    let mut unknown = Vec::new();
    for (path, known) in &fields.known {
        for (at, object) in values(body, path) {
            let Some(object) = object.as_object() else { continue };
            let is_known = |name: &str| {
                let is_listed = |name: &str| known.iter().any(|known| known == name);
                is_listed(name) || (fields.unknown == Unknown::RefusedInEitherCase && is_listed(&camel(name)))
            };
            for (name, value) in object.iter().filter(|(name, _)| !is_known(name)) {
                unknown.push(([at.as_slice(), std::slice::from_ref(name)].concat(), value.clone()));
            }
        }
    }
    let Some((at, value)) = unknown.first().cloned() else { return Ok(()) };
    let details = Box::new(ErrorDetails { at, value, unknown, ..ErrorDetails::default() });
    Err(ApiError { details, ..ApiError::new(ErrorKind::UnknownField) })
}

/// Refuses a request that breaks a rule of its endpoint.
pub(crate) fn check_rules(fields: &'static Fields, input: RuleInput<'_>) -> Result<(), ApiError> {
    rules::check(&fields.rules, input)
}

/// Turns `top_p` into `topP`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut signs = word.chars();
        let head = signs.next().map(|sign| sign.to_ascii_uppercase());
        name + &head.into_iter().chain(signs).collect::<String>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_either_case() {
        assert_eq!(camel("max_output_tokens"), "maxOutputTokens");
    }
}
