//! The limits of one JSON message: its bytes, and the values in it.
//!
//! A limit on bytes alone does not limit memory: `{"":0},` is seven bytes of text and more than a kilobyte when parsed,
//! so values are counted before any JSON is parsed. Pure; both doors that read messages use it.

use memchr::memchr2;

/// The longest message in bytes: twice the longest prompt that can be allowed, for its escapes. Attachments share it
/// with the prompt, whatever `attachment_bytes_max` allows.
pub const BYTES_MAX: usize = 32 * 1024 * 1024;

/// The most values in one message. The longest argument of a tool is a list of a few hundred; this leaves room for a
/// conversation of thousands of messages, and takes at most ten megabytes.
pub const VALUES_MAX: usize = 20_000;

/// The memory of one value while its message is read and answered, in bytes. An object of one member counts as three
/// values: the protocol library's value takes 1.2 kB, with the copies made on the way.
const VALUE_BYTES: usize = 512;

/// The memory of all messages in progress, in bytes, as far as clients determine it: eight of the longest.
pub const ALL_BYTES_MAX: usize = 8 * BYTES_MAX;

/// Counts the values of one JSON text, which may arrive in pieces.
///
/// Each value but the first, and each key, follows one of four characters outside of strings, so these are counted: one
/// too many for an empty list or object. Text that is not JSON is counted the same way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values {
    marks: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Values {
    /// The count of a whole text.
    pub fn of(text: &[u8]) -> Self {
        let mut values = Self::default();
        values.add(text);
        values
    }

    /// Counts the next piece.
    pub fn add(&mut self, mut piece: &[u8]) {
        if self.is_escaped && !piece.is_empty() {
            self.is_escaped = false;
            piece = &piece[1..];
        }
        while !piece.is_empty() {
            piece = if self.is_in_string { self.skip_string(piece) } else { self.count_marks(piece) };
        }
    }

    /// Returns the rest after the current string. A backslash at the end of a piece escapes the first byte of the next.
    fn skip_string<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let Some(at) = memchr2(b'"', b'\\', piece) else { return &[] };
        if piece[at] == b'"' {
            self.is_in_string = false;
            return &piece[at + 1..];
        }
        self.is_escaped = at + 1 == piece.len();
        piece.get(at + 2..).unwrap_or_default()
    }

    /// Returns the rest after the next opening quote.
    fn count_marks<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        for (at, byte) in piece.iter().enumerate() {
            match byte {
                b'{' | b'[' | b',' | b':' => self.marks += 1,
                b'"' => {
                    self.is_in_string = true;
                    return &piece[at + 1..];
                }
                _ => {}
            }
        }
        &[]
    }

    /// Whether these are too many for one message.
    pub const fn are_too_many(&self) -> bool {
        self.marks >= VALUES_MAX
    }

    /// The memory of the values beside the text, in bytes. Too many are never parsed, so they take no more than the
    /// limit.
    pub fn bytes(&self) -> usize {
        self.marks.min(VALUES_MAX) * VALUE_BYTES
    }
}

/// The memory of a message in bytes: its text and its values.
pub fn load(text: &[u8]) -> usize {
    text.len() + Values::of(text).bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, marks: usize) {
        assert_eq!(Values::of(text.as_bytes()).marks, marks, "{text}");
        for cut in 0..=text.len() {
            let mut values = Values::default();
            values.add(&text.as_bytes()[..cut]);
            values.add(&text.as_bytes()[cut..]);
            assert_eq!(values.marks, marks, "{text} cut at {cut}");
        }
    }

    #[test]
    fn values_and_keys_are_counted_wherever_the_text_is_cut() {
        check("", 0);
        check("7", 0);
        check("[]", 1);
        check("[[],[]]", 4);
        check(r#"{"a":1,"b":[true,null]}"#, 6);
        check(r#"["a,b:c[{","\"],[","\\",1]"#, 4);
        check("[\"ü\\u0041,\\\\\\\"\",2]", 2);
        check(r#"["never ends,,,\"#, 1);
    }
}
