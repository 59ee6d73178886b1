//! An answer before encoding: its text, its cost, and the point where it breaks.
//!
//! Healthy and broken answers are the same type. `protocol` encodes it for each protocol, streamed and whole, so that a
//! fault means the same in all of them.

use crate::behaviour::fault::Fault;
use crate::dialect::row::Dialect;
use crate::dialect::{ApiError, ErrorDetails, ErrorKind};
use crate::request::chat_request::token_count;
use crate::state::catalogue::Rate;

/// An answer before encoding.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) dialect: &'static Dialect,
    pub(crate) id: String,
    pub(crate) created: u64,
    /// The model's name in the reply.
    pub(crate) model: String,
    pub(crate) provider: &'static str,
    pub(crate) rate: Rate,
    pub(crate) prompt_tokens: u64,
    /// `None` is JSON's `null`.
    pub(crate) content: Option<String>,
    pub(crate) reasoning: String,
    /// Whether the reply shows the reasoning; its tokens are billed in any case.
    pub(crate) shows_reasoning: bool,
    pub(crate) refusal: Option<String>,
    /// The finish reason in OpenAI's words; other protocols translate it.
    pub(crate) finish: &'static str,
    pub(crate) native_finish: String,
    /// `false` leaves `choices` empty.
    pub(crate) has_choice: bool,
    /// Whether a stream ends with `[DONE]` or the protocol's own mark.
    pub(crate) has_end_mark: bool,
    /// Whether to add fields that no client knows.
    pub(crate) has_unknown_fields: bool,
    /// The fault that breaks the reply off, and the number of tokens sent before.
    pub(crate) breaks: Option<Fault>,
    pub(crate) after_tokens: u64,
    /// Details for an error in the middle of the reply; only a fault needs them.
    pub(crate) details: Option<Box<ErrorDetails>>,
}

/// The text of a refusal.
const REFUSAL: &str = "I can't help with that request.";

/// Text with characters of two, three and four bytes.
const WIDE_TEXT: &str = "\n\nNaïve café — 你好，世界 · 再試行は安全に · 🙂🚀👩‍👩‍👧";

/// Fewest reasoning tokens of `reasoning_burn`.
const BURNT_TOKENS_MIN: usize = 76;

/// The text of reasoning, repeated as needed.
const REASONING: &str = "The user asks for something practical, so I weigh what can go wrong first. \
    Then I look for the smallest change that prevents it, and I check it against the unhappy paths. ";

impl Draft {
    pub(crate) fn text(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// The refusal or the answer; `None` is JSON's `null`.
    pub(crate) fn text_or_refusal(&self) -> Option<&str> {
        self.refusal.as_deref().or(self.content.as_deref())
    }

    /// Sets the reasoning to exactly this many tokens.
    pub(crate) fn reason(&mut self, tokens: usize) {
        self.reasoning = REASONING.chars().cycle().take(tokens * 4).collect();
    }

    /// Cuts the answer to a limit, as a model does: reasoning counts first, then the text is cut.
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

    /// Changes the answer as the fault requires, or sets where it breaks.
    pub(crate) fn apply(&mut self, fault: Fault) {
        match fault {
            Fault::EmptyChoices => {
                self.content = None;
                self.reasoning.clear();
                self.has_choice = false;
            }
            Fault::NullContent => self.content = None,
            Fault::EmptyContent => self.content = Some(String::new()),
            Fault::ReasoningBurn => {
                self.reason((self.reasoning.len() / 4).max(BURNT_TOKENS_MIN));
                self.content = Some(String::new());
                self.stop_for_length();
            }
            Fault::TruncatedLength => self.limit(self.completion_tokens() / 2),
            Fault::Refusal => {
                self.content = None;
                self.refusal = Some(REFUSAL.to_owned());
                self.stop_for("stop", "refusal");
            }
            Fault::ContentFilter => {
                self.content = Some(String::new());
                self.stop_for("content_filter", "SAFETY");
            }
            Fault::ByteSplit => self.content = Some(format!("{}{WIDE_TEXT}", self.text())),
            Fault::UnknownFields => {
                self.has_unknown_fields = true;
                self.stop_for("compacted", "compacted");
            }
            Fault::OddFraming => {}
            Fault::SseNoDone => self.has_end_mark = false,
            breaks => self.breaks = Some(breaks),
        }
    }

    fn stop_for_length(&mut self) {
        self.stop_for("length", "max_output_tokens");
    }

    fn stop_for(&mut self, finish: &'static str, native: &str) {
        self.finish = finish;
        native.clone_into(&mut self.native_finish);
    }

    pub(crate) fn reasoning_tokens(&self) -> u64 {
        token_count(self.reasoning.len())
    }

    /// All output tokens, reasoning included.
    pub(crate) fn completion_tokens(&self) -> u64 {
        let bytes = self.text().len() + self.refusal.as_ref().map_or(0, String::len);
        self.reasoning_tokens() + token_count(bytes)
    }

    /// The API error of this fault.
    pub(crate) fn error(&self, fault: Fault) -> ApiError {
        let kind = match fault {
            Fault::SseErrorMid => ErrorKind::Rate,
            Fault::SseErrorFirst => ErrorKind::Overloaded,
            _ => ErrorKind::Server,
        };
        ApiError { details: self.details.clone().unwrap_or_default(), ..ApiError::new(kind) }
    }
}

/// Splits off the first tokens of a text, never inside a character.
pub(crate) fn split_tokens(text: &str, tokens: u64) -> (&str, &str) {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(4);
    text.split_at(text.floor_char_boundary(bytes))
}
