//! Attachments: reads the files of a question, and shows them without their bytes.
//!
//! Invariants: the first bytes of a file decide its type, whatever its name or sender says; limits are checked
//! before a file is read whole; of a path only the file name is kept; and a local file that seems to hold keys or
//! passwords is refused unless a person insists. A calling model cannot name a local file at all.

mod secret;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parallel_llm_engine::value::answer::steers;
use parallel_llm_engine::value::next::{Advice, Argument, Next};
use parallel_llm_engine::{Attachment, Code, Failure, Message, Part, Role, RunPlan};
use serde_json::{Value, json};

use parallel_llm_engine::text::safe;

/// The most files of one question. Labs accept from 10 to 100 pictures; more are usually a mistaken wildcard.
const FILES_MAX: usize = 20;
/// The longest file name kept, in characters: no common file system has longer ones in ASCII.
const NAME_CHARS_MAX: usize = 255;
/// The longest excerpt of an invalid data URI in a message, in characters.
const EXCERPT_CHARS: usize = 40;
/// The shortest code fence, in backticks.
const FENCE_CHARS_MIN: usize = 3;

/// A file signature: bytes that identify a type.
struct Signature {
    /// The first bytes.
    first: &'static [u8],
    /// Further bytes and their offset.
    then: (usize, &'static [u8]),
    is: Kind,
}

/// How a file is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Sent unchanged, with this media type; `ending` completes the name of an unnamed file.
    Taken { media_type: &'static str, ending: &'static str },
    /// Appended to the prompt.
    Text,
    /// Refused, with what it seems to be.
    Refused(&'static str),
}

/// No further bytes.
const NOTHING: (usize, &[u8]) = (0, b"");

const PNG: Kind = Kind::Taken { media_type: "image/png", ending: "png" };
const JPEG: Kind = Kind::Taken { media_type: "image/jpeg", ending: "jpg" };
const GIF: Kind = Kind::Taken { media_type: "image/gif", ending: "gif" };
const WEBP: Kind = Kind::Taken { media_type: "image/webp", ending: "webp" };
const PDF: Kind = Kind::Taken { media_type: "application/pdf", ending: "pdf" };

/// Pictures that every lab accepts, PDF, and common unsupported types. The first match counts.
const SIGNATURES: &[Signature] = &[
    Signature { first: b"\x89PNG\r\n\x1a\n", then: NOTHING, is: PNG },
    Signature { first: b"\xff\xd8\xff", then: NOTHING, is: JPEG },
    Signature { first: b"GIF87a", then: NOTHING, is: GIF },
    Signature { first: b"GIF89a", then: NOTHING, is: GIF },
    Signature { first: b"RIFF", then: (8, b"WEBP"), is: WEBP },
    Signature { first: b"%PDF-", then: NOTHING, is: PDF },
    Signature {
        first: b"PK\x03\x04",
        then: NOTHING,
        is: Kind::Refused("a ZIP archive, as office documents are"),
    },
    Signature { first: b"\xd0\xcf\x11\xe0", then: NOTHING, is: Kind::Refused("an old office document") },
    Signature { first: b"\x1f\x8b", then: NOTHING, is: Kind::Refused("a gzip archive") },
    Signature { first: b"", then: (4, b"ftyp"), is: Kind::Refused("a HEIC or AVIF picture, or a film") },
    Signature { first: b"II*\0", then: NOTHING, is: Kind::Refused("a TIFF picture") },
    Signature { first: b"MM\0*", then: NOTHING, is: Kind::Refused("a TIFF picture") },
    Signature { first: b"BM", then: NOTHING, is: Kind::Refused("a BMP picture") },
    Signature { first: b"RIFF", then: NOTHING, is: Kind::Refused("a sound or a film") },
    Signature { first: b"\x7fELF", then: NOTHING, is: Kind::Refused("a program") },
    Signature { first: b"\xff\xfe", then: NOTHING, is: Kind::Refused("text in UTF-16, not UTF-8") },
    Signature { first: b"\xfe\xff", then: NOTHING, is: Kind::Refused("text in UTF-16, not UTF-8") },
];

impl Kind {
    /// The handling of a file of these bytes. A text may begin like another type.
    fn of(bytes: &[u8]) -> Self {
        let fits = |signature: &&Signature| {
            let (at, then) = signature.then;
            bytes.starts_with(signature.first) && bytes.get(at..).is_some_and(|rest| rest.starts_with(then))
        };
        match (SIGNATURES.iter().find(fits).map(|signature| signature.is), std::str::from_utf8(bytes)) {
            (Some(taken @ Self::Taken { .. }), _) => taken,
            (_, Ok("")) => Self::Refused("an empty file"),
            (_, Ok(_)) => Self::Text,
            (signature, Err(_)) => signature.unwrap_or(Self::Refused("binary data of an unknown kind")),
        }
    }
}

/// Whether these bytes are a picture or a document that is sent unchanged.
pub fn is_taken(bytes: &[u8]) -> bool {
    matches!(Kind::of(bytes), Kind::Taken { .. })
}

/// The attachments of one question, as they are collected.
pub struct Attachments {
    files: Vec<Attachment>,
    /// Attached texts for the prompt, each with its name and in a fence.
    texts: Vec<String>,
    bytes: u64,
    bytes_max: u64,
    /// Whether a person insists on sending files that seem to hold secrets.
    with_secrets: bool,
}

impl Attachments {
    /// No attachments, and at most `bytes_max` in all.
    pub fn new(bytes_max: u64) -> Self {
        Self { files: Vec::new(), texts: Vec::new(), bytes: 0, bytes_max, with_secrets: false }
    }

