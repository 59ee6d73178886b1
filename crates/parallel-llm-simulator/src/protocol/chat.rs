//! Encodes `chat/completions` in the dialect of each provider that speaks it.

use serde_json::json;

use super::draft::Draft;
use super::encoder::Encoder;
use super::sse::Frame;
use crate::behaviour::fault::Fault;
use crate::dialect::row::{Counts, ReasoningField, UsageLocation};
use crate::dialect::{USER_ID, error_body};
use crate::replies::json::Object;
use crate::state::ledger::cost_pico;
use crate::state::money::Usd;

/// Pico-dollars in one tick of xAI's prices.
const PICO_PER_TICK: i64 = 100;

/// A draft encoded as `chat/completions`.
pub(super) struct Chat<'a> {
    draft: &'a Draft,
    wants_usage: bool,
    opening: Object,
    /// Whether the chunk that holds `role` has been sent.
    role_sent: bool,
}

impl<'a> Chat<'a> {
    pub(super) fn new(draft: &'a Draft, wants_usage: bool) -> Self {
        Self { draft, wants_usage, opening: opening(draft, "chat.completion.chunk"), role_sent: false }
    }

    /// The first chunk, which holds only `role`, in dialects that send one.
    fn role_chunk(&mut self) -> Option<Frame> {
        if !self.draft.dialect.role_first || std::mem::replace(&mut self.role_sent, true) {
            return None;
        }
        let delta = Object::new().with("role", "assistant").with("content", "");
        Some(frame(self.chunk(delta, None)))
    }

    /// A chunk with this delta, after the role chunk if that is due.
    fn chunks(&mut self, delta: Object) -> Vec<Frame> {
        let spoken = self.role_chunk();
        let chunk = frame(self.chunk(delta, None));
        spoken.into_iter().chain([chunk]).collect()
    }

    /// A delta with this content; OpenRouter repeats role and content in every delta.
    fn delta(&self, content: Option<&str>) -> Object {
        let delta = Object::new();
        let delta = match content {
            _ if !self.draft.dialect.role_first => {
                delta.with("content", content.unwrap_or_default()).with("role", "assistant")
            }
            Some(content) => delta.with("content", content),
            None => delta,
        };
        if self.draft.has_unknown_fields {
            delta.with("mood", "calm").with("annotations", &[0; 0])
        } else {
            delta
        }
    }

    fn chunk(&self, delta: Object, finish: Option<(&str, &str)>) -> Object {
        self.chunk_of(self.choice(delta, finish), finish.is_some())
    }

    fn choice(&self, delta: Object, finish: Option<(&str, &str)>) -> Object {
        finished(self.draft, Object::new().with("index", &0).nest("delta", delta), finish)
    }

    fn chunk_of(&self, choice: Object, is_last: bool) -> Object {
        let chunk = self.opening.clone().list("choices", [choice]);
        if self.draft.has_unknown_fields && !is_last { chunk.with("usage", &None::<&str>) } else { chunk }
    }

    /// OpenRouter's end: the last chunk is repeated with the usage.
    fn close_repeated(&self) -> Vec<Frame> {
        let draft = self.draft;
        if !draft.has_choice {
            return vec![self.usage_alone()];
        }
        let last = self.chunk(self.delta(None), Some((draft.finish, draft.native_finish.as_str())));
        let usage = usage(draft, draft.completion_tokens());
        vec![frame(last.clone()), frame(last.nest("usage", usage))]
    }

    /// The end in all other dialects, with the usage where the dialect has it.
    fn close_plain(&mut self) -> Vec<Frame> {
        let draft = self.draft;
        let mut frames: Vec<Frame> = Vec::new();
        let place = draft.dialect.usage;
        let usage = || usage(draft, draft.completion_tokens());
        if draft.has_choice {
            frames.extend(self.role_chunk());
            let choice = self.choice(Object::new(), Some((draft.finish, "")));
            let choice =
                if place == UsageLocation::InChoice { choice.nest("usage", usage()) } else { choice };
            let chunk = self.chunk_of(choice, true);
            frames.push(frame(match place {
                UsageLocation::WithFinish => chunk.nest("usage", usage()),
                UsageLocation::XGroq => {
                    chunk.nest("x_groq", Object::new().with("id", &draft.id).nest("usage", usage()))
                }
                UsageLocation::Repeated | UsageLocation::OnRequest | UsageLocation::InChoice => chunk,
            }));
        }
        let asked = matches!(place, UsageLocation::OnRequest | UsageLocation::XGroq) && self.wants_usage;
        if asked || !draft.has_choice {
            frames.push(self.usage_alone());
        }
        frames
    }

    /// The chunk that holds the usage and no choices.
    fn usage_alone(&self) -> Frame {
        let usage = usage(self.draft, self.draft.completion_tokens());
        frame(self.opening.clone().list("choices", []).nest("usage", usage))
    }

