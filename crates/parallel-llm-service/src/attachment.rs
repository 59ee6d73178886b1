//! Attachments: reads the files of a question, and shows them without their bytes.
//!
//! Invariants: the first bytes of a file decide its type, whatever its name or sender says; limits are checked
//! before a file is read whole; of a path only the file name is kept, or the path in the folder that was named; and a local
//! file that seems to hold keys or passwords is refused unless a person insists. A calling model can name a local file only
//! in the folders that the user has allowed, and cannot insist.

mod ignored;
mod kind;
mod once;
mod pdf;
mod roots;
mod search;
mod secret;
mod shown;
mod tally;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parallel_llm_engine::value::answer::steers;
use parallel_llm_engine::value::next::{Advice, Argument, Next};
use parallel_llm_engine::{Attachment, Code, Failure, Message, Part, Role};

use parallel_llm_engine::text::safe;
use parallel_llm_settings::pinned_folder::open_file;

use self::ignored::GivenRules;
use self::kind::{EMPTY, HEAD_BYTES, Kind};
use self::search::{FoundFiles, Pattern, Search};

pub use self::kind::{convert_from, encoding, is_taken, no_text};
pub(crate) use self::roots::Roots;
pub use self::search::{finds, is_pattern};
pub use self::shown::{messages_json, plan_json, prompt_text};
pub use self::tally::{AttachmentTally, Skipped};

/// The most pictures and documents of one question. Labs accept from 10 to 100 pictures; more are usually a mistaken
/// wildcard.
const FILES_MAX: usize = 20;
/// The most attached texts of one question: the sources of a large program. `prompt_chars_max` bounds them together.
const TEXTS_MAX: usize = 400;
/// The longest file name kept, in characters: no common file system has longer ones in ASCII.
const NAME_CHARS_MAX: usize = 255;
/// The longest excerpt of an invalid data URI in a message, in characters.
const EXCERPT_CHARS: usize = 40;
/// The longest excerpt of a path in a message, in characters.
const PATH_CHARS: usize = 200;
/// The shortest code fence, in backticks.
const FENCE_CHARS_MIN: usize = 3;

/// The attachments of one question, as they are collected.
pub struct Attachments {
    files: Vec<Attachment>,
    /// Attached texts for the prompt, each with its name and in a fence.
    texts: Vec<String>,
    /// How many files were passed on as parts of a conversation.
    passed_on: usize,
    tally: AttachmentTally,
    /// The name and the size in bytes of each file, in order.
    listed: Vec<(String, u64)>,
    /// The local files that were read, as paths without links: each is sent once.
    read: BTreeSet<PathBuf>,
    bytes_max: u64,
    /// Whether a person insists on sending files that seem to hold secrets.
    with_secrets: bool,
    /// The folders from which a calling model may attach files; `None` if it may name no path at all.
    roots: Option<Roots>,
}

impl Attachments {
    /// No attachments, and at most `bytes_max` in all.
    pub fn new(bytes_max: u64) -> Self {
        let (files, texts, tally) = (Vec::new(), Vec::new(), AttachmentTally::default());
        let (listed, read) = (Vec::new(), BTreeSet::new());
        Self { files, texts, passed_on: 0, tally, listed, read, bytes_max, with_secrets: false, roots: None }
    }

    /// The same, but files that seem to hold secrets are accepted.
    #[must_use]
    pub fn with_secrets(mut self) -> Self {
        self.with_secrets = true;
        self
    }

    /// The same, but a calling model may attach files of these folders.
    #[must_use]
    pub(crate) fn with_roots(mut self, roots: Roots) -> Self {
        self.roots = Some(roots);
        self
    }

    /// What is attached so far.
    pub const fn tally(&self) -> AttachmentTally {
        self.tally
    }

    /// The name and the size in bytes of each file, in order.
    pub fn listed(&self) -> &[(String, u64)] {
        &self.listed
    }

    /// Fails for a local file that seems to hold secrets; `shown` names it in the message.
    pub fn check_file(&self, shown: &str, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        match secret::by_name(path, bytes).or_else(|| secret::by_content(path, bytes)) {
            Some(sign) if !self.with_secrets => Err(secret_refused(shown, &sign)),
            _ => Ok(()),
        }
    }

    /// Fails for a typed or piped text that seems to hold secrets; `shown` names it in the message.
    pub fn check_typed(&self, shown: &str, text: &str) -> Result<(), Failure> {
        self.check_file(shown, Path::new(""), text.as_bytes())
    }

