//! Which fields a request may hold, as data, and the check against it.
//!
//! Providers differ most in what they do with a field they do not know: some ignore it, some refuse the request.

use hyper::header::HeaderMap;
use serde_json::Value;

use super::rules::Rule;
use super::{Case, Kind, Trouble};
use crate::catalogue::Model;

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

/// A request, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) body: &'a Value,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) model: &'a Model,
    /// Whether the request switches reasoning off.
    pub(crate) forbids_reasoning: bool,
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

/// Every value at a place such as `messages[].role`, with where it stands.
pub(super) fn values<'a>(body: &'a Value, place: &str) -> Vec<(Vec<String>, &'a Value)> {
    let mut found = vec![(Vec::new(), body)];
    for name in place.split('.').filter(|name| !name.is_empty()) {
        let (name, index) = match name.split_once('[') {
            Some((name, index)) => (name, Some(index.trim_end_matches(']'))),
            None => (name, None),
        };
        let into = |(at, value): (Vec<String>, &'a Value)| {
            Some(([at.as_slice(), &[name.to_owned()]].concat(), value.get(name)?))
        };
        found = found.into_iter().filter_map(into).collect();
        if let Some(index) = index {
            found = found.into_iter().flat_map(|(at, value)| items(&at, value, index)).collect();
        }
    }
    found
}

/// The items of a list: all of them, or the one with this number.
fn items<'a>(at: &[String], list: &'a Value, index: &str) -> Vec<(Vec<String>, &'a Value)> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let wanted = |place: &usize| index.is_empty() || index.parse() == Ok(*place);
    let items = list.iter().enumerate().filter(|(place, _)| wanted(place));
    items.map(|(place, item)| ([at, &[place.to_string()]].concat(), item)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_leads_to_every_value() {
        let body = json!({"messages": [{"role": "user"}, {"role": "x"}, 7], "a": {"b": 1}});
        let at = |place| values(&body, place).into_iter().map(|(at, _)| at.join(".")).collect::<Vec<_>>();
        assert_eq!(at("messages[].role"), ["messages.0.role", "messages.1.role"]);
        assert_eq!(at("messages[0].role"), ["messages.0.role"]);
        assert_eq!((at("a.b"), at("a.c"), at("")), (vec!["a.b".to_owned()], vec![], vec![String::new()]));
        assert_eq!(camel("max_output_tokens"), "maxOutputTokens");
    }
}
