//! Splits a stream of bytes into server-sent events.
//!
//! Takes bytes in pieces of any size; the events do not depend on how they are split. The contents of events are read
//! in [`crate::wire`], and a byte order mark is removed in the reply, which detects the format.
//!
//! Invariants: at most [`LINE_BYTES_MAX`] bytes are kept, and each byte is read a fixed number of times, however the
//! stream is split.

/// The longest line, and the longest event. Real events are under 2 kB, whole answers in one event under 1 MiB.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One step through the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// The data of one event, its lines joined by line feeds.
    Event(&'a [u8]),
    /// A line, or the data of one event, is longer than [`LINE_BYTES_MAX`]. The stream cannot be read further.
    TooLong,
}

/// The state between reads.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    /// The data lines of the event so far, each ended by a line feed.
    data: Vec<u8>,
    /// The event in `data` has been returned and has to be cleared.
    given: bool,
    /// The last line ended in CR, so a LF belongs to it.
    after_cr: bool,
}

impl Decoder {
    /// Takes bytes from the front of `input` until an event is complete or nothing is left.
    pub(crate) fn step<'s, 'b: 's>(&'s mut self, input: &mut &'b [u8]) -> Option<Step<'s>> {
        if std::mem::take(&mut self.given) {
            self.data.clear();
        }
        if self.line.is_empty()
            && self.data.is_empty()
            && !self.after_cr
            && let Some(data) = take_whole_event(input)
        {
            return Some(Step::Event(data));
        }
        while !input.is_empty() {
            if std::mem::take(&mut self.after_cr) && input[0] == b'\n' {
                *input = &input[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', input) else {
                return self.keep(std::mem::take(input));
            };
            let (line, rest) = (&input[..end], &input[end + 1..]);
            self.after_cr = input[end] == b'\r';
            *input = rest;
            if self.line.len() + line.len() + self.data.len() > LINE_BYTES_MAX {
                return Some(Step::TooLong);
            }
            if self.end_line(line) {
                self.given = true;
                return Some(Step::Event(&self.data[..self.data.len() - 1]));
            }
        }
        None
    }

    fn keep(&mut self, beginning: &[u8]) -> Option<Step<'_>> {
        if self.line.len() + beginning.len() + self.data.len() > LINE_BYTES_MAX {
            return Some(Step::TooLong);
        }
        self.line.extend_from_slice(beginning);
        None
    }

    /// Whether the line ends an event that has data.
    fn end_line(&mut self, end: &[u8]) -> bool {
        let line = if self.line.is_empty() {
            end
        } else {
            self.line.extend_from_slice(end);
            &self.line
        };
        let ends_event = line.is_empty() && !self.data.is_empty();
        if let Some(data) = data_of(line) {
            self.data.extend_from_slice(data);
            self.data.push(b'\n');
        }
        self.line.clear();
        ends_event
    }
}

/// Takes an event of one `data` line from the front of `input`, without a copy; `None` if the input begins otherwise, as
/// few streams do.
fn take_whole_event<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let value = input.strip_prefix(b"data: ")?;
    let end = memchr::memchr2(b'\n', b'\r', value)?;
    let (data, rest) = value.split_at(end);
    let rest = rest.strip_prefix(b"\n\n").filter(|_| data.len() < LINE_BYTES_MAX - b"data: ".len())?;
    *input = rest;
    Some(data)
}

/// The value of a `data` field. Comments and all other fields are ignored.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data")?;
    match value {
        [] => Some(value),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The events of a stream that arrives in these pieces.
    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for mut piece in pieces {
            while let Some(step) = decoder.step(&mut piece) {
                match step {
                    Step::Event(data) => events.push(String::from_utf8(data.to_vec()).unwrap()),
                    Step::TooLong => return vec!["too long".to_owned()],
                }
            }
        }
        events
    }

    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(events([stream.as_bytes()]), expected, "whole: {stream:?}");
        assert_eq!(events(stream.as_bytes().chunks(1)), expected, "byte by byte: {stream:?}");
    }

    #[test]
    fn events_end_at_a_blank_line() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data:a\r\n\r\ndata: b\r\rdata:  c\n\n", &["a", "b", " c"]);
        check("data: a\ndata: b\ndata\ndata:\n\n", &["a\nb\n\n"]);
        check("data: never ended\n", &[]);
        check("data: a\r\n\n\ndata: b\n\r\n", &["a", "b"]);
    }

    #[test]
    fn what_is_no_data_is_passed_over() {
        check(": OPENROUTER PROCESSING\n\n: \n\n:\n\ndata: a\n\n", &["a"]);
        check("event: message\nid: 7\nretry: 10\ndatabase: x\ndata: a\nfoo\n\n", &["a"]);
        check("\n\n\n", &[]);
    }

    #[test]
    fn letters_of_several_bytes_survive_every_cut() {
        let stream = "data: {\"t\":\"日本🙂é\"}\n\n";
        for cut in 0..stream.len() {
            let (one, other) = stream.as_bytes().split_at(cut);
            assert_eq!(events([one, other]), ["{\"t\":\"日本🙂é\"}"], "cut at {cut}");
        }
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let piece = vec![b'x'; 1024 * 1024];
        let mut decoder = Decoder::default();
        for _ in 0..4 {
            assert_eq!(decoder.step(&mut piece.as_slice()), None);
        }
        assert_eq!(decoder.step(&mut b"x".as_slice()), Some(Step::TooLong));
        assert!(decoder.line.len() <= LINE_BYTES_MAX);
    }

    #[test]
    fn an_event_of_endless_lines_is_given_up() {
        let line = format!("data: {}\n", "x".repeat(1024 * 1024 - 1));
        assert_eq!(events(std::iter::repeat_n(line.as_bytes(), 5)), ["too long"]);
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_events(
            lines in prop::collection::vec("(data: ?[a-z{}é🙂]{0,6}|: c|event: x||)(\n|\r|\r\n)", 0..30),
            cuts in prop::collection::vec(1usize..9, 1..20),
        ) {
            let stream = lines.concat();
            let mut rest = stream.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(events(pieces), events([stream.as_bytes()]));
        }
    }
}