    /// The same, but files that seem to hold secrets are accepted.
    #[must_use]
    pub fn with_secrets(mut self) -> Self {
        self.with_secrets = true;
        self
    }

    /// Fails for a local file that seems to hold secrets; `shown` names it in the message.
    pub fn check_file(&self, shown: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        match secret::by_name(path, bytes).or_else(|| secret::by_content(path, bytes)) {
            Some(sign) if !self.with_secrets => Err(secret_refused(shown, &sign)),
            _ => Ok(()),
        }
    }

    /// Fails for piped text that seems to hold secrets.
    pub fn check_piped(&self, text: &str) -> Result<(), Failure> {
        self.check_file("stdin", Path::new(""), text.as_bytes())
    }

    /// Reads a local file: a picture, a document, or a text that joins the prompt.
    pub fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let shown = format!("the attachment `{}`", path.display());
        let unreadable = |error: std::io::Error| {
            invalid(format!("{shown} cannot be read: {error}")).with_next(Advice::NameReadableFile)
        };
        // Checked before it is opened, because opening a pipe waits for a writer.
        let metadata = path.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            let is = if metadata.is_dir() { "a folder" } else { "a pipe or a device" };
            return Err(invalid(format!("{shown} is {is}, not a file")));
        }
        self.check_room(&shown, metadata.len())?;
        let mut bytes = Vec::new();
        let source = File::open(path).map_err(unreadable)?;
        // The file may have grown since, or may not report its length.
        source.take(self.bytes_left() + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        self.check_file(&shown, path, &bytes)?;
        self.add(path, &bytes)
    }

    /// Adds a local file that has been read.
    pub fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let shown = format!("the attachment `{}`", path.display());
        self.check_room(&shown, bytes.len() as u64)?;
        let name = kept_name(&path.file_name().unwrap_or_default().to_string_lossy());
        match Kind::of(bytes) {
            Kind::Taken { media_type, .. } => self.push(name, media_type, STANDARD.encode(bytes)),
            Kind::Text => self.texts.push(fenced(&name, &String::from_utf8_lossy(bytes))),
            Kind::Refused(words) => return Err(refused(&shown, words)),
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Adds a picture or a document from a data URI, `data:[TYPE][;name=NAME];base64,BYTES`. Anything else, such as a
    /// path, is refused: a model that calls us must not read its user's files.
    pub fn decode(&mut self, uri: &str) -> Result<(), Failure> {
        let number = self.files.len() + 1;
        let shown = format!("attachment {number}");
        let Some((head, base64)) = split_uri(uri) else {
            let begins = safe::excerpt(uri, EXCERPT_CHARS);
            let message =
                format!("{shown} is no data URI in Base64 but `{begins}`; paths and links are not read");
            return Err(invalid(message).with_next(Advice::WriteDataUrl));
        };
        // Checked before decoding: four characters hold three bytes, less up to two of padding.
        self.check_room(&shown, (base64.len() as u64 / 4 * 3).saturating_sub(2))?;
        let bytes = STANDARD.decode(base64).map_err(|error| {
            let what = error.to_string().to_lowercase();
            invalid(format!("the Base64 of {shown} is broken: {}", what.trim_end_matches('.')))
                .with_next(Advice::SendWholeBase64)
        })?;
        self.check_room(&shown, bytes.len() as u64)?;
        let (media_type, ending) = match Kind::of(&bytes) {
            Kind::Taken { media_type, ending } => (media_type, ending),
            Kind::Text => return Err(refused(&shown, "text").with_next(Advice::PutTextIntoPrompt)),
            Kind::Refused(words) => return Err(refused(&shown, words)),
        };
        self.bytes += bytes.len() as u64;
        let name = head.split(';').find_map(|parameter| parameter.strip_prefix("name="));
        let name = name.map_or_else(|| format!("attachment-{number}.{ending}"), kept_name);
        self.push(name, media_type, base64.to_owned());
        Ok(())
    }

    /// The question: one text, then the files in their order.
    pub fn question(self, prompt: String) -> Message {
        let texts: Vec<String> =
            std::iter::once(prompt).chain(self.texts).filter(|text| !text.is_empty()).collect();
        let mut question = Message::text(Role::User, texts.join("\n\n"));
        question.parts.extend(self.files.into_iter().map(Part::File));
        question
    }

    fn push(&mut self, name: String, media_type: &str, base64: String) {
        self.files.push(Attachment { name, media_type: media_type.to_owned(), base64: base64.into() });
    }

    fn check_room(&self, shown: &str, bytes: u64) -> Result<(), Failure> {
        if self.files.len() + self.texts.len() >= FILES_MAX {
            return Err(invalid(format!("more than {FILES_MAX} files are attached"))
                .with_next(Next::AttachAtMost(FILES_MAX as u64)));
        }
        if bytes > self.bytes_left() {
            let most = self.bytes_max;
            return Err(invalid(format!("with {shown} the files have more than {most} bytes in all"))
                .with_next([Next::Do(Advice::AttachLess), Next::raise_setting("attachment_bytes_max")]));
        }
        Ok(())
    }

    const fn bytes_left(&self) -> u64 {
        self.bytes_max.saturating_sub(self.bytes)
    }
}

/// The head and the Base64 body of a data URI.
fn split_uri(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.trim().split_once(':')?;
    let (head, base64) = rest.split_once(',')?;
    let head = head.strip_suffix(";base64")?;
    scheme.eq_ignore_ascii_case("data").then_some((head, base64))
}

/// A file's name without folders and control characters.
fn kept_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = name.chars().filter(|letter| !steers(*letter)).take(NAME_CHARS_MAX).collect();
    if kept.trim().is_empty() { "unnamed".to_owned() } else { kept }
}