    /// Attaches what a person names: a file, a folder with all its files, or the files of a pattern.
    pub fn attach(&mut self, path: &Path) -> Result<(), Failure> {
        if is_address(path) {
            let message = format!("`{}` is an address, and nothing is fetched", path.display());
            return Err(invalid(message).with_next(Advice::SaveFileFirst));
        }
        let (metadata, named) = (path.metadata(), path.to_string_lossy());
        let (folder, pattern, shown) = match metadata {
            Ok(metadata) if metadata.is_dir() => (path.to_owned(), None, format!("the folder `{named}`")),
            Ok(_) => return self.read(path),
            Err(_) => match Pattern::of(&named)? {
                Some((folder, pattern)) => (folder, Some(pattern), format!("the pattern `{named}`")),
                None => return self.read(path),
            },
        };
        let absent = format!("there is no folder `{}` for {shown}", folder.display());
        let search = Search::of_person(folder, pattern).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => invalid(absent).with_next(Advice::NameExistingFolder),
            _ => unreadable(&shown, &error),
        })?;
        self.attach_found(&search, &shown)
    }

    /// Attaches what a calling model gives: a data URI, or a path or pattern in the folders that the user has allowed.
    pub fn attach_given(&mut self, text: &str) -> Result<(), Failure> {
        let Some(roots) = self.roots.as_ref().filter(|_| Roots::is_path(text)) else {
            return self.decode(text);
        };
        let shown = format!("attachment {} (`{}`)", self.count() + 1, safe::excerpt(text, PATH_CHARS));
        let place = roots.place(text, &shown)?;
        if let Some(search) = place.search() {
            return self.attach_found(&search, &shown);
        }
        let error = match place.open() {
            Ok(file) => return self.read_named(&shown, &place.path(), file),
            Err(error) => error,
        };
        // A name that no file has may be a pattern.
        match place.pattern()? {
            Some(search) => self.attach_found(&search, &shown),
            None => Err(unreadable(&shown, &error)),
        }
    }

    /// Attaches the files of a search. What cannot be attached is counted, because nobody named it.
    fn attach_found(&mut self, search: &Search, shown: &str) -> Result<(), Failure> {
        let before = self.count();
        let FoundFiles { files, links, unreadable, undecided } = search.run()?;
        self.tally.skipped.links += links;
        self.tally.skipped.unreadable += unreadable;
        self.tally.skipped.folders += undecided;
        let mut has_known = false;
        for below in &files {
            if !self.is_first(&search.folder.join(below)) {
                has_known = true;
                continue;
            }
            match search.open(below) {
                Ok(file) => self.read_found(&search.folder, below, &file)?,
                Err(_) => self.tally.skipped.unreadable += 1,
            }
        }
        if has_known || self.count() > before {
            return Ok(());
        }
        let skipped = self.tally.skipped;
        let skipped = if skipped.is_none() { String::new() } else { format!(" (left out: {skipped})") };
        Err(invalid(format!("no file to attach was found for {shown}{skipped}"))
            .with_next(Advice::CorrectPattern))
    }

    /// Reads a file that a search found.
    fn read_found(&mut self, folder: &Path, below: &Path, file: &File) -> Result<(), Failure> {
        let path = folder.join(below);
        let shown = format!("the attachment `{}`", path.display());
        let length = file.metadata().map_err(|error| unreadable(&shown, &error))?.len();
        let mut bytes = Vec::new();
        let read = |most: u64, bytes: &mut Vec<u8>| {
            file.take(most).read_to_end(bytes).map_err(|error| unreadable(&shown, &error))
        };
        read(HEAD_BYTES, &mut bytes)?;
        if self.is_skipped(Kind::of_head(&bytes)) {
            return Ok(());
        }
        self.check_room(&shown, length)?;
        read(self.bytes_left() + 1, &mut bytes)?;
        self.put_found(&shown, &path, &name_below(folder, below), &bytes)
    }

    /// Adds the files of a folder that have been read, each with its path in the folder, but not what a `.gitignore` among
    /// them names. What cannot be attached is counted.
    pub fn add_folder<'f>(
        &mut self,
        files: impl Iterator<Item = (&'f Path, &'f [u8])> + Clone,
    ) -> Result<(), Failure> {
        let rules = GivenRules::of(files.clone()).map_err(|error| {
            invalid(format!("the folder is not attached: {error}")).with_next(Advice::AttachFewerFiles)
        })?;
        for (name, bytes) in files.filter(|(name, _)| !rules.leave_out(name)) {
            self.add_found(name, bytes)?;
        }
        Ok(())
    }

    fn add_found(&mut self, name: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        let head = &bytes[..bytes.len().min(HEAD_BYTES as usize)];
        if name.components().any(is_hidden) || self.is_skipped(Kind::of_head(head)) {
            return Ok(());
        }
        let shown = format!("the attachment `{}`", safe::excerpt(&name.to_string_lossy(), PATH_CHARS));
        self.put_found(&shown, name, &name_below(Path::new(""), name), bytes)
    }

    fn put_found(&mut self, shown: &str, path: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        if self.is_skipped(Kind::of(bytes)) {
            return Ok(());
        }
        self.check_file(shown, path, bytes)?;
        self.put(shown, name, bytes)
    }

    /// Whether a file of this kind is left out. It is counted.
    fn is_skipped(&mut self, kind: Kind) -> bool {
        match kind {
            EMPTY => self.tally.skipped.empty += 1,
            Kind::Refused(_) => self.tally.skipped.binary += 1,
            Kind::Taken { .. } | Kind::Text => return false,
        }
        true
    }

    /// Reads a local file: a picture, a document, or a text that joins the prompt.
    fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let shown = format!("the attachment `{}`", path.display());
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(invalid(format!("{shown} is a pipe or a device, not a file")));
        }
        // Another file may have taken its place since.
        let file = open_file(path).map_err(|error| unreadable(&shown, &error))?;
        self.read_named(&shown, path, file)
    }

    /// Reads an open file that was named, unless it is among the attachments already.
    fn read_named(&mut self, shown: &str, path: &Path, file: File) -> Result<(), Failure> {
        if !self.is_first(path) {
            return Ok(());
        }
        let length = file.metadata().map_err(|error| unreadable(shown, &error))?.len();
        self.check_room(shown, length)?;
        let mut bytes = Vec::new();
        // The file may have grown since, or may not report its length.
        let read = file.take(self.bytes_left() + 1).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(shown, &error))?;
        self.check_file(shown, path, &bytes)?;
        self.put(shown, &file_name(path), &bytes)
    }

    /// Adds a local file that has been read.
    pub fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.put(&format!("the attachment `{}`", path.display()), &file_name(path), bytes)
    }

    /// Adds bytes under a name.
    fn put(&mut self, shown: &str, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.check_room(shown, bytes.len() as u64)?;
        match Kind::of(bytes) {
            Kind::Taken { media_type, .. } => {
                self.push(kept_name(name), media_type, bytes, STANDARD.encode(bytes))
            }
            Kind::Refused(words) => Err(refused(shown, words, bytes)),
            Kind::Text if self.texts.len() >= TEXTS_MAX => Err(too_many("texts", TEXTS_MAX)),
            Kind::Text => {
                let text = fenced(&kept_path(name), &String::from_utf8_lossy(bytes));
                self.tally.add(bytes.len() as u64, text.len() as u64);
                self.listed.push((name.to_owned(), bytes.len() as u64));
                self.texts.push(text);
                Ok(())
            }
        }
    }

    /// Adds the file of a data URI, `data:[TYPE][;name=NAME];base64,BYTES`.
    pub fn decode(&mut self, uri: &str) -> Result<(), Failure> {
        self.decode_as(uri, None)
    }

    /// Adds the file of a data URI. A `name` given beside it counts before the one in it.
    fn decode_as(&mut self, uri: &str, name: Option<&str>) -> Result<(), Failure> {
        let number = self.count() + 1;
        let shown = format!("attachment {number}");
        let Some((head, base64)) = split_uri(uri) else {
            let begins = safe::excerpt(uri, EXCERPT_CHARS);
            let unread = match self.roots {
                Some(_) => "links are not read, and paths begin with `/`",
                None => "paths and links are not read",
            };
            let message = format!("{shown} is no data URI in Base64 but `{begins}`; {unread}");
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
        let name = name.or_else(|| head.split(';').find_map(|parameter| parameter.strip_prefix("name=")));
        let named = |ending: &str| name.map_or_else(|| format!("attachment-{number}.{ending}"), kept_name);
        match Kind::of(&bytes) {
            Kind::Taken { media_type, ending } => {
                self.push(named(ending), media_type, &bytes, base64.to_owned())
            }
            Kind::Text => {
                let name = named("txt");
                self.check_file(&shown, Path::new(&name), &bytes)?;
                self.put(&shown, &name, &bytes)
            }
            Kind::Refused(words) => Err(refused(&shown, words, &bytes)),
        }
    }

    /// Reads such a URI as a part of a message, for a conversation whose parts keep their order.
    pub fn part(&mut self, uri: &str, name: Option<&str>) -> Result<Part, Failure> {
        if self.passed_on >= FILES_MAX {
            return Err(too_many("files", FILES_MAX));
        }
        self.decode_as(uri, name)?;
        self.passed_on += 1;
        let text = self.texts.pop().map(|text| Part::Text { text });
        Ok(text.or_else(|| self.files.pop().map(Part::File)).expect("a file was just added"))
    }

    /// The question: one text, then the files in their order.
    pub fn question(self, prompt: String) -> Message {
        let texts: Vec<String> =
            std::iter::once(prompt).chain(self.texts).filter(|text| !text.is_empty()).collect();
        let mut question = Message::text(Role::User, texts.join("\n\n"));
        question.parts.extend(self.files.into_iter().map(Part::File));
        question
    }

    fn push(&mut self, name: String, media_type: &str, bytes: &[u8], base64: String) -> Result<(), Failure> {
        if self.files.len() + self.passed_on >= FILES_MAX {
            return Err(too_many("files", FILES_MAX));
        }
        let tokens = if media_type == kind::PDF_TYPE { pdf::tokens(bytes) } else { None };
        let media_type = media_type.to_owned();
        let file = Attachment { name, media_type, base64: base64.into(), detail: None, tokens };
        self.tally.add(file.bytes(), file.weight_bytes());
        self.listed.push((file.name.clone(), file.bytes()));
        self.files.push(file);
        Ok(())
    }

    fn check_room(&self, shown: &str, bytes: u64) -> Result<(), Failure> {
        if bytes > self.bytes_left() {
            let most = self.bytes_max;
            return Err(invalid(format!("with {shown} the files have more than {most} bytes in all"))
                .with_next([Next::Do(Advice::AttachLess), Next::raise_setting("attachment_bytes_max")]));
        }
        Ok(())
    }

    const fn count(&self) -> usize {
        self.files.len() + self.passed_on + self.texts.len()
    }

    const fn bytes_left(&self) -> u64 {
        self.bytes_max.saturating_sub(self.tally.bytes)
    }
}

