//! Which fields a request may hold, as data, and the check against it.
//!
//! Providers differ most in what they do with a field they do not know: some ignore it, some refuse the request.

use serde_json::Value;

use super::rules::{self, Rule};
use super::subject::{Subject, values};
use super::{Case, Kind, Trouble};

/// The fields of one endpoint.
#[derive(Debug)]
pub(crate) struct Fields {
    /// Fields by the object they stand in: `""` is the body, `generationConfig` an object in it, and `[]` after a name
    /// means each item of a list. Objects that are not listed may hold anything.
    pub(super) known: &'static [(&'static str, &'static [&'static str])],
    pub(super) unknown: Unknown,
    pub(super) rules: &'static [Rule],
}

/// What is done about a field nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Ignored,
    Refused,
    /// Refused; a name may also be written in `snake_case`.
    RefusedInEitherCase,
}

/// Refuses a body with a field that is not known.
pub(crate) fn check_fields(fields: &Fields, body: &Value) -> Result<(), Trouble> {
    if fields.unknown == Unknown::Ignored {
        return Ok(());
    }
    let mut unknown = Vec::new();
    for (place, known) in fields.known {
        for (at, object) in values(body, place) {
            let Some(object) = object.as_object() else { continue };
            let is_known = |name: &str| {
                known.contains(&name)
                    || (fields.unknown == Unknown::RefusedInEitherCase
                        && known.contains(&camel(name).as_str()))
            };
            for (name, value) in object.iter().filter(|(name, _)| !is_known(name)) {
                unknown.push(([at.as_slice(), std::slice::from_ref(name)].concat(), value.clone()));
            }
        }
    }
    let Some((at, value)) = unknown.first().cloned() else { return Ok(()) };
    let case = Box::new(Case { at, value, unknown, ..Case::default() });
    Err(Trouble { case, ..Trouble::new(Kind::UnknownField) })
}

/// Refuses a request that breaks a rule of its endpoint.
pub(crate) fn check_rules(fields: &Fields, subject: Subject<'_>) -> Result<(), Trouble> {
    rules::check(fields.rules, subject)
}

/// `top_p` as `topP`.
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
