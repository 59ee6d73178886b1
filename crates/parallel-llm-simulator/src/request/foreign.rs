//! Converts request bodies of the other protocols into a chat request.

use serde::Deserialize;
use serde_json::{Error, Value};

use super::chat_request::{ChatRequest, Content, Message, Part, Thinking};

/// Anthropic's `messages`: the system prompt is a field beside the messages.
pub(super) fn messages(body: &Value) -> Result<ChatRequest, Error> {
    #[derive(Deserialize)]
    struct MessagesBody {
        model: Option<String>,
        max_tokens: Option<u64>,
        messages: Option<Vec<Message>>,
        #[serde(default)]
        system: Content,
        #[serde(default)]
        stream: bool,
        thinking: Option<Thinking>,
    }
    let body = MessagesBody::deserialize(body)?;
    Ok(ChatRequest {
        model: body.model,
        max_tokens: body.max_tokens,
        messages: with_system(body.system, body.messages),
        stream: body.stream,
        thinking: body.thinking,
        ..ChatRequest::default()
    })
}

/// Gemini's `generateContent`: a part's field gives its kind, and field names may be camel or snake case.
pub(super) fn gemini(body: &Value) -> Result<ChatRequest, Error> {
    #[derive(Deserialize)]
    struct GeminiBody {
        contents: Option<Vec<Turn>>,
        #[serde(alias = "system_instruction", rename = "systemInstruction")]
        system: Option<Turn>,
        #[serde(alias = "generation_config", rename = "generationConfig", default)]
        config: Config,
    }
    #[derive(Default, Deserialize)]
    struct Config {
        #[serde(alias = "max_output_tokens", rename = "maxOutputTokens")]
        tokens_max: Option<u64>,
        #[serde(alias = "thinking_config", rename = "thinkingConfig", default)]
        thinking: ThinkingConfig,
    }
    #[derive(Default, Deserialize)]
    struct ThinkingConfig {
        #[serde(alias = "include_thoughts", rename = "includeThoughts", default)]
        shown: bool,
        #[serde(alias = "thinking_budget", rename = "thinkingBudget")]
        budget: Option<i64>,
    }
    let body = GeminiBody::deserialize(body)?;
    let system = body.system.map_or(Content::Nothing, |turn| Content::Parts(turn.parts()));
    let turns = body.contents.map(|turns| turns.into_iter().map(Turn::message).collect());
    let is_off = body.config.thinking.budget == Some(0);
    Ok(ChatRequest {
        max_tokens: body.config.tokens_max,
        messages: with_system(system, turns),
        thinking: is_off.then(|| Thinking { kind: "disabled".to_owned() }),
        hides_thoughts: !body.config.thinking.shown,
        ..ChatRequest::default()
    })
}

/// Ollama's `/api/chat`: streaming is the default, and images are a field beside the text.
pub(super) fn lines(body: &Value) -> Result<ChatRequest, Error> {
    #[derive(Deserialize)]
    struct OllamaBody {
        model: Option<String>,
        messages: Option<Vec<Line>>,
        stream: Option<bool>,
        think: Option<Value>,
        #[serde(default)]
        options: Options,
    }
    #[derive(Deserialize)]
    struct Line {
        role: String,
        #[serde(default)]
        content: String,
        #[serde(default)]
        images: Vec<String>,
    }
    #[derive(Default, Deserialize)]
    struct Options {
        num_predict: Option<i64>,
        num_ctx: Option<u64>,
    }
    let body = OllamaBody::deserialize(body)?;
    let part = |kind: &str, text| Part { kind: kind.to_owned(), text };
    let message = |line: Line| {
        let images = line.images.iter().map(|_| part("image", None));
        let parts = std::iter::once(part("text", Some(line.content))).chain(images).collect();
        Message { role: line.role, content: Content::Parts(parts) }
    };
    let is_off = body.think == Some(Value::Bool(false));
    Ok(ChatRequest {
        model: body.model,
        messages: body.messages.map(|lines| lines.into_iter().map(message).collect()),
        stream: body.stream.unwrap_or(true),
        // A negative limit means no limit.
        max_tokens: body.options.num_predict.and_then(|tokens| u64::try_from(tokens).ok()),
        thinking: is_off.then(|| Thinking { kind: "disabled".to_owned() }),
        context_tokens: body.options.num_ctx,
        ..ChatRequest::default()
    })
}

/// One message.
#[derive(Deserialize)]
struct Turn {
    #[serde(default)]
    role: String,
    #[serde(default)]
    parts: Vec<Piece>,
}

#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
    #[serde(alias = "inline_data", alias = "inlineData", alias = "file_data", rename = "fileData")]
    media: Option<Media>,
}

#[derive(Deserialize)]
struct Media {
    #[serde(alias = "mime_type", rename = "mimeType", default)]
    mime: String,
}

impl Turn {
    fn message(self) -> Message {
        Message { role: self.role.clone(), content: Content::Parts(self.parts()) }
    }

    fn parts(self) -> Vec<Part> {
        self.parts.into_iter().map(Piece::part).collect()
    }
}

impl Piece {
    fn part(self) -> Part {
        let kind = match self.media.as_ref().map(|media| media.mime.split('/').next().unwrap_or_default()) {
            None => "text",
            Some("image") => "image",
            Some("audio") => "audio",
            Some("video") => "video",
            Some(_) => "file",
        };
        Part { kind: kind.to_owned(), text: self.text }
    }
}

fn with_system(system: Content, messages: Option<Vec<Message>>) -> Option<Vec<Message>> {
    let mut messages = messages?;
    if !messages.is_empty() && !matches!(system, Content::Nothing) {
        messages.insert(0, Message { role: "system".to_owned(), content: system });
    }
    Some(messages)
}