/// The head and the Base64 body of a data URI.
fn split_uri(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.trim().split_once(':')?;
    let (head, base64) = rest.split_once(',')?;
    let head = head.strip_suffix(";base64")?;
    scheme.eq_ignore_ascii_case("data").then_some((head, base64))
}

/// The name of a file that was named.
fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// The name of a file in a folder that was named: its path as it was written, or below the last folder of that path if it
/// says where the folder lies on this machine.
fn name_below(folder: &Path, below: &Path) -> String {
    let is_elsewhere = folder.is_absolute() || folder.components().any(|part| part == Component::ParentDir);
    let base = if is_elsewhere { folder.file_name().map(Path::new) } else { Some(folder) };
    let path = base.unwrap_or(Path::new("")).join(below);
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// A file's name without folders and control characters.
fn kept_name(name: &str) -> String {
    kept_path(name.rsplit(['/', '\\']).next().unwrap_or_default())
}

/// A file's path without control characters, and without what opens or closes a fence: it stands in front of one.
fn kept_path(name: &str) -> String {
    let kept = name.chars().filter(|letter| !steers(*letter)).take(NAME_CHARS_MAX);
    let kept: String = kept.map(|letter| if letter == '`' { '\'' } else { letter }).collect();
    let kept = kept.trim().trim_start_matches('~');
    if kept.is_empty() { "unnamed".to_owned() } else { kept.to_owned() }
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
    Failure::new(Code::SecretFound, format!("{shown} is not sent: {sign}"))
        .with_next([Next::Do(Advice::TakeSecretsOut), Next::Give(Argument::AllowSecretFile)])
}

fn unreadable(shown: &str, error: &io::Error) -> Failure {
    invalid(format!("{shown} cannot be read: {error}")).with_next(Advice::NameReadableFile)
}

fn too_many(what: &str, most: usize) -> Failure {
    invalid(format!("more than {most} {what} are attached")).with_next(Next::AttachAtMost(most as u64))
}

fn refused(shown: &str, words: &str, bytes: &[u8]) -> Failure {
    let failure = invalid(format!("{shown} seems to be {words}, which is not taken"));
    match encoding(bytes) {
        Some(encoding) => failure.with_next(convert_from(encoding)),
        None => failure,
    }
}

/// Whether a person has named something on the web.
pub fn is_address(path: &Path) -> bool {
    let named = path.to_string_lossy();
    named.starts_with("https://") || named.starts_with("http://")
}

fn invalid(message: impl AsRef<str>) -> Failure {
    Failure::new(Code::AttachmentInvalid, message)
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
        let png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
        check(16, &[png], "attachment-1.png image/png 16");
        check(16, &["DATA:;base64,iVBORw0KGgoAAAANSUhEUg=="], "attachment-1.png image/png 16");
        check(16, &["data:image/jpeg;base64,iVBORw0KGgoAAAANSUhEUg=="], "attachment-1.png image/png 16");
        check(
            24,
            &[png, "data:application/pdf;name=../a/b\u{202e}.pdf;base64,JVBERi0xLjc="],
            "attachment-1.png image/png 16, b.pdf application/pdf 8",
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
        ] {
            check(100, &[uri], &why);
        }
    }

    #[test]
    fn files_are_bounded_in_bytes_and_in_number() {
        let png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";
        check(
            31,
            &[png, png],
            "with attachment 2 the files have more than 31 bytes in all (attach less, or raise the setting \
             `attachment_bytes_max`)",
        );
        check(
            1_000,
            &[png; FILES_MAX + 1],
            "more than 20 files are attached (attach at most 20 files to one question)",
        );
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
