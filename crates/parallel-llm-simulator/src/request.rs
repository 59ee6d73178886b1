//! Reads the body of a chat request: the fields the simulator acts on, and nothing else.
//!
//! Unknown fields and sampling parameters are ignored, as OpenRouter does. What is wrong with a body is said as a
//! value; how that is answered is left to `refusal`.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The body of a chat request.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatRequest {
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) models: Vec<String>,
    pub(crate) messages: Option<Vec<Message>>,
    #[serde(default)]
    pub(crate) stream: bool,
    max_completion_tokens: Option<u64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) temperature: Option<IgnoredAny>,
    reasoning: Option<Reasoning>,
    reasoning_effort: Option<String>,
    stream_options: Option<StreamOptions>,
}

/// One message; only its role and its text matter here.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    role: String,
    #[serde(default)]
    content: Content,
}

/// Text, or parts of which some are text.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
    #[default]
    Nothing,
}

#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Reasoning {
    effort: Option<String>,
    enabled: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// Why a body is no chat request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadBody {
    /// No JSON, or nothing in it to answer.
    Empty,
    /// Neither `prompt` nor `messages`.
    NoMessages,
    /// A field of the wrong type.
    WrongType(String),
}

impl ChatRequest {
    pub(crate) fn read(body: &[u8]) -> Result<Self, BadBody> {
        let request: Self = serde_json::from_slice(body).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => BadBody::WrongType(error.to_string()),
            _ => BadBody::Empty,
        })?;
        match request.messages.as_deref() {
            None => Err(BadBody::NoMessages),
            Some([]) => Err(BadBody::Empty),
            Some(_) => Ok(request),
        }
    }

    /// The models to try, in order.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &str> {
        self.model.iter().chain(&self.models).map(String::as_str)
    }

    /// Tokens of the prompt: the bytes of all text over four, rounded up.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        let bytes: usize = self.messages().iter().map(|message| message.content.bytes()).sum();
        token_count(bytes)
    }

    /// The text of the last message of the user.
    pub(crate) fn question(&self) -> String {
        let asked = self.messages().iter().rev().find(|message| message.role == "user");
        asked.or(self.messages().last()).map(|message| message.content.text()).unwrap_or_default()
    }

    /// The most tokens the answer may have, if the request says.
    pub(crate) fn output_tokens_max(&self) -> Option<u64> {
        self.max_completion_tokens.or(self.max_tokens)
    }

    pub(crate) fn forbids_reasoning(&self) -> bool {
        let effort = self.reasoning.as_ref().and_then(|reasoning| reasoning.effort.as_deref());
        let off = self.reasoning.as_ref().is_some_and(|reasoning| reasoning.enabled == Some(false));
        off || effort.or(self.reasoning_effort.as_deref()) == Some("none")
    }

    pub(crate) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    fn messages(&self) -> &[Message] {
        self.messages.as_deref().unwrap_or_default()
    }
}

impl Content {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Parts(parts) => parts.iter().filter_map(|part| part.text.as_ref()).map(String::len).sum(),
            Self::Nothing => 0,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts.iter().filter_map(|part| part.text.as_deref()).collect(),
            Self::Nothing => String::new(),
        }
    }
}

/// The simulator's tokenizer: four bytes are a token.
pub(crate) fn token_count(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<ChatRequest, BadBody> {
        ChatRequest::read(body.as_bytes())
    }

    #[test]
    fn text_is_found_in_strings_and_parts() {
        let request = read(
            r#"{"model":"a/b","messages":[{"role":"system","content":"Be brief."},
                {"role":"user","content":[{"type":"text","text":"One "},{"type":"image_url"},{"type":"text","text":"two"}]},
                {"role":"assistant","content":null}],"temperature":"hot","novel":[1]}"#,
        )
        .unwrap();
        assert_eq!(request.question(), "One two");
        assert_eq!(request.prompt_tokens(), 4);
    }

    #[test]
    fn bad_bodies_are_told_apart() {
        assert_eq!(read("{").unwrap_err(), BadBody::Empty);
        assert_eq!(read("{}").unwrap_err(), BadBody::NoMessages);
        assert_eq!(read(r#"{"messages":[]}"#).unwrap_err(), BadBody::Empty);
        assert!(matches!(read(r#"{"messages":7}"#), Err(BadBody::WrongType(_))));
    }
}
