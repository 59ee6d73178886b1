//! What a protocol does: the address, the headers and the body of a call, and reading the objects of its reply.

use std::borrow::Cow;
use std::fmt;

use parallel_llm_engine::port::Call;

use super::piece::Piece;
use crate::providers::dialect::Dialect;

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
