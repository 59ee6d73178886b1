//! Reads a prompt from arguments, `@` files and stdin, within limits and exact to the byte. A picture or a PDF after
//! `@` is attached.
//!
//! Text piped beside arguments is appended, as if `-` were the last argument.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Read};
use std::path::Path;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::bounded_text;
use super::piped::{self, STDIN, Stdin};
use crate::terminal::console::Console;
use parallel_llm_service::attachment::{self, Attachments};

/// The longest input in bytes. The setting `prompt_chars_max` goes up to 16 Mi characters of up to four bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads the prompt. Its parts are separated by an empty line; files other than text are attached.
pub(super) async fn read(
    parts: &[OsString],
    attachments: &mut Attachments,
    console: &Console,
) -> Result<String, Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    if parts.is_empty() {
        if is_terminal {
            return Err(Failure::new(Code::PromptEmpty, "no prompt was given"));
        }
        return read_stdin(attachments);
    }
    let texts = parts.iter().filter_map(|part| read_part(part, attachments).transpose());
    let mut texts = texts.collect::<Result<Vec<_>, _>>()?;
    if !is_terminal
        && !parts.iter().any(|part| part == "-")
        && let Some(text) = piped::read(console, |source| read_text(source, STDIN)).await?
    {
        attachments.check_piped(&text)?;
        texts.push(text);
    }
    Ok(texts.join("\n\n"))
}

fn read_part(part: &OsStr, attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    let text = std::str::from_utf8(part.as_encoded_bytes())
        .map_err(|error| bounded_text::not_utf8("an argument", error))?;
    match text.strip_prefix('@') {
        Some(path) => read_file(Path::new(path), attachments),
        None if text == "-" => read_stdin(attachments).map(Some),
        None => Ok(Some(text.to_owned())),
    }
}

fn read_stdin(attachments: &Attachments) -> Result<String, Failure> {
    let text = read_text(Stdin, STDIN)?;
    attachments.check_piped(&text)?;
    Ok(text)
}

fn read_file(path: &Path, attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    let file = std::fs::File::open(path).map_err(|error| {
        Failure::new(Code::Usage, format!("the prompt file `{}` cannot be read: {error}", path.display()))
            .with_next(Advice::NameFileAfterAt)
    })?;
    let name = format!("`{}`", path.display());
    let bytes = bounded_text::bytes(file, BYTES_MAX, &name).map_err(|failure| {
        if failure.code == Code::Usage { failure.with_next(Advice::NameFileAfterAt) } else { failure }
    })?;
    attachments.check_file(&format!("the prompt file {name}"), path, &bytes)?;
    if attachment::is_taken(&bytes) {
        return attachments.add(path, &bytes).map(|()| None);
    }
    bounded_text::text(bytes, &name).map(Some)
}

fn read_text(source: impl Read, name: &str) -> Result<String, Failure> {
    bounded_text::text(bounded_text::bytes(source, BYTES_MAX, name)?, name)
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
        let failure = read_part(OsStr::from_bytes(b"ab\xff"), &mut Attachments::new(0)).unwrap_err();
        assert_eq!(failure.message, "an argument is not UTF-8: the byte at offset 2 is wrong");
    }
}
