//! The parts of a request that rules look at, and the lookup of values by path.

use hyper::header::HeaderMap;
use serde_json::Value;

use crate::state::catalogue::Model;

/// A request as rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleInput<'a> {
    pub(crate) body: &'a Value,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) model: &'a Model,
    /// Whether the request switches reasoning off.
    pub(crate) forbids_reasoning: bool,
}

/// Every value at a path such as `messages[].role`, with its exact path.
pub(super) fn values<'a>(body: &'a Value, path: &str) -> Vec<(Vec<String>, &'a Value)> {
    let mut found = vec![(Vec::new(), body)];
    for name in path.split('.').filter(|name| !name.is_empty()) {
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

/// The items of a list: all of them, or the one at this index.
fn items<'a>(at: &[String], list: &'a Value, index: &str) -> Vec<(Vec<String>, &'a Value)> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let wanted = |path: &usize| index.is_empty() || index.parse() == Ok(*path);
    let items = list.iter().enumerate().filter(|(path, _)| wanted(path));
    items.map(|(path, item)| ([at, &[path.to_string()]].concat(), item)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_finds_every_value() {
        let body = json!({"messages": [{"role": "user"}, {"role": "x"}, 7], "a": {"b": 1}});
        let at = |path| values(&body, path).into_iter().map(|(at, _)| at.join(".")).collect::<Vec<_>>();
        assert_eq!(at("messages[].role"), ["messages.0.role", "messages.1.role"]);
        assert_eq!(at("messages[0].role"), ["messages.0.role"]);
        assert_eq!((at("a.b"), at("a.c"), at("")), (vec!["a.b".to_owned()], vec![], vec![String::new()]));
    }
}
