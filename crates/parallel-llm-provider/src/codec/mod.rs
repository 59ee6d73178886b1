//! The protocols: how a call is written, and how what comes back is read.
//!
//! A [`Codec`] is pure. What all protocols share is decided elsewhere: events are cut out of bytes in
//! [`crate::sse`], pieces become a reply in [`crate::reply`], errors are sorted in [`crate::classify`]. What a
//! provider does its own way within a protocol stands in its [`Dialect`].

mod chat;
mod gemini;
mod messages;

use std::borrow::Cow;
use std::fmt;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::{PicoUsd, Usage};

use crate::dialect::{Dialect, Protocol};
use crate::wire::error::ErrorBody;

/// One protocol.
pub(crate) trait Codec: fmt::Debug + Sync {
    /// Where a call to this model goes, below the base URL.
    fn address(&self, model: &str) -> Address;

    /// The query that makes the list of models come whole, or as long as its provider gives it in one page.
    fn models_query(&self) -> Option<&'static str> {
        None
    }

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The fields of a request that can be left out, by their names on the wire and in a provider's refusal.
    fn optional_fields(&self) -> &'static [&'static str];

    /// The JSON of the request for a call. It asks for a stream, carries an output cap as long as the provider
    /// takes one under any name, and holds no field that the provider has rejected.
    fn body(&self, call: &Call, dialect: &Dialect) -> Vec<u8>;

    /// Whether a stream may simply end, so that usage and nothing else is a whole reply, an empty one.
    fn may_end_silently(&self) -> bool {
        false
    }

    /// What one JSON object of a reply says: an event of a stream, or a `whole` reply. Fails only where it is no
    /// JSON object.
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

/// The optional fields that stand in a request. What asks for thinking goes by many names in refusals, so with one of
/// them all of them count.
pub(crate) fn sent_fields(codec: &dyn Codec, body: &[u8]) -> Vec<&'static str> {
    // A quote inside a text is escaped, so no text looks like a field.
    let stands = |field: &str| memchr::memmem::find(body, format!("\"{field}\":").as_bytes()).is_some();
    let asks_to_think = |field: &str| field.starts_with("think") || field.starts_with("reasoning");
    let fields = codec.optional_fields();
    let thinks = fields.iter().any(|field| asks_to_think(field) && stands(field));
    fields.iter().copied().filter(|field| stands(field) || (thinks && asks_to_think(field))).collect()
}

/// Segments of a path, and a query. Segments are escaped where they are joined, so no name can leave the base.
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

/// The path, without the query, as it is named to people.
impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.segments.join("/"))
    }
}

/// What one JSON object of a reply says, whatever the protocol. What it does not say is empty.
#[derive(Debug, Default)]
pub(crate) struct Piece<'a> {
    /// Whether there was anything of a reply in it: a whole one without is no reply at all.
    pub(crate) has_content: bool,
    /// The provider's name for the call.
    pub(crate) id: Option<Cow<'a, str>>,
    /// The model that answers.
    pub(crate) model: Option<Cow<'a, str>>,
    /// The next piece of the answer.
    pub(crate) text: Cow<'a, str>,
    /// Whether there is reasoning in it. The text itself is not kept.
    pub(crate) reasoning: bool,
    /// The next piece of the words with which the model declines.
    pub(crate) refusal: Option<Cow<'a, str>>,
    /// Why the model stopped: `stop`, `length`, or another word of the protocol.
    pub(crate) finish: Option<Cow<'a, str>>,
    /// Who declined, where the reason for stopping says so.
    pub(crate) declined: Option<Declined>,
    /// Tokens and money so far.
    pub(crate) spent: Option<Spent>,
    /// What went wrong.
    pub(crate) error: Option<ErrorBody>,
    /// Whether nothing follows.
    pub(crate) ends: bool,
}

impl Piece<'_> {
    /// The same, on its own.
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
    /// The model, or a guard that speaks for it.
    Model,
    /// A filter of the provider.
    Filter,
}

/// Tokens and money of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) usage: Usage,
    pub(crate) cost: Option<PicoUsd>,
}

impl Spent {
    /// Takes a later word: what it says holds, and what it leaves out stays.
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
