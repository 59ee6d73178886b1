//! The size of a question as input, measured once: a plan asks for it at every call.

use serde::{Deserialize, Serialize};

use crate::prompt;
use crate::request::Message;
use crate::value::usage::tokens_in;

/// The size of a question as input, estimated on the high side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSize {
    /// The tokens that a seat is sent, with files as the text they count as. Persona prompts come on top.
    pub tokens: u64,
    /// The tokens of a prompt that shows answers, without these and without files.
    pub framed_tokens: u64,
    /// The tokens of the files.
    pub files_tokens: u64,
    /// The number of pictures.
    pub pictures: u64,
}

impl QuestionSize {
    /// The size of a conversation.
    pub fn of(messages: &[Message]) -> Self {
        let sum = |bytes: fn(&Message) -> u64| messages.iter().map(bytes).sum();
        Self {
            tokens: tokens_in(sum(Message::weight_bytes)),
            framed_tokens: tokens_in(prompt::frame_bytes(messages)),
            files_tokens: tokens_in(sum(Message::files_weight_bytes)),
            pictures: sum(Message::pictures),
        }
    }

    /// The tokens of a prompt that shows this many answers, without their texts.
    pub fn framed(self, answers: usize) -> u64 {
        self.framed_tokens + answers as u64 * tokens_in(prompt::candidate_frame_bytes())
    }

    /// Whether nobody has measured it, as in the plans of older versions.
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}
