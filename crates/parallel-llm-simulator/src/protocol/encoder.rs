//! What an encoder of a protocol does.

use super::sse::Frame;
use crate::behaviour::fault::Fault;

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
