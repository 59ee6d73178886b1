//! What one JSON object of a reply contains, in any protocol.

use std::borrow::Cow;

use parallel_llm_engine::{PicoUsd, Usage};

use crate::wire::error::ErrorBody;

/// The content of one JSON object of a reply, in any protocol. Missing values are empty.
#[derive(Debug, Default)]
pub(crate) struct Piece<'a> {
    /// Whether it contains any part of a reply: a whole body without any is not a reply.
    pub(crate) has_content: bool,
    /// The provider's id of the call.
    pub(crate) id: Option<Cow<'a, str>>,
    /// The model that answers.
    pub(crate) model: Option<Cow<'a, str>>,
    /// The next piece of the answer.
    pub(crate) text: Cow<'a, str>,
    /// Whether it contains reasoning. The reasoning itself is not kept.
    pub(crate) reasoning: bool,
    /// The next piece of the model's refusal.
    pub(crate) refusal: Option<Cow<'a, str>>,
    /// Why the model stopped: `stop`, `length`, or another word of the protocol.
    pub(crate) finish: Option<Cow<'a, str>>,
    /// Who declined, if the finish reason says so.
    pub(crate) declined: Option<Declined>,
    /// Tokens and cost so far.
    pub(crate) spent: Option<Spent>,
    /// The error.
    pub(crate) error: Option<ErrorBody>,
    /// Whether this is the last piece.
    pub(crate) ends: bool,
}

impl<'a> Piece<'a> {
    /// The text, if it is borrowed from the object and nothing in the object changes during a stream: the id and the model
    /// are the same in each.
    pub(crate) fn only_text(&self) -> Option<&'a str> {
        let Self {
            has_content: _,
            id: _,
            model: _,
            text,
            reasoning,
            refusal,
            finish,
            declined,
            spent,
            error,
            ends,
        } = self;
        let has_more = *reasoning
            || *ends
            || refusal.is_some()
            || finish.is_some()
            || declined.is_some()
            || spent.is_some()
            || error.is_some();
        match text {
            Cow::Borrowed(text) if !has_more && !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The same without borrows.
    pub(crate) fn into_owned(self) -> Piece<'static> {
        let owned = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        let Piece { has_content, reasoning, declined, spent, error, ends, .. } = self;
        let (id, model, refusal, finish) =
            (owned(self.id), owned(self.model), owned(self.refusal), owned(self.finish));
        let text = Cow::Owned(self.text.into_owned());
        Piece { has_content, id, model, text, reasoning, refusal, finish, declined, spent, error, ends }
    }
}

/// Who stopped an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declined {
    /// The model, or a guard in its place.
    Model,
    /// A filter of the provider.
    Filter,
}

/// Tokens and cost of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) usage: Usage,
    pub(crate) cost: Option<PicoUsd>,
}

impl Spent {
    /// Replaces values by later ones, if there are any.
    pub(crate) fn update(&mut self, later: Self) {
        let newer = |new: Option<u64>, old: Option<u64>| new.or(old);
        let (old, new) = (self.usage, later.usage);
        self.usage = Usage {
            input_tokens: newer(new.input_tokens, old.input_tokens),
            output_tokens: newer(new.output_tokens, old.output_tokens),
            reasoning_tokens: newer(new.reasoning_tokens, old.reasoning_tokens),
            cached_tokens: newer(new.cached_tokens, old.cached_tokens),
        };
        self.cost = later.cost.or(self.cost);
    }
}
