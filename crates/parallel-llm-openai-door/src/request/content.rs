//! The content of messages: text, pictures and documents, as both protocols write them.
//!
//! A picture or a document is a data URI. A URL of a web page is refused: the server fetches nothing, so nobody can make
//! it call where only it can.

use std::fmt;

use parallel_llm_engine::request::ImageDetail;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure, Message, Part as MessagePart, Role};
use parallel_llm_service::attachment::Attachments;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::fields::{self, Rest};
use crate::refusal::Refusal;

/// What a message says: a text, or parts.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Content {
    /// A text.
    Text(String),
    /// Texts and files in their order.
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Part {
    /// What it is.
    #[serde(rename = "type")]
    kind: PartKind,
    /// The text.
    text: Option<String>,
    /// Why a model declined, in a message of its own.
    refusal: Option<String>,
    /// The picture.
    image_url: Option<ImageUrl>,
    /// The document of a chat message.
    file: Option<FileFields>,
    /// The document of an input, as a data URI.
    file_data: Option<String>,
    /// Its name.
    filename: Option<String>,
    /// How closely a picture is looked at.
    detail: Option<Detail>,
    /// Marks of an earlier answer, which are not sent.
    annotations: Option<Vec<serde_json::Value>>,
    /// Probabilities of an earlier answer, which are not sent.
    logprobs: Option<Vec<serde_json::Value>>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PartKind {
    Text,
    InputText,
    OutputText,
    Refusal,
    ImageUrl,
    InputImage,
    File,
    InputFile,
}

/// A picture: a data URI, alone or in an object.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
enum ImageUrl {
    /// The data URI.
    Uri(String),
    /// The same in an object.
    Object(ImageFields),
}

/// A picture in an object.
#[derive(Debug, Deserialize, JsonSchema)]
struct ImageFields {
    /// The data URI.
    url: String,
    /// How closely it is looked at.
    detail: Option<Detail>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// A document in an object.
#[derive(Debug, Deserialize, JsonSchema)]
struct FileFields {
    /// The data URI.
    file_data: String,
    /// Its name.
    filename: Option<String>,
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Rest,
}

/// How closely a picture is looked at: a hint for the models whose protocol has it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Detail {
    Auto,
    Low,
    High,
}

impl Detail {
    const fn of_image(self) -> Option<ImageDetail> {
        match self {
            Self::Auto => None,
            Self::Low => Some(ImageDetail::Low),
            Self::High => Some(ImageDetail::High),
        }
    }
}

/// Where a message stands and who says it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The path to its content.
    pub(super) path: &'a str,
    pub(super) role: Role,
}

impl Content {
    /// Whether it is a list without parts.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Parts(parts) if parts.is_empty())
    }

    /// The message of this content. The files are counted with those of the other messages.
    pub(super) fn message(self, place: Place<'_>, files: &mut Attachments) -> Result<Message, Refusal> {
        let parts = match self {
            Self::Text(text) => return Ok(Message::text(place.role, text)),
            Self::Parts(parts) => parts,
        };
        let read = |(index, part): (usize, Part)| {
            let path = format!("{}[{index}]", place.path);
            part.read(Place { path: &path, ..place }, files)
        };
        let parts = parts.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Message { role: place.role, parts })
    }
}

impl Part {
    fn read(self, place: Place<'_>, files: &mut Attachments) -> Result<MessagePart, Refusal> {
        let path = place.path;
        fields::check::<Self>(&format!("{path}."), &self.rest, &[])?;
        self.check_own_fields(path)?;
        match self.kind {
            PartKind::Text | PartKind::InputText | PartKind::OutputText => {
                let text = self.text.ok_or_else(|| missing(path, "text"))?;
                Ok(MessagePart::Text { text })
            }
            PartKind::Refusal if place.role == Role::Assistant => {
                let text = self.refusal.ok_or_else(|| missing(path, "refusal"))?;
                Ok(MessagePart::Text { text })
            }
            _ if place.role != Role::User => {
                let failure =
                    Failure::new(Code::Usage, format!("`{path}` is a file, and only the user sends files"));
                let next = Advice::PutTextIntoPrompt;
                Err(Refusal::field(format!("{path}.type"), "invalid_value", failure.with_next(next)))
            }
            PartKind::Refusal => {
                let failure =
                    Failure::new(Code::Usage, format!("`{path}` is a refusal, which only a model makes"));
                Err(Refusal::field(
                    format!("{path}.type"),
                    "invalid_value",
                    failure.with_next(Advice::LeaveItOut),
                ))
            }
            PartKind::ImageUrl | PartKind::InputImage => {
                let image = self.image_url.ok_or_else(|| missing(path, "image_url"))?;
                image.read(&format!("{path}.image_url"), self.detail, files)
            }
            PartKind::File => {
                let FileFields { file_data, filename, rest } =
                    self.file.ok_or_else(|| missing(path, "file"))?;
                fields::check::<FileFields>(&format!("{path}.file."), &rest, &[])?;
                file(&format!("{path}.file.file_data"), &file_data, filename.as_deref(), files)
            }
            PartKind::InputFile => {
                let uri = self.file_data.ok_or_else(|| missing(path, "file_data"))?;
                file(&format!("{path}.file_data"), &uri, self.filename.as_deref(), files)
            }
        }
    }

