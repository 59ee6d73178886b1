//! Writes a draft in the form of each protocol: what a stream consists of, and the body without streaming.
//!
//! Nothing here waits or breaks; `stream` and `whole` set the pace and break where the draft says.

mod chat;
mod gemini;
mod lines;
mod messages;

use crate::dialect::{KeepAlive, Protocol};
use crate::draft::Draft;
use crate::fault::Fault;
use crate::sse::Frame;

/// What a protocol makes of a draft, piece by piece.
pub(crate) trait Encoder {
    /// What comes before the first token, at once.
    fn open(&mut self) -> Vec<Frame> {
        Vec::new()
    }

    /// A piece of reasoning; nothing if it is not shown.
    fn reasoning(&mut self, piece: &str) -> Vec<Frame>;

    /// A piece of the answer.
    fn text(&mut self, piece: &str) -> Vec<Frame>;

    /// The words of a model that refuses.
    fn refusal(&mut self, words: &str) -> Vec<Frame>;

    /// The reason to stop, what was used, and the end mark.
    fn close(&mut self) -> Vec<Frame>;

    /// An error in the middle.
    fn failure(&mut self, fault: Fault) -> Vec<Frame>;

    /// A piece whose JSON breaks off.
    fn broken(&mut self) -> Frame {
        let last = self.text("This chunk never arrives whole.").pop();
        last.map_or(Frame::Comment(String::new()), Frame::halved)
    }

    /// The body without streaming; `None` is the whole answer, `Some` the first part of one that failed.
    fn whole(&self, part: Option<&str>) -> Vec<u8>;

    /// The body for a prompt that was stopped, where that is no error.
    fn blocked(&self) -> Option<Vec<u8>> {
        None
    }
}

/// The form of the draft's own protocol. `wants_usage`: the request asks for the usage of a stream.
pub(crate) fn encoder(draft: &Draft, wants_usage: bool) -> Box<dyn Encoder + '_> {
    match draft.dialect.protocol {
        Protocol::Chat => Box::new(chat::Chat::new(draft, wants_usage)),
        Protocol::Messages => Box::new(messages::Messages::new(draft)),
        Protocol::Gemini => Box::new(gemini::Gemini::new(draft)),
        Protocol::Lines => Box::new(lines::Lines::new(draft)),
    }
}

/// The type of a streamed body.
pub(crate) fn stream_type(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Lines => "application/x-ndjson",
        Protocol::Chat | Protocol::Messages | Protocol::Gemini => "text/event-stream",
    }
}

/// What a dialect sends while nothing else is; `None` if that is nothing.
pub(crate) fn keep_alive(draft: &Draft) -> Option<Frame> {
    match draft.dialect.keep_alive {
        KeepAlive::Comment(text) => Some(Frame::Comment(text.to_owned())),
        KeepAlive::Ping => Some(messages::ping()),
        KeepAlive::Never => None,
    }
}

/// What a proxy in between sends, whoever is behind it.
pub(crate) fn proxy_keep_alive(protocol: Protocol) -> Frame {
    match protocol {
        Protocol::Lines => Frame::Line(Vec::new()),
        Protocol::Chat | Protocol::Messages | Protocol::Gemini => Frame::Comment(String::new()),
    }
}
