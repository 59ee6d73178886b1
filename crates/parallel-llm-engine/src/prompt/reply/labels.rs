//! Recognizes the labels of candidates in a model's spelling of them.

use serde_json::Value;

/// Keys by which an object in a list may name a candidate.
const NAME_KEYS: [&str; 3] = ["label", "candidate", "name"];
/// Words that models put before a label.
const LABEL_WORDS: [&str; 5] = ["candidate", "answer", "response", "reference", "option"];

/// The known labels in a value, each once.
pub(super) fn known(named: &Value, labels: &[String]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in names(named) {
        let one = label_of(name, labels).map(|label| vec![label]);
        // `B > A > C` is a list, too.
        let named = one.unwrap_or_else(|| {
            name.split(['>', ',', ';', '\n']).filter_map(|name| label_of(name, labels)).collect()
        });
        for label in named {
            if !known.contains(label) {
                known.push(label.clone());
            }
        }
    }
    known
}

/// The strings in a value that may name candidates.
fn names(named: &Value) -> Vec<&str> {
    match named {
        Value::String(name) => vec![name],
        Value::Array(list) => list.iter().flat_map(names).collect(),
        Value::Object(one) => NAME_KEYS.iter().find_map(|key| one.get(*key)?.as_str()).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The label a name means, in any of the usual spellings: `B`, `b.`, `Candidate B`, `candidate_b`.
pub(super) fn label_of<'a>(name: &str, labels: &'a [String]) -> Option<&'a String> {
    let bare = |name: &str| name.trim_matches(|one: char| !one.is_alphanumeric()).to_lowercase();
    let name = bare(name);
    let rest = LABEL_WORDS.iter().find_map(|word| name.strip_prefix(word)).map(bare);
    let is_meant = |label: &str| label == name || rest.as_deref() == Some(label);
    labels.iter().find(|label| is_meant(&label.to_lowercase()))
}
