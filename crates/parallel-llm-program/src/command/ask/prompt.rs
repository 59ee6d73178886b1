//! Reads a prompt from arguments, `@` files and stdin, within limits and exact to the byte. A picture or a PDF, piped or
//! after `@`, is attached, and so are a folder and the files of a pattern.
//!
//! Text piped beside arguments is appended, as if `-` were the last argument. Words typed without quotes are joined by one
//! blank, as in a shell's `echo`.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use super::outgoing::{Outgoing, Source};
use super::piped::{self, STDIN, Stdin};
use super::{bounded_text, unread_file};
use crate::command::line::near_file;
use crate::command::line::typed_line;
use crate::terminal::console::Console;
use parallel_llm_service::attachment::{self, Attachments, is_pattern};

/// The longest input in bytes. The setting `prompt_chars_max` goes up to 16 Mi characters of up to four bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The name of stdin on the command line.
const STDIN_MARK: &str = "-";

/// The names that systems give to stdin.
const STDIN_FILES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Whether an attachment is stdin.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN_MARK || is_stdin_file(path.as_os_str())
}

fn is_stdin_file(path: &OsStr) -> bool {
    STDIN_FILES.iter().any(|name| path == *name)
}

/// Whether a part of the prompt is stdin.
fn is_stdin_part(part: &OsStr) -> bool {
    let file = part.to_str().and_then(|part| part.strip_prefix('@'));
    part == STDIN_MARK || file.is_some_and(|file| is_stdin_file(OsStr::new(file)))
}

/// Says what is awaited on stdin, if a person is to type it.
fn invite(what: &str, console: &Console) {
    if std::io::stdin().is_terminal() {
        let end = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };
        console.insist(&format!("type {what}, then {end}"));
    }
}

/// Attaches stdin, a file, a folder or the files of a pattern.
pub(super) fn attach(path: &Path, attachments: &mut Attachments, console: &Console) -> Result<(), Failure> {
    if !is_stdin(path) {
        let done = attachments.attach(&near_file::at_home(path));
        return done.map_err(|failure| with_meant(failure, "-a ", path));
    }
    invite("what to attach", console);
    let bytes = bounded_text::bytes(Stdin, BYTES_MAX, STDIN)?;
    attachments.check_file(STDIN, Path::new(""), &bytes)?;
    attachments.add(Path::new(STDIN), &bytes)
}

/// The text of a prompt, and what it is made of.
#[derive(Default)]
pub(super) struct PromptText {
    pub(super) text: String,
    pub(super) parts: Vec<Outgoing>,
}

/// A part of a prompt as text.
struct Piece {
    text: String,
    source: Source,
    name: Option<String>,
}

impl Piece {
    const fn of(source: Source, text: String) -> Self {
        Self { text, source, name: None }
    }

    /// Whether it is a word of a question that was typed without quotes.
    fn is_word(&self) -> bool {
        self.source == Source::Text && !self.text.contains(char::is_whitespace)
    }
}

impl PromptText {
    /// The pieces in order. Words typed without quotes are one line, as they were typed; all else is separated by an
    /// empty line.
    fn of<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> Self {
        let mut prompt = Self::default();
        let mut before: Option<&Piece> = None;
        for piece in pieces {
            let is_line = before.is_some_and(|before| {
                let are_typed = before.source == Source::Text && piece.source == Source::Text;
                are_typed && (before.is_word() || piece.is_word())
            });
            let (gap, bytes) = (if is_line { " " } else { "\n\n" }, piece.text.len());
            if before.is_some() {
                prompt.text += gap;
            }
            prompt.text += &piece.text;
            match prompt.parts.last_mut() {
                Some(part) if is_line => part.bytes += (gap.len() + bytes) as u64,
                _ => prompt.parts.push(match &piece.name {
                    Some(name) => Outgoing::named(piece.source, name.clone(), bytes as u64),
                    None => Outgoing::unnamed(piece.source, bytes),
                }),
            }
            before = Some(piece);
        }
        prompt
    }
}

