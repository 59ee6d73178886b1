//! Where a prompt comes from: arguments, files named with `@`, or stdin. Bounded, and exact to the byte. A picture or
//! a PDF after `@` is attached.
//!
//! Stdin is read only where it is asked for or there is nothing else: a pipe that a script left open would
//! otherwise hold the question for ever.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::str::Utf8Error;

use parallel_llm_engine::{Code, Failure};

use crate::attachment::{self, Attachments};

/// The most that is read. The setting `prompt_chars_max` goes up to 16 Mi characters of up to four bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads the prompt. Its parts stand apart by an empty line; what is no text goes to the attachments.
pub(super) fn read(parts: &[OsString], attachments: &mut Attachments) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    match parts {
        [] if stdin.is_terminal() => Err(Failure::new(Code::PromptEmpty, "no prompt was given")),
        [] => read_text(stdin.lock(), "stdin"),
        parts => {
            let texts = parts.iter().filter_map(|part| read_part(part, attachments).transpose());
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n\n"))
        }
    }
}

fn read_part(part: &OsStr, attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    let text =
        std::str::from_utf8(part.as_encoded_bytes()).map_err(|error| not_utf8("an argument", error))?;
    match text.strip_prefix('@') {
        Some(path) => read_file(Path::new(path), attachments),
        None if text == "-" => read_text(std::io::stdin().lock(), "stdin").map(Some),
        None => Ok(Some(text.to_owned())),
    }
}

fn read_file(path: &Path, attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    let file = std::fs::File::open(path).map_err(|error| {
        Failure::new(Code::Usage, format!("the prompt file `{}` cannot be read: {error}", path.display()))
            .with_next("name a readable file after `@`, or put the prompt in quotes if it begins with `@`")
    })?;
    let name = format!("`{}`", path.display());
    let bytes = read_all(file, &name)?;
    if attachment::is_taken(&bytes) {
        return attachments.add(path, &bytes).map(|()| None);
    }
    text_of(bytes, &name).map(Some)
}

fn read_text(source: impl Read, name: &str) -> Result<String, Failure> {
    text_of(read_all(source, name)?, name)
}

fn read_all(source: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| {
        Failure::new(Code::Usage, format!("the prompt cannot be read from {name}: {error}"))
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Failure::new(Code::PromptTooLong, format!("{name} holds more than {BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

fn text_of(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| not_utf8(name, error.utf8_error()))
}

fn not_utf8(name: &str, error: Utf8Error) -> Failure {
    let offset = error.valid_up_to();
    Failure::new(Code::PromptNotUtf8, format!("{name} is not UTF-8: the byte at offset {offset} is wrong"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_byte_is_named() {
        let failure = read_text(&b"caf\xe9 au lait"[..], "stdin").unwrap_err();
        assert_eq!(failure.code, Code::PromptNotUtf8);
        assert_eq!(failure.message, "stdin is not UTF-8: the byte at offset 3 is wrong");
    }

    #[cfg(unix)]
    #[test]
    fn an_argument_is_read_as_strictly() {
        use std::os::unix::ffi::OsStrExt;
        let read = |parts: &[OsString]| read(parts, &mut Attachments::new(0));
        let failure = read(&["Why?".into(), OsStr::from_bytes(b"ab\xff").to_owned()]).unwrap_err();
        assert_eq!(failure.message, "an argument is not UTF-8: the byte at offset 2 is wrong");
        assert_eq!(read(&["Why?".into(), "Because.".into()]).unwrap(), "Why?\n\nBecause.");
    }
}
