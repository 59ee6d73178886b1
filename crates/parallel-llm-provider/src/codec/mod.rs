//! The protocols: how a call is written and how its reply is read.
//!
//! A [`Codec`] is pure. What all protocols share is elsewhere: [`crate::wire::sse`] splits bytes into events,
//! [`crate::read::reply`] builds a reply from pieces, [`crate::wire::classify`] classifies errors. Differences between providers of
//! one protocol are in their [`Dialect`].

mod chat;
mod gemini;
mod messages;

use std::borrow::Cow;
use std::fmt;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::{PicoUsd, Usage};

use crate::providers::dialect::{Dialect, Protocol};
use crate::wire::error::ErrorBody;

/// One protocol.
pub(crate) trait Codec: fmt::Debug + Sync {
    /// The address of calls to this model, relative to the base URL.
    fn address(&self, model: &str) -> Address;

    /// The query that requests the whole list of models, or the largest page of it.
    fn models_query(&self) -> Option<&'static str> {
        None
    }

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The fields of a request that can be left out, by their names in the request and in a provider's refusal.
    fn optional_fields(&self) -> &'static [&'static str];

    /// The JSON request for a call. It asks for a stream, carries an output cap as long as the provider accepts one
    /// under any name, and has no field that the provider has rejected.
    fn body(&self, call: &Call, dialect: &Dialect) -> Vec<u8>;

    /// Whether a stream may simply end, so that usage alone is a complete, empty reply.
    fn may_end_silently(&self) -> bool {
        false
    }

    /// Reads one JSON object of a reply: an event of a stream, or a `whole` reply. Fails only if it is not a JSON
    /// object.
    fn read<'a>(&self, json: &'a str, whole: bool) -> serde_json::Result<Piece<'a>>;
}

/// The codec of a protocol.
pub(crate) fn of(protocol: Protocol) -> &'static dyn Codec {
    match protocol {
        Protocol::Chat => &chat::Chat,
        Protocol::Messages => &messages::Messages,
        Protocol::Gemini => &gemini::Gemini,
    }
}

/// The optional fields in a request. Fields that set the thinking have many names in refusals, so if one is present all
/// of them count.
pub(crate) fn sent_fields(codec: &dyn Codec, body: &[u8]) -> Vec<&'static str> {
    // Quotes inside a text are escaped, so no text looks like a field.
    let stands = |field: &str| memchr::memmem::find(body, format!("\"{field}\":").as_bytes()).is_some();
    let asks_to_think = |field: &str| field.starts_with("think") || field.starts_with("reasoning");
    let fields = codec.optional_fields();
    let thinks = fields.iter().any(|field| asks_to_think(field) && stands(field));
    fields.iter().copied().filter(|field| stands(field) || (thinks && asks_to_think(field))).collect()
}

/// Segments of a path, and a query. Segments are escaped when they are joined, so no name can leave the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) segments: Vec<String>,
    pub(crate) query: Option<Cow<'static, str>>,
}

impl Address {
    /// A path without a query.
    pub(crate) fn path(path: &str) -> Self {
        Self { segments: path.split('/').map(str::to_owned).collect(), query: None }
    }
}

/// The path without the query, as it is shown to people.
impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.segments.join("/"))
    }
}

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
