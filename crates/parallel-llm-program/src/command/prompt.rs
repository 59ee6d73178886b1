//! Reads a prompt from arguments, `@` files and stdin, within limits and exact to the byte. A picture or a PDF, piped or
//! after `@`, is attached, and so are a folder and the files of a pattern.
//!
//! Text piped beside arguments is appended, as if `-` were the last argument.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::Path;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::bounded_text;
use super::piped::{self, STDIN, Stdin};
use crate::terminal::console::Console;
use parallel_llm_service::attachment::{self, Attachments, is_pattern};

/// The longest input in bytes. The setting `prompt_chars_max` goes up to 16 Mi characters of up to four bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The name of stdin on the command line.
const STDIN_MARK: &str = "-";

/// Whether an attachment is stdin.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN_MARK
}

/// Attaches stdin, a file, a folder or the files of a pattern.
pub(super) fn attach(path: &Path, attachments: &mut Attachments) -> Result<(), Failure> {
    if !is_stdin(path) {
        return attachments.attach(path);
    }
    let bytes = bounded_text::bytes(Stdin, BYTES_MAX, STDIN)?;
    attachments.check_file(STDIN, Path::new(""), &bytes)?;
    attachments.add(Path::new(STDIN), &bytes)
}

/// Reads the prompt. Its parts are separated by an empty line; files other than text are attached. stdin is read only if it
/// is free.
pub(super) async fn read(
    parts: &[OsString],
    attachments: &mut Attachments,
    console: &Console,
    stdin_is_free: bool,
) -> Result<String, Failure> {
    let is_terminal = std::io::stdin().is_terminal() || !stdin_is_free;
    if parts.is_empty() {
        if is_terminal {
            return Err(Failure::new(Code::PromptEmpty, "no prompt was given"));
        }
        return Ok(read_stdin(attachments)?.unwrap_or_default());
    }
    let texts = parts.iter().filter_map(|part| read_part(part, attachments).transpose());
    let mut texts = texts.collect::<Result<Vec<_>, _>>()?;
    if !is_terminal
        && !parts.iter().any(|part| part == STDIN_MARK)
        && let Some(bytes) =
            piped::read(console, |source| bounded_text::bytes(source, BYTES_MAX, STDIN)).await?
    {
        texts.extend(take_piped(bytes, attachments)?);
    }
    Ok(texts.join("\n\n"))
}

fn read_part(part: &OsStr, attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    let text = std::str::from_utf8(part.as_encoded_bytes())
        .map_err(|error| bounded_text::not_utf8("an argument", error))?;
    match text.strip_prefix('@') {
        Some(path) => read_file(Path::new(path), attachments),
        None if text == STDIN_MARK => read_stdin(attachments),
        None => Ok(Some(text.to_owned())),
    }
}

fn read_stdin(attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    take_piped(bounded_text::bytes(Stdin, BYTES_MAX, STDIN)?, attachments)
}

/// Piped text, which is a part of the prompt. A picture or a PDF is attached.
fn take_piped(bytes: Vec<u8>, attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    if attachment::is_taken(&bytes) {
        return attachments.add(Path::new(STDIN), &bytes).map(|()| None);
    }
    let text = bounded_text::text(bytes, STDIN)?;
    attachments.check_piped(&text)?;
    Ok(Some(text))
}

fn read_file(path: &Path, attachments: &mut Attachments) -> Result<Option<String>, Failure> {
    if path.is_dir() || is_pattern(path) {
        return attachments.attach(path).map(|()| None);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_byte_is_named() {
        let failure = take_piped(b"caf\xe9 au lait".to_vec(), &mut Attachments::new(9)).unwrap_err();
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
