//! Frames a stream as server-sent events or lines of JSON, plainly or with every legal oddity.

/// The framing of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    /// Whether lines end in `\r\n` instead of `\n`.
    pub(crate) crlf: bool,
    /// Whether to use every legal oddity: other fields, empty comments, no space after a colon, JSON split over several
    /// `data:` lines.
    pub(crate) odd: bool,
}

/// One frame of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    /// An event with this data, which holds no line break.
    Event { name: Option<&'static str>, data: Vec<u8> },
    /// A comment, which readers skip.
    Comment(String),
    /// A line of NDJSON; may be blank.
    Line(Vec<u8>),
}

/// A byte order mark, which a stream may begin with and readers skip.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Frame {
    /// An event without a name.
    pub(crate) fn data(data: Vec<u8>) -> Self {
        Self::Event { name: None, data }
    }

    /// The frame without the second half of its data.
    pub(crate) fn halved(mut self) -> Self {
        if let Self::Event { data, .. } | Self::Line(data) = &mut self {
            data.truncate(data.len() / 2);
        }
        self
    }
}

impl Framing {
    /// The bytes of a frame.
    pub(crate) fn frame(self, frame: &Frame) -> Vec<u8> {
        match frame {
            Frame::Event { name, data } => self.event(*name, data),
            Frame::Comment(text) => self.comment(text),
            Frame::Line(line) => self.json_line(line),
        }
    }

    fn event(self, name: Option<&str>, data: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(data.len() + 16);
        if self.odd {
            self.line(&mut frame, b": ");
        }
        if let Some(name) = name.or(self.odd.then_some("message")) {
            self.line(&mut frame, format!("event: {name}").as_bytes());
        }
        if self.odd {
            self.line(&mut frame, b"id: 7");
            self.line(&mut frame, b"retry: 1000");
        }
        let split = first_comma(data).filter(|_| self.odd).unwrap_or(data.len());
        let (first, rest) = data.split_at(split);
        self.data_line(&mut frame, first);
        if !rest.is_empty() {
            self.data_line(&mut frame, rest);
        }
        frame.extend_from_slice(self.newline());
        frame
    }

    fn comment(self, text: &str) -> Vec<u8> {
        let mut frame = Vec::new();
        self.line(&mut frame, format!(": {text}").as_bytes());
        frame.extend_from_slice(self.newline());
        frame
    }

    /// NDJSON allows one oddity only: blank lines.
    fn json_line(self, line: &[u8]) -> Vec<u8> {
        let newline = self.newline();
        let blank: &[u8] = if self.odd { newline } else { b"" };
        [blank, line, newline].concat()
    }

    fn data_line(self, frame: &mut Vec<u8>, data: &[u8]) {
        frame.extend_from_slice(if self.odd { b"data:" } else { b"data: " });
        self.line(frame, data);
    }

    fn line(self, frame: &mut Vec<u8>, line: &[u8]) {
        frame.extend_from_slice(line);
        frame.extend_from_slice(self.newline());
    }

    fn newline(self) -> &'static [u8] {
        if self.crlf { b"\r\n" } else { b"\n" }
    }
}

/// The index after the first comma between two JSON values, where a line break is white space. A comma inside a string
/// does not count.
fn first_comma(json: &[u8]) -> Option<usize> {
    let (mut in_text, mut escaped) = (false, false);
    json.iter()
        .position(|byte| {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_text,
                b'"' => in_text = !in_text,
                b',' => return !in_text,
                _ => {}
            }
            false
        })
        .map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(framing: Framing) -> String {
        String::from_utf8(framing.frame(&Frame::data(br#"{"id":"g","n":1}"#.to_vec()))).unwrap()
    }

    #[test]
    fn events_are_framed_as_asked() {
        let plain = Framing { crlf: false, odd: false };
        assert_eq!(framed(plain), "data: {\"id\":\"g\",\"n\":1}\n\n");
        let odd = Framing { crlf: true, odd: true };
        assert_eq!(
            framed(odd),
            ": \r\nevent: message\r\nid: 7\r\nretry: 1000\r\ndata:{\"id\":\"g\",\r\ndata:\"n\":1}\r\n\r\n"
        );
    }
}
