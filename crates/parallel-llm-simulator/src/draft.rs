//! An answer before it is written: what it says, what it costs, and where it breaks.
//!
//! A healthy answer and a broken one are the same value; `whole` and `stream` write it in the two forms of the
//! protocol, so that a fault means the same in both.

use crate::catalogue::Rate;
use crate::fault::Fault;
use crate::json::Object;
use crate::ledger::cost_pico;
use crate::money::Usd;
use crate::refusal::USER_ID;
use crate::request::token_count;

/// Which protocol the reply follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// With provider, native finish reason and cost.
    OpenRouter,
    /// As OpenAI publishes it: usage only on request.
    OpenAi,
}

/// An answer before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) dialect: Dialect,
    pub(crate) id: String,
    pub(crate) created: u64,
    /// The slug as the reply shows it.
    pub(crate) model: String,
    pub(crate) provider: String,
    pub(crate) rate: Rate,
    pub(crate) prompt_tokens: u64,
    /// `None` is JSON's `null`.
    pub(crate) content: Option<String>,
    pub(crate) reasoning: String,
    pub(crate) refusal: Option<&'static str>,
    pub(crate) finish: &'static str,
    pub(crate) native_finish: &'static str,
    /// False leaves `choices` empty.
    pub(crate) has_choice: bool,
    /// Adds fields nobody has seen before.
    pub(crate) novel: bool,
    /// The fault that ends the reply early, and how many tokens leave before.
    pub(crate) breaks: Option<Fault>,
    pub(crate) after_tokens: u64,
}

/// What a model that refuses says.
const REFUSAL: &str = "I can't help with that request.";

/// Text whose characters take two, three and four bytes.
const WIDE_TEXT: &str = "\n\nNaïve café — 你好，世界 · 再試行は安全に · 🙂🚀👩‍👩‍👧";

/// Tokens that `reasoning_burn` spends at least.
const BURNT_TOKENS_MIN: usize = 76;

/// What reasoning says, over and over.
const REASONING: &str = "The user asks for something practical, so I weigh what can go wrong first. \
    Then I look for the smallest change that prevents it, and I check it against the unhappy paths. ";

impl Draft {
    pub(crate) fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// Reasoning of exactly so many tokens.
    pub(crate) fn reason(&mut self, tokens: usize) {
        self.reasoning = REASONING.chars().cycle().take(tokens * 4).collect();
    }

    /// Keeps the answer within a limit, as a model does: reasoning is spent first, then the text is cut.
    pub(crate) fn limit(&mut self, tokens_max: u64) {
        if self.completion_tokens() <= tokens_max {
            return;
        }
        let bytes_max = usize::try_from(tokens_max).unwrap_or(usize::MAX).saturating_mul(4);
        self.reasoning.truncate(bytes_max);
        let left = bytes_max - self.reasoning.len();
        if let Some(content) = &mut self.content {
            content.truncate(content.floor_char_boundary(left));
        }
        self.stop_for_length();
    }

    /// Changes what the answer says, or notes where it breaks.
    pub(crate) fn spoil(&mut self, fault: Fault) {
        match fault {
            Fault::EmptyChoices => self.drop_choice(),
            Fault::NullContent => self.content = None,
            Fault::EmptyContent => self.content = Some(String::new()),
            Fault::ReasoningBurn => self.burn(),
            Fault::TruncatedLength => self.limit(self.completion_tokens() / 2),
            Fault::Refusal => self.refuse(),
            Fault::ContentFilter => {
                self.content = Some(String::new());
                (self.finish, self.native_finish) = ("content_filter", "SAFETY");
            }
            Fault::ByteSplit => self.content = Some(format!("{}{WIDE_TEXT}", self.text())),
            Fault::UnknownFields => {
                self.novel = true;
                (self.finish, self.native_finish) = ("compacted", "compacted");
            }
            Fault::OddFraming | Fault::SseNoDone => {}
            breaks => self.breaks = Some(breaks),
        }
    }

