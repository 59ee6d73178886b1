//! A chat request in the fields of `chat/completions`, and what the simulator reads from it.

use serde::Deserialize;

/// A chat request. Field names are those of `chat/completions`; other protocols are converted.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ChatRequest {
    pub(crate) model: Option<String>,
    pub(super) messages: Option<Vec<Message>>,
    #[serde(default)]
    pub(crate) stream: bool,
    pub(super) max_completion_tokens: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) reasoning: Option<Reasoning>,
    pub(super) reasoning_effort: Option<String>,
    pub(super) thinking: Option<Thinking>,
    pub(super) stream_options: Option<StreamOptions>,
    /// Whether to hide the reasoning; only Gemini asks.
    #[serde(skip)]
    pub(crate) hides_thoughts: bool,
    /// Context length in tokens, if the request sets one.
    #[serde(skip)]
    pub(crate) context_tokens: Option<u64>,
}

/// One message: its role and its content.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Content,
}

/// Text, or a list of parts.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
    #[default]
    Nothing,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    pub(super) text: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reasoning {
    pub(super) effort: Option<String>,
    pub(super) enabled: Option<bool>,
}

/// The reasoning switch of Anthropic, DeepSeek and Moonshot.
#[derive(Debug, Deserialize)]
pub(super) struct Thinking {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamOptions {
    #[serde(default)]
    pub(super) include_usage: bool,
}

/// Why a body is not a chat request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadBody {
    /// Invalid JSON, or an empty list of messages.
    Empty,
    /// Neither `prompt` nor `messages`.
    NoMessages,
    /// A field of the wrong type.
    WrongType(String),
}

impl ChatRequest {
    /// Parses a body of `chat/completions`.
    pub(crate) fn read(body: &[u8]) -> Result<Self, BadBody> {
        let request: Self = serde_json::from_slice(body).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => BadBody::WrongType(error.to_string()),
            _ => BadBody::Empty,
        })?;
        request.with_messages()
    }

    pub(super) fn with_messages(self) -> Result<Self, BadBody> {
        match self.messages.as_deref() {
            None => Err(BadBody::NoMessages),
            Some([]) => Err(BadBody::Empty),
            Some(_) => Ok(self),
        }
    }

    /// Prompt tokens: the bytes of all text divided by four, rounded up.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        let bytes: usize = self.messages().iter().map(|message| message.content.bytes()).sum();
        token_count(bytes)
    }

    /// The text of the last user message.
    pub(crate) fn question(&self) -> String {
        let asked = self.messages().iter().rev().find(|message| message.role == "user");
        asked.or(self.messages().last()).map(|message| message.content.text()).unwrap_or_default()
    }

    /// The limit on output tokens: the first of these fields that the request has.
    pub(crate) fn output_tokens_max(&self, fields: &[&str]) -> Option<u64> {
        fields.iter().find_map(|field| match *field {
            "max_completion_tokens" => self.max_completion_tokens,
            _ => self.max_tokens,
        })
    }

    pub(crate) fn forbids_reasoning(&self) -> bool {
        let effort = self.reasoning.as_ref().and_then(|reasoning| reasoning.effort.as_deref());
        let off = self.reasoning.as_ref().is_some_and(|reasoning| reasoning.enabled == Some(false));
        let disabled = self.thinking.as_ref().is_some_and(|thinking| thinking.kind == "disabled");
        off || disabled || effort.or(self.reasoning_effort.as_deref()) == Some("none")
    }

    pub(crate) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    /// The modalities of the messages besides text, in the catalogue's words: `image`, `file`, `audio` or `video`.
    pub(crate) fn modalities(&self) -> impl Iterator<Item = &'static str> {
        self.messages().iter().flat_map(|message| message.content.parts()).filter_map(Part::modality)
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

    fn parts(&self) -> &[Part] {
        match self {
            Self::Parts(parts) => parts,
            Self::Text(_) | Self::Nothing => &[],
        }
    }
}

impl Part {
    /// `None` for text and for unknown kinds.
    fn modality(&self) -> Option<&'static str> {
        Some(match self.kind.as_str() {
            "image" | "image_url" | "input_image" => "image",
            "file" | "document" | "document_url" | "input_file" => "file",
            "audio" | "input_audio" | "audio_url" => "audio",
            "video" | "video_url" | "input_video" => "video",
            _ => return None,
        })
    }
}

/// The simulator's tokenizer: one token per four bytes.
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
        assert_eq!(request.modalities().collect::<Vec<_>>(), ["image"]);
    }

    #[test]
    fn bad_bodies_are_distinguished() {
        assert_eq!(read("{").unwrap_err(), BadBody::Empty);
        assert_eq!(read("{}").unwrap_err(), BadBody::NoMessages);
        assert_eq!(read(r#"{"messages":[]}"#).unwrap_err(), BadBody::Empty);
        assert!(matches!(read(r#"{"messages":7}"#), Err(BadBody::WrongType(_))));
    }
}