    /// OpenRouter's unified error chunk.
    fn unified_error(&self, code: u16, message: &str, error_type: &str) -> Frame {
        let metadata = Object::new().with("error_type", error_type);
        let error = Object::new().with("code", &code).with("message", message).nest("metadata", metadata);
        let choice = Object::new()
            .with("index", &0)
            .nest("delta", Object::new().with("content", ""))
            .with("finish_reason", "error");
        frame(self.opening.clone().nest("error", error).list("choices", [choice]))
    }
}

impl Encoder for Chat<'_> {
    fn open(&mut self) -> Vec<Frame> {
        let Some(preface) = self.draft.dialect.preface else { return Vec::new() };
        let safe = json!({"filtered": false, "severity": "safe"});
        let results = json!({"hate": safe, "self_harm": safe, "sexual": safe, "violence": safe});
        let chunk = Object::new().list("choices", []).with("created", &0).with("id", "").with("model", "");
        let results = json!([{"prompt_index": 0, "content_filter_results": results}]);
        vec![frame(chunk.with("object", "").with(preface, &results))]
    }

    fn reasoning(&mut self, piece: &str) -> Vec<Frame> {
        match self.draft.dialect.reasoning {
            ReasoningField::Router => {
                let delta = self.delta(None).with("reasoning", piece);
                self.chunks(delta.list("reasoning_details", [detail(piece)]))
            }
            ReasoningField::Named(field) => self.chunks(self.delta(None).with(field, piece)),
            ReasoningField::Parts => self.chunks(self.delta(None).list("content", [thinking_part(piece)])),
            ReasoningField::Hidden => self.role_chunk().into_iter().collect(),
        }
    }

    fn text(&mut self, piece: &str) -> Vec<Frame> {
        let delta =
            if self.draft.dialect.reasoning == ReasoningField::Parts && !self.draft.reasoning.is_empty() {
                self.delta(None).list("content", [text_part(piece)])
            } else {
                self.delta(Some(piece))
            };
        self.chunks(delta)
    }

    fn refusal(&mut self, words: &str) -> Vec<Frame> {
        self.chunks(self.delta(None).with("refusal", words))
    }

    fn close(&mut self) -> Vec<Frame> {
        let repeats = self.draft.dialect.usage == UsageLocation::Repeated;
        let mut frames = if repeats { self.close_repeated() } else { self.close_plain() };
        if self.draft.has_end_mark {
            frames.push(Frame::data(b"[DONE]".to_vec()));
        }
        frames
    }

    fn failure(&mut self, fault: Fault) -> Vec<Frame> {
        let is_router = self.draft.dialect.is_openrouter();
        vec![match fault {
            Fault::SseErrorBare if is_router => Frame::data(bare_error()),
            Fault::SseErrorMid if is_router => {
                self.unified_error(429, "Rate limit exceeded", "rate_limit_exceeded")
            }
            _ if is_router => {
                self.unified_error(502, "Provider disconnected mid-stream", "provider_unavailable")
            }
            Fault::OkFinishError => frame(self.chunk(Object::new(), Some(("error", "error")))),
            _ => Frame::data(error_body(self.draft.dialect, &self.draft.error(fault))),
        }]
    }

    fn broken(&mut self) -> Frame {
        if self.draft.dialect.is_openrouter() {
            return Frame::data(br#"{"id":"gen-1","choices":[{"delta":{"cont"#.to_vec());
        }
        let last = self.text("This chunk never arrives whole.").pop();
        last.map_or(Frame::Comment(String::new()), Frame::halved)
    }

    fn whole(&self, part: Option<&str>) -> Vec<u8> {
        let draft = self.draft;
        let body = opening(draft, "chat.completion");
        if let Some(part) = part {
            let message = Object::new().with("role", "assistant").with("content", part);
            let choice = Object::new().with("index", &0).with("logprobs", &None::<&str>);
            let choice = finished(draft, choice, Some(("error", "error"))).nest("message", message);
            let choice = if draft.dialect.is_openrouter() {
                let message = "Provider disconnected mid-stream";
                choice.nest("error", Object::new().with("code", &502).with("message", message))
            } else {
                choice
            };
            return body.list("choices", [choice]).nest("usage", usage(draft, 0)).bytes();
        }
        let body = body.with("system_fingerprint", &None::<&str>);
        let choices = draft.has_choice.then(|| whole_choice(draft));
        body.list("choices", choices).nest("usage", usage(draft, draft.completion_tokens())).bytes()
    }
}

fn frame(chunk: Object) -> Frame {
    Frame::data(chunk.bytes())
}

/// The first fields of a body or a chunk.
fn opening(draft: &Draft, object: &str) -> Object {
    let opening = Object::new()
        .with("id", &draft.id)
        .with("object", object)
        .with("created", &draft.created)
        .with("model", &draft.model);
    let opening =
        if draft.dialect.is_openrouter() { opening.with("provider", draft.provider) } else { opening };
    if draft.has_unknown_fields {
        opening.nest("x_trace", Object::new().with("hops", &[1, 2]))
    } else {
        opening
    }
}