    /// Refuses a field that belongs to another kind of part, which would be ignored.
    fn check_own_fields(&self, path: &str) -> Result<(), Refusal> {
        let own: &[&str] = match self.kind {
            PartKind::Text | PartKind::InputText => &["text"],
            PartKind::OutputText => &["text", "annotations", "logprobs"],
            PartKind::Refusal => &["refusal"],
            PartKind::ImageUrl => &["image_url"],
            PartKind::InputImage => &["image_url", "detail"],
            PartKind::File => &["file"],
            PartKind::InputFile => &["file_data", "filename"],
        };
        let given = [
            ("text", self.text.is_some()),
            ("refusal", self.refusal.is_some()),
            ("image_url", self.image_url.is_some()),
            ("file", self.file.is_some()),
            ("file_data", self.file_data.is_some()),
            ("filename", self.filename.is_some()),
            ("detail", self.detail.is_some()),
            ("annotations", self.annotations.is_some()),
            ("logprobs", self.logprobs.is_some()),
        ];
        let strange = given.into_iter().find(|(name, is_given)| *is_given && !own.contains(name));
        let Some((name, _)) = strange else { return Ok(()) };
        let failure = Failure::new(Code::Usage, format!("a part of this type has no `{name}`"));
        let next = Next::LeaveOut(name.into());
        Err(Refusal::field(format!("{path}.{name}"), "unknown_parameter", failure.with_next(next)))
    }
}

impl ImageUrl {
    /// The picture, with the detail that its part or its object gives.
    fn read(
        self,
        path: &str,
        detail: Option<Detail>,
        files: &mut Attachments,
    ) -> Result<MessagePart, Refusal> {
        let (mut part, detail) = match self {
            Self::Uri(uri) => (file(path, &uri, None, files)?, detail),
            Self::Object(ImageFields { url, detail: own, rest }) => {
                fields::check::<ImageFields>(&format!("{path}."), &rest, &[])?;
                (file(&format!("{path}.url"), &url, None, files)?, own.or(detail))
            }
        };
        let MessagePart::File(picture) = &mut part else {
            let failure = Failure::new(Code::AttachmentInvalid, "a text is no picture");
            let next = Advice::PutTextIntoPrompt;
            return Err(Refusal::field(path, "invalid_value", failure.with_next(next)));
        };
        picture.detail = detail.and_then(Detail::of_image);
        Ok(part)
    }
}

/// A file of a data URI.
fn file(path: &str, uri: &str, name: Option<&str>, files: &mut Attachments) -> Result<MessagePart, Refusal> {
    files.part(uri, name).map_err(|failure| Refusal::field(path, "invalid_value", failure))
}

/// The refusal of an object without a field that its type needs.
pub(super) fn missing(path: &str, name: &str) -> Refusal {
    let failure = Failure::new(Code::Usage, format!("`{path}.{name}` is missing"));
    Refusal::field(format!("{path}.{name}"), "missing_required_parameter", failure)
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct ContentReader;
        impl<'de> Visitor<'de> for ContentReader {
            type Value = Content;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text or a list of parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Content, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(parts)).map(Content::Parts)
            }
        }
        source.deserialize_any(ContentReader)
    }
}

impl<'de> Deserialize<'de> for ImageUrl {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct ImageReader;
        impl<'de> Visitor<'de> for ImageReader {
            type Value = ImageUrl;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a data URI or an object with one")
            }

            fn visit_str<E>(self, uri: &str) -> Result<ImageUrl, E> {
                Ok(ImageUrl::Uri(uri.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<ImageUrl, A::Error> {
                ImageFields::deserialize(MapAccessDeserializer::new(fields)).map(ImageUrl::Object)
            }
        }
        source.deserialize_any(ImageReader)
    }
}