/// Reads the prompt; files other than text are attached. stdin is read only if it is free.
pub(super) async fn read(
    parts: &[OsString],
    attachments: &mut Attachments,
    console: &Console,
    stdin_is_free: bool,
) -> Result<PromptText, Failure> {
    let is_terminal = std::io::stdin().is_terminal() || !stdin_is_free;
    if parts.is_empty() {
        if is_terminal {
            return Err(Failure::new(Code::PromptEmpty, "no prompt was given"));
        }
        let piece = read_stdin(attachments, console)?;
        return Ok(PromptText::of(&piece.into_iter().collect::<Vec<_>>()));
    }
    let from_stdin = parts.iter().filter(|part| *part == STDIN_MARK).count() + usize::from(!stdin_is_free);
    if from_stdin > 1 && parts.iter().any(|part| part == STDIN_MARK) {
        let message = format!("`{STDIN_MARK}` stands there {from_stdin} times, and stdin can be read once");
        return Err(Failure::new(Code::Usage, message).with_next(Next::LeaveOut(STDIN_MARK.into())));
    }
    let mut pieces = Vec::new();
    for part in parts {
        pieces.extend(read_part(part, parts.len() == 1, attachments, console).await?);
    }
    if !is_terminal
        && !parts.iter().any(|part| is_stdin_part(part))
        && let Some(bytes) =
            piped::read(console, |source| bounded_text::bytes(source, BYTES_MAX, STDIN)).await?
    {
        pieces.extend(take_piped(bytes, attachments)?);
    }
    check_typed(&pieces, attachments)?;
    Ok(PromptText::of(&pieces))
}

/// Fails if what was typed seems to hold a secret: a command with a key that stands in quotes, or a line that was pasted.
fn check_typed(pieces: &[Piece], attachments: &Attachments) -> Result<(), Failure> {
    let typed = pieces.iter().filter(|piece| piece.source == Source::Text);
    attachments.check_typed("the question", &PromptText::of(typed).text)
}

async fn read_part(
    part: &OsStr,
    is_whole: bool,
    attachments: &mut Attachments,
    console: &Console,
) -> Result<Option<Piece>, Failure> {
    let text = typed(part)?;
    if is_stdin_part(part) {
        let piece = read_stdin(attachments, console)?;
        let read = piece.as_ref().map(|piece| piece.text.as_str()).filter(|_| !is_whole);
        return read.map_or(Ok(()), |read| check_filled(read, STDIN, text.to_owned())).map(|()| piece);
    }
    if let Some(path) = text.strip_prefix('@') {
        return read_file(Path::new(path), attachments, console).await;
    }
    if !is_whole {
        check_filled(text, "an argument", "\"\"".to_owned())?;
    }
    Ok(Some(Piece::of(Source::Text, text.to_owned())))
}

/// The failure with the file that was probably meant, if no file has the name behind this mark.
fn with_meant(failure: Failure, mark: &str, path: &Path) -> Failure {
    nearest::suggest(failure, near_file::meant(mark, path))
}

/// Fails if a source of the question gives nothing, such as a command that failed: the question would go without it.
fn check_filled(text: &str, shown: &str, argument: String) -> Result<(), Failure> {
    if !text.trim().is_empty() {
        return Ok(());
    }
    let message = format!("{shown} gives no text, and the question would go without it");
    Err(Failure::new(Code::PromptEmpty, message).with_next(Next::LeaveOut(argument.into())))
}

