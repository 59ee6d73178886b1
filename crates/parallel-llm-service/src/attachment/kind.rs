//! What a file is, by its first bytes, and how it is handled.

use parallel_llm_engine::value::next::{Advice, Next};

/// Bytes that are enough to tell a text from other files.
pub(super) const HEAD_BYTES: u64 = 8 << 10;

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
pub(super) enum Kind {
    /// Sent unchanged, with this media type; `ending` completes the name of an unnamed file.
    Taken { media_type: &'static str, ending: &'static str },
    /// Appended to the prompt.
    Text,
    /// Refused, with what it seems to be.
    Refused(&'static str),
}

/// A file without bytes.
pub(super) const EMPTY: Kind = Kind::Refused("an empty file");
/// Text that is not in UTF-8.
pub(super) const OTHER_TEXT: &str = "text in another encoding than UTF-8, perhaps Latin-1";
/// Text that is in UTF-16.
pub(super) const UTF_16: &str = "text in UTF-16, not UTF-8";
/// What is neither a text nor of a known type.
const BINARY: &str = "binary data of an unknown kind";
/// The first bytes of a text that tell its encoding.
const SAMPLE_BYTES: usize = 64 << 10;
/// No further bytes.
const NOTHING: (usize, &[u8]) = (0, b"");

const PNG: Kind = Kind::Taken { media_type: "image/png", ending: "png" };
const JPEG: Kind = Kind::Taken { media_type: "image/jpeg", ending: "jpg" };
const GIF: Kind = Kind::Taken { media_type: "image/gif", ending: "gif" };
const WEBP: Kind = Kind::Taken { media_type: "image/webp", ending: "webp" };
/// The media type of a PDF.
pub(super) const PDF_TYPE: &str = "application/pdf";
const PDF: Kind = Kind::Taken { media_type: PDF_TYPE, ending: "pdf" };

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
    Signature { first: b"\xff\xfe", then: NOTHING, is: Kind::Refused(UTF_16) },
    Signature { first: b"\xfe\xff", then: NOTHING, is: Kind::Refused(UTF_16) },
];

impl Kind {
    /// The handling of a file of these bytes. A text may begin like another type.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let fits = |signature: &&Signature| {
            let (at, then) = signature.then;
            bytes.starts_with(signature.first) && bytes.get(at..).is_some_and(|rest| rest.starts_with(then))
        };
        match (SIGNATURES.iter().find(fits).map(|signature| signature.is), std::str::from_utf8(bytes)) {
            (Some(taken @ Self::Taken { .. }), _) => damage(taken, bytes).map_or(taken, Self::Refused),
            (_, Ok("")) => EMPTY,
            // Letters of UTF-16 are valid UTF-8 with a zero byte beside each.
            (_, Ok(text)) if text.contains('\0') => Self::Refused(zeros(bytes)),
            (_, Ok(_)) => Self::Text,
            (Some(signature), Err(_)) => signature,
            (None, Err(_)) if is_other_text(bytes) => Self::Refused(OTHER_TEXT),
            (None, Err(_)) => Self::Refused(BINARY),
        }
    }

    /// The handling of a file in a folder, which nobody named, by its first [`HEAD_BYTES`]. A text has no zero bytes.
    pub(super) fn of_head(head: &[u8]) -> Self {
        // The head may end within a letter.
        let valid = match std::str::from_utf8(head) {
            Err(error) if error.error_len().is_none() => &head[..error.valid_up_to()],
            _ => head,
        };
        match Self::of(valid) {
            EMPTY if !head.is_empty() => Self::Refused("binary data"),
            kind => kind,
        }
    }
}

/// What bytes with zeros among them are, which no text in UTF-8 has.
fn zeros(bytes: &[u8]) -> &'static str {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let at = |parity: usize| sample.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    // In UTF-16 each letter of most scripts of Europe has one on the same side; blanks and line ends have one in any script.
    let (zeros, others) = (at(0).max(at(1)), at(0).min(at(1)));
    if zeros * 4 >= sample.len() && others * 8 <= zeros { UTF_16 } else { BINARY }
}

/// Whether bytes that are not UTF-8 are a text all the same: it has no control characters, and hardly begins with one of
/// the letters that Latin-1 does not have.
fn is_other_text(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let is_control = |byte: &&u8| matches!(**byte, 0..=8 | 14..=26 | 28..=31 | 127);
    let begins = sample.first().is_some_and(|byte| !matches!(byte, 0x80..=0x9f));
    begins && sample.iter().find(is_control).is_none()
}