    fn drop_choice(&mut self) {
        self.content = None;
        self.reasoning.clear();
        self.has_choice = false;
    }

    fn burn(&mut self) {
        let tokens = self.reasoning.len() / 4;
        self.reason(tokens.max(BURNT_TOKENS_MIN));
        self.content = Some(String::new());
        self.stop_for_length();
    }

    fn refuse(&mut self) {
        self.content = None;
        self.refusal = Some(REFUSAL);
        self.native_finish = "refusal";
    }

    fn stop_for_length(&mut self) {
        (self.finish, self.native_finish) = ("length", "max_output_tokens");
    }

    pub(crate) fn reasoning_tokens(&self) -> u64 {
        token_count(self.reasoning.len())
    }

    /// Reasoning included.
    pub(crate) fn completion_tokens(&self) -> u64 {
        let said = self.text().len() + self.refusal.map_or(0, str::len);
        self.reasoning_tokens() + token_count(said)
    }

    /// The `usage` object.
    pub(crate) fn usage(&self) -> Object {
        self.usage_of(self.completion_tokens())
    }

    /// A `usage` object with nothing generated yet.
    pub(crate) fn usage_before(&self) -> Object {
        self.usage_of(0)
    }

    fn usage_of(&self, completion_tokens: u64) -> Object {
        let reasoning_tokens = self.reasoning_tokens().min(completion_tokens);
        let usage = Object::new()
            .with("prompt_tokens", &self.prompt_tokens)
            .with("completion_tokens", &completion_tokens)
            .with("total_tokens", &(self.prompt_tokens + completion_tokens));
        if self.dialect == Dialect::OpenAi {
            return usage.nest(
                "completion_tokens_details",
                Object::new().with("reasoning_tokens", &reasoning_tokens),
            );
        }
        let prompt_pico = cost_pico(self.rate, self.prompt_tokens, 0);
        let completion_pico = cost_pico(self.rate, 0, completion_tokens);
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
        let completion = Object::new()
            .with("reasoning_tokens", &reasoning_tokens)
            .with("image_tokens", &0)
            .with("audio_tokens", &0);
        usage
            .with("cost", &total)
            .with("is_byok", &false)
            .nest("prompt_tokens_details", prompt)
            .nest("cost_details", cost)
            .nest("completion_tokens_details", completion)
    }

    /// The first fields of a body or a chunk.
    pub(crate) fn opening(&self, object: &str) -> Object {
        let opening = Object::new()
            .with("id", &self.id)
            .with("object", object)
            .with("created", &self.created)
            .with("model", &self.model);
        let opening = match self.dialect {
            Dialect::OpenRouter => opening.with("provider", &self.provider),
            Dialect::OpenAi => opening,
        };
        if self.novel { opening.nest("x_trace", Object::new().with("hops", &[1, 2])) } else { opening }
    }

    /// The end of a choice: both finish reasons.
    pub(crate) fn finished(&self, choice: Object, finish: Option<(&str, &str)>) -> Object {
        let choice = choice.with("finish_reason", &finish.map(|(finish, _)| finish));
        match self.dialect {
            Dialect::OpenRouter => choice.with("native_finish_reason", &finish.map(|(_, native)| native)),
            Dialect::OpenAi => choice,
        }
    }

    /// Reasoning as one detail of type `reasoning.text`.
    pub(crate) fn reasoning_detail(text: &str) -> Object {
        Object::new()
            .with("type", "reasoning.text")
            .with("text", text)
            .with("format", "unknown")
            .with("index", &0)
    }
}

/// An error without anything around it, its code a word.
pub(crate) fn bare_error() -> Object {
    let error = Object::new().with("message", "Upstream idle timeout exceeded").with("code", "server_error");
    Object::new().nest("error", error).with("user_id", USER_ID)
}

/// The first part of a text that holds at most this many tokens, and the rest; never splits a character.
pub(crate) fn split_tokens(text: &str, tokens: u64) -> (&str, &str) {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(4);
    text.split_at(text.floor_char_boundary(bytes))
}
