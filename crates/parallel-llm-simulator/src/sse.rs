//! Frames server-sent events, plainly or with every oddity the format allows.

use crate::script::Newline;

/// How events are framed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    pub(crate) newline: Newline,
    pub(crate) space_after_colon: bool,
    /// Other fields, empty comments, and JSON spread over several `data:` lines.
    pub(crate) odd: bool,
}

/// What a stream may begin with: a byte order mark, which a reader has to skip.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Framing {
    /// An event with this data, which holds no line break.
    pub(crate) fn event(self, data: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(data.len() + 16);
        if self.odd {
            self.line(&mut frame, b": ");
            self.line(&mut frame, b"event: message");
            self.line(&mut frame, b"id: 7");
            self.line(&mut frame, b"retry: 1000");
        }
        // Between the first two fields of an object a line break is white space, so the joined lines are the same JSON.
        let first_comma = data.iter().position(|byte| *byte == b',').map(|index| index + 1);
        let split = first_comma.filter(|_| self.odd).unwrap_or(data.len());
        let (first, rest) = data.split_at(split);
        self.data_line(&mut frame, first);
        if !rest.is_empty() {
            self.data_line(&mut frame, rest);
        }
        frame.extend_from_slice(self.newline());
        frame
    }

    /// A comment, which a reader has to skip.
    pub(crate) fn comment(self, text: &str) -> Vec<u8> {
        let mut frame = Vec::new();
        self.line(&mut frame, format!(": {text}").as_bytes());
        frame.extend_from_slice(self.newline());
        frame
    }

    fn data_line(self, frame: &mut Vec<u8>, data: &[u8]) {
        frame.extend_from_slice(if self.space_after_colon { b"data: " } else { b"data:" });
        self.line(frame, data);
    }

    fn line(self, frame: &mut Vec<u8>, line: &[u8]) {
        frame.extend_from_slice(line);
        frame.extend_from_slice(self.newline());
    }

    fn newline(self) -> &'static [u8] {
        match self.newline {
            Newline::Lf => b"\n",
            Newline::Crlf => b"\r\n",
            Newline::Cr => b"\r",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(framing: Framing) -> String {
        String::from_utf8(framing.event(br#"{"id":"g","n":1}"#)).unwrap()
    }

    #[test]
    fn events_are_framed_as_asked() {
        let plain = Framing { newline: Newline::Lf, space_after_colon: true, odd: false };
        assert_eq!(framed(plain), "data: {\"id\":\"g\",\"n\":1}\n\n");
        let odd = Framing { newline: Newline::Crlf, space_after_colon: false, odd: true };
        assert_eq!(
            framed(odd),
            ": \r\nevent: message\r\nid: 7\r\nretry: 1000\r\ndata:{\"id\":\"g\",\r\ndata:\"n\":1}\r\n\r\n"
        );
    }
}
