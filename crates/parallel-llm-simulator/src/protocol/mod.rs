//! Encodes a draft for each protocol: the frames of a stream, and the body without streaming.
//!
//! Nothing here waits or breaks off; `stream` and `whole` do.

mod chat;
pub(crate) mod draft;
pub(crate) mod encoder;
mod gemini;
mod lines;
mod messages;
pub(crate) mod sse;

use crate::dialect::row::{KeepAlive, Protocol};
use draft::Draft;
use encoder::Encoder;
use sse::Frame;

/// The encoder of the draft's protocol. `wants_usage`: the request asks for usage in a stream.
pub(crate) fn encoder(draft: &Draft, wants_usage: bool) -> Box<dyn Encoder + '_> {
    match draft.dialect.protocol {
        Protocol::Chat => Box::new(chat::Chat::new(draft, wants_usage)),
        Protocol::Messages => Box::new(messages::Messages::new(draft)),
        Protocol::Gemini => Box::new(gemini::Gemini::new(draft)),
        Protocol::Lines => Box::new(lines::Lines::new(draft)),
    }
}

/// The content type of a streamed body.
pub(crate) fn stream_type(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Lines => "application/x-ndjson",
        Protocol::Chat | Protocol::Messages | Protocol::Gemini => "text/event-stream",
    }
}

/// The dialect's keep-alive frame, if it sends any.
pub(crate) fn keep_alive(draft: &Draft) -> Option<Frame> {
    match draft.dialect.keep_alive {
        KeepAlive::Comment(text) => Some(Frame::Comment(text.to_owned())),
        KeepAlive::Ping => Some(messages::ping()),
        KeepAlive::Never => None,
    }
}

/// A keep-alive frame as a proxy sends it, for any provider.
pub(crate) fn proxy_keep_alive(protocol: Protocol) -> Frame {
    match protocol {
        Protocol::Lines => Frame::Line(Vec::new()),
        Protocol::Chat | Protocol::Messages | Protocol::Gemini => Frame::Comment(String::new()),
    }
}
