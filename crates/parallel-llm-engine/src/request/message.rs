//! The messages of a conversation, with texts and files.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::usage::{BYTES_PER_TOKEN, weight_of};

/// The tokens that a picture is counted as, also that of a page. By the published formulas, large pictures take about 1,600.
pub const IMAGE_TOKENS: u64 = 2_000;
/// The most tokens that a document is counted as which nobody has read: the hundred pages providers accept, at 3,000 tokens each.
pub const DOCUMENT_TOKENS_MAX: u64 = 300_000;
/// How much longer a text may be than its packed bytes: dense pages have a fifth of their size.
pub const PACKED_RATIO_MAX: u64 = 10;

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions for the whole conversation.
    System,
    /// The person who asks.
    User,
    /// A model, earlier in the conversation.
    Assistant,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text, sent exactly as it is.
        text: String,
    },
    /// A picture or a document.
    File(Attachment),
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text { text: text.into() }] }
    }

    /// All text of the message, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::File(_) => None,
        })
    }

    /// All files of the message, in order.
    pub fn files(&self) -> impl Iterator<Item = &Attachment> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { .. } => None,
            Part::File(file) => Some(file),
        })
    }

    /// Bytes of text in the message.
    pub fn text_bytes(&self) -> u64 {
        self.texts().map(|text| text.len() as u64).sum()
    }

    /// The size of the message as input, in bytes of plain text: of its own text, and of that which its files count as.
    pub fn weight_bytes(&self) -> u64 {
        self.texts().map(weight_of).sum::<u64>() + self.files_weight_bytes()
    }

    /// The size of its files, in bytes of the text they count as.
    pub fn files_weight_bytes(&self) -> u64 {
        self.files().map(Attachment::weight_bytes).sum()
    }

    /// The number of its pictures.
    pub fn pictures(&self) -> u64 {
        self.files().filter(|file| file.kind() == AttachmentKind::Image).count() as u64
    }
}

/// A file sent unchanged with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name, without a folder.
    pub name: String,
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes in Base64 with the standard alphabet and padding, the form that every protocol sends.
    pub base64: Arc<str>,
    /// How closely a picture is to be looked at. Left to the model when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<ImageDetail>,
    /// An upper estimate of its tokens by whoever has read it. By its kind and size when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// How closely a picture is to be looked at: a hint, which protocols without one leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageDetail {
    /// At a glance, for few tokens.
    Low,
    /// Closely.
    High,
}

/// How a model treats a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// A document with pages, such as a PDF.
    Document,
}

impl AttachmentKind {
    /// Its name in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
        }
    }
}

impl Attachment {
    /// Its kind by media type: an image, else a document.
    pub fn kind(&self) -> AttachmentKind {
        if self.media_type.starts_with("image/") { AttachmentKind::Image } else { AttachmentKind::Document }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        let padding = self.base64.bytes().rev().take_while(|byte| *byte == b'=').count();
        (self.base64.len() / 4 * 3).saturating_sub(padding) as u64
    }

    /// The bytes of text that take about as many tokens, for estimates.
    pub fn weight_bytes(&self) -> u64 {
        let by_size = || match self.kind() {
            AttachmentKind::Image => IMAGE_TOKENS,
            AttachmentKind::Document => {
                (self.bytes() * PACKED_RATIO_MAX / BYTES_PER_TOKEN).min(DOCUMENT_TOKENS_MAX)
            }
        };
        self.tokens.unwrap_or_else(by_size) * BYTES_PER_TOKEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_nobody_has_read_counts_as_the_longest_text_it_may_hold() {
        let document = |base64: String, tokens| Attachment {
            name: "paper.pdf".to_owned(),
            media_type: "application/pdf".to_owned(),
            base64: base64.into(),
            detail: None,
            tokens,
        };
        assert_eq!(document("AAAA".repeat(100), None).weight_bytes(), 300 * 10);
        assert_eq!(document("AAAA".repeat(100_000), None).weight_bytes(), 300_000 * 3);
        assert_eq!(document("AAAA".repeat(100_000), Some(70)).weight_bytes(), 70 * 3);
    }
}
