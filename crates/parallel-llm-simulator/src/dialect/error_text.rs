//! The kinds of API errors, and their texts: a status, a message with placeholders, a type and a code.
//!
//! `assets/errors.json` holds the texts of each provider; `error` adds the shape around them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The kinds of errors, caused by a rule or by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorKind {
    KeyMissing,
    KeyBad,
    /// A key in the query of the URL.
    KeyInQuery,
    /// The version header is missing.
    VersionMissing,
    /// The body is empty or not JSON.
    BadBody,
    /// No messages to answer.
    NoMessages,
    /// A field of the wrong type.
    WrongType,
    UnknownField,
    BadModel,
    NoModel,
    /// The model is no longer offered.
    NoEndpoints,
    Context,
    ReasoningMandatory,
    /// The model does not accept this kind of input.
    Modality,
    Credits,
    InFlight,
    KeyLimit,
    Moderation,
    DataPolicy,
    Timeout,
    TooLarge,
    Invalid,
    Rate,
    /// `Rate` with a retry hint in the body.
    RateHinted,
    RateDay,
    Server,
    BadGateway,
    Unavailable,
    Overloaded,
    /// The provider quotes the key it was sent.
    KeyEcho,
    NotFound,
    /// No generation has this id.
    NoGeneration,
    /// A control request or a scenario is invalid.
    ControlRequest,
}

/// One error text. Placeholders such as `{model}` are filled from [`ErrorDetails`]; an empty type, code or parameter
/// becomes `null`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ErrorText {
    pub(crate) status: u16,
    pub(crate) message: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) code: String,
    pub(crate) param: String,
    /// OpenRouter's additions: metadata with placeholders, whether to name the user, and headers.
    pub(crate) metadata: Option<Box<RawValue>>,
    pub(crate) user: bool,
    pub(crate) headers: Vec<(String, String)>,
}

/// Longest quote of a prompt, in characters.
const QUOTED_CHARS_MAX: usize = 100;

/// The values of the placeholders.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorDetails {
    /// The requested model, and the slug that serves it.
    pub(crate) model: String,
    pub(crate) slug: String,
    pub(crate) provider: String,
    /// The path of the field, and its value.
    pub(crate) at: Vec<String>,
    pub(crate) value: Value,
    /// All unknown fields, for providers that list them.
    pub(crate) unknown: Vec<(Vec<String>, Value)>,
    /// Tokens: the model's context, the prompt, and the requested output.
    pub(crate) context: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    /// The model's limit on output tokens, and the output tokens the account can afford.
    pub(crate) output_max: u64,
    pub(crate) affordable: u64,
    /// The key as sent.
    pub(crate) key: String,
    pub(crate) prompt: String,
    /// Why the body is invalid, or another reason.
    pub(crate) reason: String,
    /// Free requests per day, and when the next ones are available.
    pub(crate) limit: u32,
    pub(crate) reset_unix_ms: u64,
    pub(crate) request_id: String,
}

impl ErrorDetails {
    /// The text with its placeholders filled.
    pub(super) fn fill(&self, template: &str) -> String {
        self.fill_as(template, |value| value)
    }

    /// The same for JSON with placeholders inside strings.
    pub(super) fn fill_json(&self, template: &str) -> String {
        self.fill_as(template, |value| {
            let quoted = Value::from(value).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    fn fill_as(&self, template: &str, written: impl Fn(String) -> String) -> String {
        let gaps: [(&str, &dyn Fn() -> String); 18] = [
            ("{slug}", &|| self.slug.clone()),
            ("{provider}", &|| self.provider.clone()),
            ("{prompt}", &|| self.prompt.chars().take(QUOTED_CHARS_MAX).collect()),
            ("{affordable}", &|| self.affordable.to_string()),
            ("{limit}", &|| self.limit.to_string()),
            ("{reset}", &|| self.reset_unix_ms.to_string()),
            ("{model}", &|| self.model.clone()),
            ("{field}", &|| self.at.join(".")),
            ("{last}", &|| self.at.last().cloned().unwrap_or_default()),
            ("{parent}", &|| parent(&self.at)),
            ("{value}", &|| self.value.to_string()),
            ("{context}", &|| self.context.to_string()),
            ("{input}", &|| self.input.to_string()),
            ("{output}", &|| self.output.to_string()),
            ("{total}", &|| self.input.saturating_add(self.output).to_string()),
            ("{output_max}", &|| self.output_max.to_string()),
            ("{key}", &|| masked(&self.key)),
            ("{reason}", &|| self.reason.clone()),
        ];
        // One pass over the template: inserted values come from clients and must not be searched for placeholders.
        let mut filled = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            let (before, tail) = rest.split_at(at);
            filled.push_str(before);
            if let Some((gap, value)) = gaps.iter().find(|(gap, _)| tail.starts_with(gap)) {
                filled.push_str(&written(value()));
                rest = &tail[gap.len()..];
            } else {
                filled.push('{');
                rest = &tail[1..];
            }
        }
        filled.push_str(rest);
        filled
    }
}

/// The parent of a field in Gemini's words: ` at 'generation_config'`, or nothing at the top level.
fn parent(at: &[String]) -> String {
    match at {
        [parents @ .., _] if !parents.is_empty() => format!(" at '{}'", parents.join(".")),
        _ => String::new(),
    }
}

/// A key as providers echo it: its first 8 and last 4 characters.
fn masked(key: &str) -> String {
    let key = key.strip_prefix("Bearer ").unwrap_or(key);
    let signs: Vec<char> = key.chars().collect();
    match signs.len() {
        0..=12 => "*".repeat(signs.len()),
        count => {
            let (head, tail) = (signs[..8].iter(), signs[count - 4..].iter());
            format!("{}{}{}", head.collect::<String>(), "*".repeat(8), tail.collect::<String>())
        }
    }
}

/// An API error, caused by a rule or by a fault.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) kind: ErrorKind,
    /// A rule's own text, in place of the provider's usual one.
    pub(crate) text: Option<&'static ErrorText>,
    /// Boxed, because it is large and rare.
    pub(crate) details: Box<ErrorDetails>,
}

impl ApiError {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind, text: None, details: Box::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_once() {
        let at = ["generation_config".to_owned(), "foo".to_owned()];
        let details = ErrorDetails {
            model: "{key}".into(),
            input: 2,
            output: 3,
            key: "Bearer 0123456789abcdef".into(),
            at: at.into(),
            ..ErrorDetails::default()
        };
        let filled = details.fill("{model} {total} {key} {unknown} \"{last}\"{parent} {");
        assert_eq!(filled, "{key} 5 01234567********cdef {unknown} \"foo\" at 'generation_config' {");
    }
}
