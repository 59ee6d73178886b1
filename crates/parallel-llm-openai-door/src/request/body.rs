//! Parses a body, and names the field at which it is wrong.

use axum::body::Bytes;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::{Advice, Operation};
use parallel_llm_engine::{Code, Failure};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::unique::Unique;
use crate::refusal::Refusal;

/// Bodies up to this length are parsed at once, which takes about a millisecond; larger ones on a blocking thread.
const AT_ONCE_BYTES_MAX: usize = 128 * 1024;
/// The longest path and the longest reason in a message, in characters. Both may quote the body.
const PATH_CHARS: usize = 120;
const REASON_CHARS: usize = 240;

/// Parses a body and makes `T` of what it holds.
pub(crate) async fn read<Body, T>(
    bytes: Bytes,
    make: impl FnOnce(Body) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal>
where
    Body: DeserializeOwned,
    T: Send + 'static,
{
    let is_short = bytes.len() <= AT_ONCE_BYTES_MAX;
    let work = move || parse(&bytes).and_then(make);
    if is_short {
        return work();
    }
    let defect = |_| Failure::new(Code::Internal, "a defect ended the reading of the body").into();
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| Err(defect(panic)))
}

fn parse<Body: DeserializeOwned>(bytes: &[u8]) -> Result<Body, Refusal> {
    // Read twice, because a type takes the names that it knows and cannot say which others are there twice.
    let _: Unique = whole(bytes)?;
    whole(bytes)
}

fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let body = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        // A question mark stands for a name that is not known yet, a dot for the whole.
        let path = path.trim_end_matches('?').trim_end_matches('.');
        let path = (!path.is_empty()).then(|| excerpt(path, PATH_CHARS));
        refusal(path, error.inner())
    })?;
    json.end().map_err(|error| refusal(None, &error))?;
    Ok(body)
}

/// The reason in the words of people who write JSON. Where a field is named, its place in the text says nothing more.
fn reason(path: Option<&str>, error: &serde_json::Error) -> String {
    let mut reason = error.to_string();
    if let Some(end) = reason.rfind(" at line ").filter(|_| path.is_some()) {
        reason.truncate(end);
    }
    for (theirs, ours) in [
        ("expected f64", "expected a number"),
        ("expected u32", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("a sequence", "a list"),
        ("a map", "an object"),
        ("a boolean", "`true` or `false`"),
        ("unknown variant", "there is no"),
        ("EOF while", "the end came while"),
    ] {
        reason = reason.replace(theirs, ours);
    }
    excerpt(&reason, REASON_CHARS)
}

/// The refusal of a body that cannot be parsed at this field.
fn refusal(path: Option<String>, error: &serde_json::Error) -> Refusal {
    let reason = reason(path.as_deref(), error);
    let is_json = error.classify() == Category::Data;
    let message = match (&path, is_json) {
        (Some(path), true) => format!("`{path}` cannot be used: {reason}"),
        (Some(path), false) => format!("the body is not JSON at `{path}`: {reason}"),
        (None, true) => format!("the body cannot be used: {reason}"),
        (None, false) => format!("the body is not JSON: {reason}"),
    };
    let failure = Failure::new(Code::Usage, message);
    let (word, failure) = if is_json {
        ("invalid_type", failure.with_next(Operation::Help))
    } else {
        ("invalid_json", failure.with_next(Advice::SendWholeObject))
    };
    match path {
        Some(path) => Refusal::field(path, word, failure),
        None => failure.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ChatRequest;
    use parallel_llm_service::Principal;

    #[track_caller]
    fn check(body: &[u8], param: Option<&str>, message: &str) {
        let refusal = parse::<ChatRequest>(body).expect_err("it is refused");
        let error = serde_json::to_value(refusal.shown(&Principal::Owner).body()).unwrap();
        assert_eq!(error["error"]["param"].as_str(), param, "{error}");
        let shown = error["error"]["message"].as_str().unwrap();
        assert!(shown.starts_with(message), "{shown}");
    }

    #[test]
    fn a_mistake_names_its_field() {
        check(b"", None, "the body is not JSON: the end came while parsing a value");
        check(b"{\"a\":[{\"b\":1,\"b\":2}]}", Some("a[0].b"), "`a[0].b` cannot be used: it is there twice");
        check(b"[]", None, "the body cannot be used: invalid");
        check(b"{\"model\":\"a\",\"messages\":[]} x", None, "the body is not JSON: trailing characters");
        check(b"{\"model\":5}", Some("model"), "`model` cannot be used: invalid type: integer `5`");
        check(b"{\"model\":\"\xff\"}", Some("model"), "the body is not JSON at `model`");
        check(
            b"{\"model\":\"a\",\"model\":\"b\"}",
            Some("model"),
            "`model` cannot be used: it is there twice",
        );
        check(
            b"{\"messages\":[{\"role\":\"boss\"}]}",
            Some("messages[0].role"),
            "`messages[0].role` cannot be used: there is no `boss`, expected one of",
        );
        check(
            b"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":1}]}]}",
            Some("messages[0].content[0].text"),
            "`messages[0].content[0].text` cannot be used: invalid type: integer `1`",
        );
    }
}
