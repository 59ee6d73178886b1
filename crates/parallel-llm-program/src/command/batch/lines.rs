//! The lines of a file, one after the other, each within a bound.

use std::io::{BufRead, BufReader, Read};

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

/// The longest line in bytes. The largest prompt that the settings can allow is 16 MiB, and JSON escapes some of it.
const LINE_BYTES_MAX: u64 = 32 << 20;
/// The most lines read at once, and the bytes after which no further one is read.
const CHUNK_LINES: usize = 64;
const CHUNK_BYTES: usize = 1 << 20;
/// What some programs write at the beginning of a text file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A line of a file.
pub(super) struct FileLine {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its text, without the end of the line.
    pub(super) text: Result<String, Failure>,
}

/// Reads lines.
pub(super) struct FileLines {
    source: BufReader<Box<dyn Read + Send>>,
    number: u64,
}

impl FileLines {
    pub(super) fn of(source: Box<dyn Read + Send>) -> Self {
        Self { source: BufReader::with_capacity(256 << 10, source), number: 0 }
    }

    /// The next lines that are not blank; none at the end of the file.
    pub(super) fn next_chunk(&mut self) -> Result<Vec<FileLine>, Failure> {
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        while chunk.len() < CHUNK_LINES && bytes < CHUNK_BYTES {
            let Some(line) = self.next()? else { break };
            bytes += line.text.as_ref().map_or(0, String::len);
            let is_blank = line.text.as_ref().is_ok_and(|text| text.trim().is_empty());
            if !is_blank {
                chunk.push(line);
            }
        }
        Ok(chunk)
    }

    /// The next line, blank or not.
    fn next(&mut self) -> Result<Option<FileLine>, Failure> {
        let mut bytes = Vec::new();
        let broken =
            |error: std::io::Error| Failure::new(Code::Usage, format!("the file cannot be read: {error}"));
        let read = self.source.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        if read.map_err(broken)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let number = self.number;
        if bytes.len() as u64 == LINE_BYTES_MAX && !bytes.ends_with(b"\n") {
            self.skip_rest().map_err(broken)?;
            let message = format!("it is longer than {} MiB", LINE_BYTES_MAX >> 20);
            let failure = Failure::new(Code::PromptTooLong, message).with_next(Advice::ShortenPrompt);
            return Ok(Some(FileLine { number, text: Err(failure) }));
        }
        if bytes.ends_with(b"\n") {
            bytes.pop();
        }
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
        if number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let message = format!("it is not UTF-8: its byte at offset {offset} is wrong");
            Failure::new(Code::PromptNotUtf8, message)
        });
        Ok(Some(FileLine { number, text }))
    }

    /// Skips to the end of a line.
    fn skip_rest(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.source.fill_buf()?;
            let (skipped, is_end) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.source.consume(skipped);
            if is_end {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u64, Result<String, Code>)> {
        let mut lines = FileLines::of(Box::new(std::io::Cursor::new(bytes.to_vec())));
        let mut all = Vec::new();
        loop {
            let chunk = lines.next_chunk().unwrap();
            if chunk.is_empty() {
                return all;
            }
            let read = |line: FileLine| (line.number, line.text.map_err(|failure| failure.code));
            all.extend(chunk.into_iter().map(read));
        }
    }

    #[test]
    fn lines_are_numbered_as_an_editor_numbers_them() {
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(read(b""), []);
        assert_eq!(read(b"\xef\xbb\xbfa\r\n\r\n \nb"), [(1, ok("a")), (4, ok("b"))]);
        assert_eq!(read(b"a\nb\xff\nc\n"), [(1, ok("a")), (2, Err(Code::PromptNotUtf8)), (3, ok("c"))]);
        let many: Vec<u8> = b"x\n".repeat(1_000);
        assert_eq!(read(&many).len(), 1_000);
    }

    #[test]
    fn a_line_beyond_the_bound_is_skipped_whole() {
        let mut bytes = vec![b'x'; LINE_BYTES_MAX as usize * 2 + 7];
        bytes.extend_from_slice(b"\nafter\n");
        assert_eq!(read(&bytes), [(1, Err(Code::PromptTooLong)), (2, Ok("after".to_owned()))]);
        let exact = [vec![b'y'; LINE_BYTES_MAX as usize - 1], b"\nafter".to_vec()].concat();
        assert_eq!(read(&exact).len(), 2);
        assert!(read(&exact)[0].1.is_ok());
    }
}