/// A fence longer than any in these texts, so that no text can close it.
pub fn fence<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let longest = |text: &str| text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let longest = texts.into_iter().map(longest).max().unwrap_or(0);
    "`".repeat(FENCE_CHARS_MIN.max(longest + 1))
}

/// A text under its name, in a fence longer than any in it.
fn fenced(name: &str, text: &str) -> String {
    let fence = fence([text]);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{name}:\n{fence}\n{text}{end}{fence}")
}

fn secret_refused(shown: &str, sign: &str) -> Failure {
    invalid(format!("{shown} is not sent: {sign}"))
        .with_next([Next::Do(Advice::TakeSecretsOut), Next::Give(Argument::AllowSecretFile)])
}

fn refused(shown: &str, words: &str) -> Failure {
    invalid(format!("{shown} seems to be {words}, which is not taken"))
}

fn invalid(message: impl AsRef<str>) -> Failure {
    Failure::new(Code::AttachmentInvalid, message)
}

/// The messages for readers: their texts, and their files by name, type and size.
pub fn prompt_text(messages: &[Message]) -> String {
    let described = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::File(file) => format!("[attached: {}, {}, {} bytes]", file.name, file.media_type, file.bytes()),
    };
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.map(described).collect::<Vec<_>>().join("\n\n")
}

/// The messages as JSON, with the size of each file in place of its bytes.
pub fn messages_json(messages: &[Message]) -> Value {
    let part = |part: &Part| match part {
        Part::File(file) => {
            json!({ "type": "file", "name": file.name, "media_type": file.media_type, "bytes": file.bytes() })
        }
        Part::Text { text } => json!({ "type": "text", "text": text }),
    };
    let message = |message: &Message| {
        let parts: Vec<Value> = message.parts.iter().map(part).collect();
        json!({ "role": message.role, "parts": parts })
    };
    messages.iter().map(message).collect::<Vec<Value>>().into()
}