/// Fails if there is nothing but attachments: no model knows what to do with them.
pub(super) fn check_question(text: &str, attachments: &Attachments) -> Result<(), Failure> {
    if !text.trim().is_empty() || attachments.tally().is_empty() {
        return Ok(());
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let line = format!("{} {}", typed_line::again(&arguments, |_, _| None), typed_line::QUESTION);
    let message = "the prompt is empty: there is no question beside what is attached";
    Err(Failure::new(Code::PromptEmpty, message).with_next(Next::Type(line.into())))
}

/// An argument as text.
fn typed(part: &OsStr) -> Result<&str, Failure> {
    std::str::from_utf8(part.as_encoded_bytes()).map_err(|error| bounded_text::not_utf8("an argument", error))
}

fn read_stdin(attachments: &mut Attachments, console: &Console) -> Result<Option<Piece>, Failure> {
    invite("the question", console);
    take_piped(bounded_text::bytes(Stdin, BYTES_MAX, STDIN)?, attachments)
}

/// Piped text, which is a part of the prompt. A picture or a PDF is attached.
fn take_piped(bytes: Vec<u8>, attachments: &mut Attachments) -> Result<Option<Piece>, Failure> {
    if attachment::is_taken(&bytes) {
        return attachments.add(Path::new(STDIN), &bytes).map(|()| None);
    }
    let text = bounded_text::text(bytes, STDIN)?;
    attachments.check_typed(STDIN, &text)?;
    Ok(Some(Piece::of(Source::Stdin, text)))
}

async fn read_file(
    path: &Path,
    attachments: &mut Attachments,
    console: &Console,
) -> Result<Option<Piece>, Failure> {
    if path.as_os_str().is_empty() {
        let message = "`@` stands alone, without the name of a file";
        return Err(Failure::new(Code::Usage, message).with_next(Advice::NameFileAfterAt));
    }
    let path = &*near_file::at_home(path);
    let named = path.to_string_lossy();
    if named.contains(char::is_whitespace) && is_pattern(path) && !attachment::finds(path) {
        let message = format!("`@{named}` begins with `@`, which names a file, and there is none");
        let next = Next::WriteAs(format!("\" @{named}\"` with a blank in front, if it is text").into());
        return Err(with_meant(Failure::new(Code::Usage, message).with_next(next), "@", path));
    }
    if path.is_dir() || is_pattern(path) || attachment::is_address(path) {
        return attachments.attach(path).map(|()| None).map_err(|failure| with_meant(failure, "@", path));
    }
    if !attachments.is_first(path) {
        return Ok(None);
    }
    let name = format!("`{}`", path.display());
    let shown = format!("the prompt file {name}");
    let bytes = piped::file(console, path, &shown, BYTES_MAX).await.map_err(|failure| {
        let is_unread = failure.code == Code::Usage;
        let failure = if is_unread { failure.with_next(Advice::NameFileAfterAt) } else { failure };
        with_meant(failure, "@", path)
    })?;
    attachments.check_file(&shown, path, &bytes)?;
    if attachment::is_taken(&bytes) {
        return attachments.add(path, &bytes).map(|()| None);
    }
    let text = bounded_text::text(bytes, &name)?;
    check_filled(&text, &shown, format!("@{}", path.display()))?;
    Ok(Some(Piece { text, source: Source::File, name: Some(path.display().to_string()) }))
}

/// The notes about files that the typed texts name and that are not among the parts: whoever writes `"explain @main.rs"`
/// in quotes may believe that the file is sent.
pub(super) fn notes(parts: &[OsString], attached: &[PathBuf], attachments: &Attachments) -> Vec<String> {
    let read = |part: &OsString| Some(PathBuf::from(part.to_str()?.strip_prefix('@')?));
    let sent: Vec<PathBuf> = parts.iter().filter_map(read).chain(attached.iter().cloned()).collect();
    let texts = parts.iter().filter_map(|part| part.to_str()).filter(|text| !text.starts_with('@'));
    let mut named: Vec<PathBuf> = Vec::new();
    for path in texts.flat_map(unread_file::named_in) {
        if !named.contains(&path) && !sent.contains(&path) && !attachments.holds(&path) {
            named.push(path);
        }
    }
    let note = |path: &PathBuf| {
        let path = path.display();
        format!(
            "note: the text names `{path}`, which is not sent; to send it, add `@{path}` as an argument of its own"
        )
    };
    named.iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_byte_is_named() {
        let refused = take_piped(b"caf\xe9 au lait".to_vec(), &mut Attachments::new(9));
        let failure = refused.err().expect("it is no text");
        assert_eq!(failure.code, Code::PromptNotUtf8);
        assert!(failure.message.starts_with("stdin is not UTF-8: the byte at offset 3 is wrong"));
    }

    #[cfg(unix)]
    #[test]
    fn an_argument_is_read_as_strictly() {
        use std::os::unix::ffi::OsStrExt;
        let failure = typed(OsStr::from_bytes(b"ab\xff")).unwrap_err();
        assert!(failure.message.starts_with("an argument is not UTF-8: the byte at offset 2 is wrong"));
    }

    #[test]
    fn words_without_quotes_are_one_line() {
        let piece = |text: &str| Piece::of(Source::Text, text.to_owned());
        let text =
            |texts: &[&str]| PromptText::of(&texts.iter().map(|text| piece(text)).collect::<Vec<_>>()).text;
        assert_eq!(text(&["what", "is", "rust"]), "what is rust");
        assert_eq!(text(&["what", "is", "the  answer", "to", "this?"]), "what is the  answer to this?");
        assert_eq!(text(&["First question.", "Second question."]), "First question.\n\nSecond question.");
        let file =
            Piece { text: "fn main() {}".to_owned(), source: Source::File, name: Some("a".to_owned()) };
        let prompt = PromptText::of(&[piece("explain"), file, piece("please"), piece("now")]);
        assert_eq!(prompt.text, "explain\n\nfn main() {}\n\nplease now");
        assert_eq!(prompt.parts.iter().map(|part| part.bytes).collect::<Vec<_>>(), [7, 12, 10]);
    }
}
