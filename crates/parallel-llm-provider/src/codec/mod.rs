//! The protocols: how a call is written and how its reply is read.
//!
//! A [`Codec`] is pure. What all protocols share is elsewhere: [`crate::wire::sse`] splits bytes into events,
//! [`crate::read::reply`] builds a reply from pieces, [`crate::wire::classify`] classifies errors. Differences between providers of
//! one protocol are in their [`Dialect`](crate::providers::dialect::Dialect).

mod chat;
mod gemini;
mod messages;
pub(crate) mod piece;
pub(crate) mod protocol;

use crate::providers::dialect::Protocol;

use protocol::Codec;

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
