//! Encodes a draft for each protocol: the frames of a stream, and the body without streaming.
//!
//! Nothing here waits or breaks off; `stream` and `whole` do.

mod chat;
pub(crate) mod draft;
mod gemini;
mod lines;
mod messages;
pub(crate) mod sse;

use crate::behaviour::fault::Fault;
use crate::dialect::{KeepAlive, Protocol};
use draft::Draft;
use sse::Frame;

/// Encodes a draft in one protocol, piece by piece.
pub(crate) trait Encoder {
    /// The frames before the first token.
    fn open(&mut self) -> Vec<Frame> {
        Vec::new()
    }

    /// A piece of reasoning; no frames if reasoning is hidden.
    fn reasoning(&mut self, piece: &str) -> Vec<Frame>;

    /// A piece of the answer.
    fn text(&mut self, piece: &str) -> Vec<Frame>;

    /// The text of a refusal.
    fn refusal(&mut self, words: &str) -> Vec<Frame>;

    /// The finish reason, the usage and the end mark.
    fn close(&mut self) -> Vec<Frame>;

    /// An error in the middle of a stream.
    fn failure(&mut self, fault: Fault) -> Vec<Frame>;

    /// A frame whose JSON breaks off.
    fn broken(&mut self) -> Frame {
        let last = self.text("This chunk never arrives whole.").pop();
        last.map_or(Frame::Comment(String::new()), Frame::halved)
    }

    /// The body without streaming: `None` for the whole answer, `Some` for the first part of one that failed.
    fn whole(&self, part: Option<&str>) -> Vec<u8>;

    /// The body for a moderated prompt, in protocols where that is not an error.
    fn blocked(&self) -> Option<Vec<u8>> {
        None
    }
}

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