/// Adds the finish reasons to a choice: OpenAI's and, for OpenRouter, the native one.
fn finished(draft: &Draft, choice: Object, finish: Option<(&str, &str)>) -> Object {
    let choice = choice.with("finish_reason", &finish.map(|(finish, _)| finish));
    if draft.dialect.is_openrouter() {
        choice.with("native_finish_reason", &finish.map(|(_, native)| native))
    } else {
        choice
    }
}

fn whole_choice(draft: &Draft) -> Object {
    let message = Object::new().with("role", "assistant");
    let has_reasoning = !draft.reasoning.is_empty();
    let field = draft.dialect.reasoning;
    let message = if field == ReasoningField::Parts && has_reasoning {
        message.list("content", [thinking_part(&draft.reasoning), text_part(draft.text())])
    } else {
        message.with("content", &draft.content)
    };
    let message = message.with("refusal", &draft.refusal);
    let message = match field {
        ReasoningField::Router if has_reasoning => {
            let message = message.with("reasoning", &draft.reasoning);
            message.list("reasoning_details", [detail(&draft.reasoning)])
        }
        ReasoningField::Named(name) if has_reasoning => message.with(name, &draft.reasoning),
        _ => message,
    };
    let message = if draft.has_unknown_fields { message.with("mood", "calm") } else { message };
    let choice = Object::new().with("index", &0).with("logprobs", &None::<&str>);
    finished(draft, choice, Some((draft.finish, &draft.native_finish))).nest("message", message)
}

/// An item of OpenRouter's `reasoning_details`.
fn detail(text: &str) -> Object {
    let detail = Object::new().with("type", "reasoning.text").with("text", text);
    detail.with("format", "unknown").with("index", &0)
}

/// An item of Mistral's `content` list.
fn thinking_part(text: &str) -> Object {
    Object::new().with("type", "thinking").list("thinking", [text_part(text)])
}

fn text_part(text: &str) -> Object {
    Object::new().with("type", "text").with("text", text)
}

/// OpenRouter's error without choices, whose code is a string.
fn bare_error() -> Vec<u8> {
    let error = Object::new().with("message", "Upstream idle timeout exceeded").with("code", "server_error");
    Object::new().nest("error", error).with("user_id", USER_ID).bytes()
}

/// The `usage` object after this many completion tokens.
fn usage(draft: &Draft, completion_tokens: u64) -> Object {
    let reasoning_tokens = draft.reasoning_tokens().min(completion_tokens);
    let total = draft.prompt_tokens + completion_tokens;
    let counts = draft.dialect.counts;
    let shown = if counts == Counts::Xai { completion_tokens - reasoning_tokens } else { completion_tokens };
    let usage = Object::new()
        .with("prompt_tokens", &draft.prompt_tokens)
        .with("completion_tokens", &shown)
        .with("total_tokens", &total);
    let reasoning = Object::new().with("reasoning_tokens", &reasoning_tokens);
    match counts {
        Counts::Router => router_usage(draft, usage, completion_tokens, reasoning),
        Counts::Plain => usage.nest("completion_tokens_details", reasoning),
        Counts::Moonshot => usage.with("cached_tokens", &0).nest("completion_tokens_details", reasoning),
        Counts::DeepSeek => usage
            .with("prompt_cache_hit_tokens", &0)
            .with("prompt_cache_miss_tokens", &draft.prompt_tokens)
            .nest("completion_tokens_details", reasoning),
        Counts::Xai => {
            let ticks = cost_pico(draft.rate, draft.prompt_tokens, completion_tokens) / PICO_PER_TICK;
            usage.nest("completion_tokens_details", reasoning).with("cost_in_usd_ticks", &ticks)
        }
    }
}

fn router_usage(draft: &Draft, usage: Object, completion_tokens: u64, reasoning: Object) -> Object {
    let prompt_pico = cost_pico(draft.rate, draft.prompt_tokens, 0);
    let completion_pico = cost_pico(draft.rate, 0, completion_tokens);
    let total = Usd { pico: prompt_pico + completion_pico };
    let prompt = Object::new()
        .with("cached_tokens", &0)
        .with("cache_write_tokens", &0)
        .with("audio_tokens", &0)
        .with("video_tokens", &0);
    let cost = Object::new()
        .with("upstream_inference_cost", &total)
        .with("upstream_inference_prompt_cost", &Usd { pico: prompt_pico })
        .with("upstream_inference_completions_cost", &Usd { pico: completion_pico });
    usage
        .with("cost", &total)
        .with("is_byok", &false)
        .nest("prompt_tokens_details", prompt)
        .nest("cost_details", cost)
        .nest("completion_tokens_details", reasoning.with("image_tokens", &0).with("audio_tokens", &0))
}
