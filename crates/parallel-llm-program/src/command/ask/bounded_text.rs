//! Reads text from files and pipes, within a bound and exact to the byte.

use std::io::{Error, ErrorKind, Read};
use std::str::Utf8Error;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::attachment;

/// The encoding of most other texts, as `iconv` calls it.
const LATIN: &str = "latin1";

/// Everything that a source holds. `name` stands for it in messages.
pub(super) fn bytes(source: impl Read, bytes_max: u64, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(bytes_max + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(Failure::new(Code::PromptTooLong, format!("{name} holds more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// The failure of a source that cannot be read.
pub(super) fn unreadable(name: &str, error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::IsADirectory => {
            Failure::new(Code::Usage, format!("{name} cannot be read: it is a folder"))
        }
        _ => Failure::new(Code::Usage, format!("{name} cannot be read: {error}")),
    }
}

/// Bytes as text. Zeros are no text: they are valid UTF-8, but mostly half of UTF-16.
pub(super) fn text(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    if let Some(words) = attachment::no_text(&bytes) {
        return Err(no_text(&bytes, words, name));
    }
    String::from_utf8(bytes).map_err(|error| not_utf8(name, error.utf8_error()))
}

fn no_text(bytes: &[u8], words: &str, name: &str) -> Failure {
    let failure = match std::str::from_utf8(bytes) {
        Err(error) if attachment::encoding(bytes) == Some(LATIN) => return not_utf8(name, error),
        _ => Failure::new(Code::PromptNotUtf8, format!("{name} seems to be {words}")),
    };
    match attachment::encoding(bytes) {
        Some(encoding) => failure.with_next(attachment::convert_from(encoding)),
        None => failure.with_next(Advice::AttachReadableKind),
    }
}

/// The failure of bytes that are not text.
pub(super) fn not_utf8(name: &str, error: Utf8Error) -> Failure {
    let offset = error.valid_up_to();
    Failure::new(Code::PromptNotUtf8, format!("{name} is not UTF-8: the byte at offset {offset} is wrong"))
        .with_next(attachment::convert_from(LATIN))
}