/// The plan as JSON, with the size of each file in place of its bytes.
pub fn plan_json(plan: &RunPlan) -> Value {
    let mut described = json!(RunPlan { messages: [].into(), ..plan.clone() });
    described["messages"] = messages_json(&plan.messages);
    described
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::value::next;

    use super::*;

    /// Reads these data URIs with this limit of bytes: the last line of the result, or the failure.
    #[track_caller]
    fn check(bytes_max: u64, uris: &[&str], expected: &str) {
        let mut attachments = Attachments::new(bytes_max);
        let done = uris.iter().try_for_each(|uri| attachments.decode(uri));
        let described = if let Err(failure) = done {
            format!("{} ({})", failure.message, failure.next_step())
        } else {
            let question = attachments.question("Why?".to_owned());
            let files = question.files();
            let described = files.map(|file| format!("{} {} {}", file.name, file.media_type, file.bytes()));
            described.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(described, expected);
    }

    #[test]
    fn a_data_uri_is_what_its_bytes_are() {
        let png = "data:image/png;base64,iVBORw0KGgo=";
        check(8, &[png], "attachment-1.png image/png 8");
        check(8, &["DATA:;base64,iVBORw0KGgo="], "attachment-1.png image/png 8");
        check(8, &["data:image/jpeg;base64,iVBORw0KGgo="], "attachment-1.png image/png 8");
        check(
            16,
            &[png, "data:application/pdf;name=../a/b\u{202e}.pdf;base64,JVBERi0xLjc="],
            "attachment-1.png image/png 8, b.pdf application/pdf 8",
        );
    }

    #[test]
    fn a_bad_data_uri_is_named_with_what_to_do() {
        let no_uri = "(write it as `data:image/png;base64,...`)";
        let broken = "(send it whole, with the standard alphabet and padding, without white space)";
        let taken = format!("({})", next::render(Code::AttachmentInvalid.next(), &next::PLAIN));
        for (uri, why) in [
            (
                "/etc/passwd",
                format!(
                    "attachment 1 is no data URI in Base64 but `/etc/passwd`; paths and links are not read {no_uri}"
                ),
            ),
            (
                "https://a.example/b.png",
                format!(
                    "attachment 1 is no data URI in Base64 but `https://a.example/b.png`; paths and links are not read {no_uri}"
                ),
            ),
            (
                "data:image/svg+xml,%3Csvg%3E",
                format!(
                    "attachment 1 is no data URI in Base64 but `data:image/svg+xml,%3Csvg%3E`; paths and links are not read {no_uri}"
                ),
            ),
            (
                "data:image/png;base64,iVBORw0KGgo",
                format!("the Base64 of attachment 1 is broken: invalid padding {broken}"),
            ),
            (
                "data:image/png;base64,iVBO\nRw0KGgo=",
                format!("the Base64 of attachment 1 is broken: invalid symbol 10, offset 4 {broken}"),
            ),
            (
                "data:image/png;base64,UEsDBP8=",
                format!(
                    "attachment 1 seems to be a ZIP archive, as office documents are, which is not taken {taken}"
                ),
            ),
            (
                "data:image/png;base64,/wD/AP8=",
                format!(
                    "attachment 1 seems to be binary data of an unknown kind, which is not taken {taken}"
                ),
            ),
            (
                "data:image/png;base64,",
                format!("attachment 1 seems to be an empty file, which is not taken {taken}"),
            ),
            (
                "data:text/plain;base64,SGk=",
                "attachment 1 seems to be text, which is not taken (put the text into the prompt)".to_owned(),
            ),
        ] {
            check(100, &[uri], &why);
        }
    }

    #[test]
    fn files_are_bounded_in_bytes_and_in_number() {
        let png = "data:image/png;base64,iVBORw0KGgo=";
        check(
            15,
            &[png, png],
            "with attachment 2 the files have more than 15 bytes in all (attach less, or raise the setting \
             `attachment_bytes_max`)",
        );
        check(
            1_000,
            &[png; FILES_MAX + 1],
            "more than 20 files are attached (attach at most 20 files to one question)",
        );
    }

    #[test]
    fn a_file_is_what_its_first_bytes_are() {
        for (bytes, kind) in [
            (&b"\xff\xd8\xff\xe0"[..], JPEG),
            (b"GIF87a", GIF),
            (b"GIF89a", GIF),
            (b"RIFF\x24\0\0\0WEBPVP8 ", WEBP),
            (b"%PDF-1.7", PDF),
            (b"\x89PNG", Kind::Refused("binary data of an unknown kind")),
            (b"RIFF\x24\0\0\0WAVE\xff", Kind::Refused("a sound or a film")),
            (b"\0\0\0\x1cftypheic\xff", Kind::Refused("a HEIC or AVIF picture, or a film")),
            (b"BMW drivers", Kind::Text),
            (b"<svg xmlns=", Kind::Text),
        ] {
            assert_eq!(Kind::of(bytes), kind, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_name_has_no_folder_and_steers_nothing() {
        for (name, kept) in [
            ("a b.png", "a b.png"),
            ("../../x\\y.pdf", "y.pdf"),
            ("\u{1b}[31mred\u{202e}gnp.exe\n", "[31mredgnp.exe"),
            ("folder/", "unnamed"),
            (" ", "unnamed"),
        ] {
            assert_eq!(kept_name(name), kept);
        }
        assert_eq!(kept_name(&"ä".repeat(1_000)).chars().count(), NAME_CHARS_MAX);
    }

    #[test]
    fn no_text_ends_its_own_fence() {
        assert_eq!(fenced("a.md", "x\n"), "a.md:\n```\nx\n```");
        assert_eq!(fenced("a.md", "```\nx\n````"), "a.md:\n`````\n```\nx\n````\n`````");
    }
}
