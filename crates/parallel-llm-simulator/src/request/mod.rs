//! Parses the body of a chat request in any protocol: only the fields the simulator acts on.
//!
//! `dialect` checks all other fields and turns a [`BadBody`] into the provider's own error.

pub(crate) mod chat_request;
mod foreign;

use serde::Deserialize;
use serde_json::Value;

use crate::dialect::row::Protocol;
use chat_request::{BadBody, ChatRequest};

impl ChatRequest {
    /// Parses a JSON body of this protocol.
    pub(crate) fn of(protocol: Protocol, body: &Value) -> Result<Self, BadBody> {
        let read = match protocol {
            Protocol::Chat => Self::deserialize(body),
            Protocol::Messages => foreign::messages(body),
            Protocol::Gemini => foreign::gemini(body),
            Protocol::Lines => foreign::lines(body),
        };
        read.map_err(|error| BadBody::WrongType(error.to_string()))?.with_messages()
    }
}