/// What a picture is instead, if the bytes behind its signature cannot follow it, or are missing. How it ends is left to its
/// model.
fn damage(kind: Kind, bytes: &[u8]) -> Option<&'static str> {
    match kind {
        // The first chunk of a PNG is its header, of 13 bytes.
        PNG if bytes.get(8..16) != Some(b"\0\0\0\rIHDR") => {
            Some("a damaged PNG picture: its header is missing")
        }
        // Behind the signatures stand a width and a height.
        GIF if bytes.get(6..10).is_none_or(|size| size[..2] == [0, 0] || size[2..] == [0, 0]) => {
            Some("a damaged GIF picture: it has no width or no height")
        }
        WEBP if bytes.get(12..15) != Some(b"VP8") => Some("a damaged WebP picture: its header is missing"),
        // Behind the start of a JPEG stands a marker.
        JPEG if bytes.get(3).is_none_or(|marker| *marker < 0xc0) => {
            Some("a damaged JPEG picture: its header is missing")
        }
        _ => None,
    }
}

/// What bytes are instead of a text, if they cannot be one.
pub fn no_text(bytes: &[u8]) -> Option<&'static str> {
    match Kind::of(bytes) {
        Kind::Refused(words) if !bytes.is_empty() => Some(words),
        _ => None,
    }
}

/// The encoding of a text that is not in UTF-8, as `iconv` calls it.
pub fn encoding(bytes: &[u8]) -> Option<&'static str> {
    match (no_text(bytes)?, bytes) {
        (UTF_16, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) => Some("utf-16"),
        (UTF_16, [0, ..]) => Some("utf-16be"),
        (UTF_16, _) => Some("utf-16le"),
        (OTHER_TEXT, _) => Some("latin1"),
        _ => None,
    }
}

/// How to convert a text of this encoding.
pub fn convert_from(encoding: &str) -> Next {
    match encoding {
        "latin1" => Next::Do(Advice::ConvertWithIconv),
        encoding => Next::Type(format!("iconv -f {encoding} -t utf-8 OLD > NEW").into()),
    }
}

/// Whether these bytes are a picture or a document that is sent unchanged.
pub fn is_taken(bytes: &[u8]) -> bool {
    matches!(Kind::of(bytes), Kind::Taken { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_first_bytes_are() {
        for (bytes, kind) in [
            (&b"\xff\xd8\xff\xe0"[..], JPEG),
            (b"GIF87a\x01\0\x01\0", GIF),
            (b"GIF89a\x01\0\x01\0", GIF),
            (b"GIF89a", Kind::Refused("a damaged GIF picture: it has no width or no height")),
            (b"\x89PNG\r\n\x1a\n", Kind::Refused("a damaged PNG picture: its header is missing")),
            (b"\xff\xd8\xff", Kind::Refused("a damaged JPEG picture: its header is missing")),
            (b"RIFF\x24\0\0\0WEBP", Kind::Refused("a damaged WebP picture: its header is missing")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", WEBP),
            (b"%PDF-1.7", PDF),
            (b"\x89PNG", Kind::Refused("binary data of an unknown kind")),
            (b"RIFF\x24\0\0\0WAVE\xff", Kind::Refused("a sound or a film")),
            (b"\0\0\0\x1cftypheic\xff", Kind::Refused("a HEIC or AVIF picture, or a film")),
            (b"caf\xe9 au lait", Kind::Refused(OTHER_TEXT)),
            (b"\xe9\0\0\x01", Kind::Refused("binary data of an unknown kind")),
            (b"\x89PNG\r\n\x1a\n123456789", Kind::Refused("a damaged PNG picture: its header is missing")),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0", PNG),
            (b"h\0i\0", Kind::Refused(UTF_16)),
            (b"\0h\0i\0\n", Kind::Refused(UTF_16)),
            (b"\xff\xfeh\0i\0", Kind::Refused(UTF_16)),
            (b"hello world\0", Kind::Refused(BINARY)),
            (b"BMW drivers", Kind::Text),
            (b"<svg xmlns=", Kind::Text),
        ] {
            assert_eq!(Kind::of(bytes), kind, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_file_in_a_folder_is_known_by_its_head() {
        for (head, kind) in [
            (&b""[..], EMPTY),
            ("größ".as_bytes(), Kind::Text),
            // The head ends within a letter.
            (&"größ".as_bytes()[..4], Kind::Text),
            (b"GIF89a\x01\0\x01\0", GIF),
            (b"archive\0\0\0", Kind::Refused(BINARY)),
            (b"\xc3", Kind::Refused("binary data")),
            (b"\xff\x00\xff", Kind::Refused("binary data of an unknown kind")),
        ] {
            assert_eq!(Kind::of_head(head), kind, "{}", head.escape_ascii());
        }
    }
}
