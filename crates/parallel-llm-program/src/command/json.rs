//! JSON as commands print it.

/// Pretty-printed JSON.
pub(super) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a report is plain data with string keys")
}
