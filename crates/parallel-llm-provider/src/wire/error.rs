//! The error object of a reply, in every form that providers use.
//!
//! Errors are rare, so they are read as plain JSON values and not as borrowed chunks.

use std::cell::OnceCell;

use serde_json::{Value, json};

/// The most of a provider's message that is searched. Real ones are under 2 kB; what is shown is shorter still.
const WORDS_BYTES_MAX: usize = 16 * 1024;

/// A provider's error.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorBody {
    /// The error object itself, or the text in its place.
    value: Value,
    /// Its own and its upstream's message in lower case, once needed.
    lowercase: OnceCell<[String; 2]>,
}

impl ErrorBody {
    /// Finds the error in a whole body. `None` if the body is not JSON, or JSON of another kind.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        Self::find(serde_json::from_slice(body.trim_ascii()).ok()?)
    }

    /// Parses a value at a place where an error is expected.
    pub(crate) fn of(value: Value) -> Self {
        Self { value, lowercase: OnceCell::new() }
    }

    /// `{"error": …}`, `[{"error": …}]`, `{"detail": …}` or `{"message": …}`.
    fn find(mut body: Value) -> Option<Self> {
        if let Value::Array(list) = &mut body {
            return list.first_mut().map(Value::take).and_then(Self::find_in_object);
        }
        Self::find_in_object(body)
    }

    fn find_in_object(mut body: Value) -> Option<Self> {
        let object = body.as_object_mut()?;
        match object.remove("error") {
            // xAI puts its code next to the message.
            Some(Value::String(message)) => {
                let code = object.remove("code").unwrap_or_default();
                return Some(Self::of(json!({ "message": message, "code": code })));
            }
            Some(error) if !error.is_null() => return Some(Self::of(error)),
            _ => {}
        }
        let speaks = object.contains_key("detail") || object.contains_key("message");
        speaks.then(|| Self::of(body))
    }

    /// The error as JSON, for hints that are read elsewhere.
    pub(crate) const fn value(&self) -> &Value {
        &self.value
    }

    /// The provider's own message.
    pub(crate) fn message(&self) -> Option<&str> {
        let detail = || self.text("/detail").or_else(|| self.text("/detail/0/msg"));
        let message = self.value.as_str().or_else(|| self.text("/message")).or_else(detail);
        message.map(|message| beginning(message.trim())).filter(|message| !message.is_empty())
    }

    /// Whether the provider's own message contains all phrases, given in lower case.
    pub(crate) fn own_message_contains(&self, phrases: &[&str]) -> bool {
        phrases.iter().all(|phrase| self.lowercase()[0].contains(phrase))
    }

    /// Whether its own message or its upstream's contains all phrases, given in lower case.
    pub(crate) fn contains_all(&self, phrases: &[&str]) -> bool {
        self.lowercase().iter().any(|text| phrases.iter().all(|phrase| text.contains(phrase)))
    }

    /// Used many times, so made once.
    fn lowercase(&self) -> &[String; 2] {
        self.lowercase.get_or_init(|| {
            let own = self.message().unwrap_or_default().to_lowercase();
            [own, self.upstream_words().unwrap_or_default().to_lowercase()]
        })
    }

    /// The code of the error, a number or a word.
    pub(crate) fn code(&self) -> Option<String> {
        match self.value.get("code")? {
            Value::Number(code) => Some(code.to_string()),
            Value::String(code) => Some(code.clone()),
            _ => None,
        }
    }

    /// The words that classify the error: its code, its type, Google's status and OpenRouter's `error_type`.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        ["/code", "/type", "/status", "/metadata/error_type", "/name"]
            .into_iter()
            .filter_map(|at| self.text(at))
    }

    /// Whether this is one of [`Self::words`].
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.words().any(|own| own == word)
    }

    /// Google's list of details.
    pub(crate) fn details(&self) -> impl Iterator<Item = &Value> {
        self.value.get("details").and_then(Value::as_array).into_iter().flatten()
    }

    /// The upstream provider that OpenRouter used.
    pub(crate) fn provider_name(&self) -> Option<&str> {
        self.text("/metadata/provider_name").filter(|name| !name.is_empty())
    }

    /// The upstream provider's message, if OpenRouter passes it on.
    pub(crate) fn upstream_words(&self) -> Option<String> {
        let raw = beginning(self.text("/metadata/raw")?.trim());
        if raw.is_empty() || raw.starts_with('<') {
            return None;
        }
        let inner = Self::parse(raw.as_bytes()).and_then(|inner| inner.message().map(str::to_owned));
        Some(inner.unwrap_or_else(|| raw.to_owned()))
    }

    /// A text of the metadata, such as `reason` or `limit_source`.
    pub(crate) fn metadata(&self, name: &str) -> Option<&str> {
        self.value.get("metadata")?.get(name)?.as_str()
    }

    /// Whether a moderator flagged the question.
    pub(crate) fn is_moderation(&self) -> bool {
        let holds = |name| self.value.pointer(name).is_some_and(|value| !value.is_null());
        holds("/metadata/reasons") || holds("/metadata/flagged_input")
    }

    /// The request fields that the error names: `param`, and the locations of a validation error.
    pub(crate) fn named_fields(&self) -> impl Iterator<Item = &str> {
        let details = self.value.get("detail").and_then(Value::as_array).into_iter().flatten();
        let places =
            details.filter_map(|detail| detail.get("loc")?.as_array()).flatten().filter_map(Value::as_str);
        self.text("/param").into_iter().chain(places)
    }

    /// Whether a validation error says that a field is unknown.
    pub(crate) fn has_extra_field(&self) -> bool {
        let details = self.value.get("detail").and_then(Value::as_array).into_iter().flatten();
        details.filter_map(|detail| detail.get("type")?.as_str()).any(|kind| kind == "extra_forbidden")
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer)?.as_str()
    }
}

/// The part of a text that is searched.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(WORDS_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_found_in_every_shape() {
        for (body, message) in [
            (r#"{"error":{"message":"boom","code":500}}"#, Some("boom")),
            (r#" {"error":"boom"} "#, Some("boom")),
            (r#"{"detail":"boom"}"#, Some("boom")),
            (r#"{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"boom"}]}"#, Some("boom")),
            (r#"{"message":"boom"}"#, Some("boom")),
            (r#"[{"error":{"message":"boom"}}]"#, Some("boom")),
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"boom"}}"#, Some("boom")),
            (r#"{"success":false,"error":{"name":"ZodError","message":"boom"}}"#, Some("boom")),
            (r#"{"error":{}}"#, None),
            (r#"{"error":{"message":" "}}"#, None),
        ] {
            assert_eq!(ErrorBody::parse(body.as_bytes()).unwrap().message(), message, "{body}");
        }
    }

    #[test]
    fn what_is_no_error_is_none() {
        for body in ["", "<html>", "7", "\"text\"", "{}", "[]", r#"{"choices":[]}"#, r#"{"error":null}"#] {
            assert!(ErrorBody::parse(body.as_bytes()).is_none(), "{body}");
        }
    }

    #[test]
    fn the_message_of_an_upstream_error_is_unwrapped() {
        let words = |raw: &str| ErrorBody::of(serde_json::json!({"metadata": {"raw": raw}})).upstream_words();
        assert_eq!(words("slow down").as_deref(), Some("slow down"));
        assert_eq!(words(r#"{"error":"upstream exploded"}"#).as_deref(), Some("upstream exploded"));
        assert_eq!(words("<html>nginx"), None);
        assert_eq!(words(""), None);
    }
}
