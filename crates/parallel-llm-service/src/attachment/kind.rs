//! What a file is, by its first bytes, and how it is handled.

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
    pub(super) fn of(bytes: &[u8]) -> Self {
        let fits = |signature: &&Signature| {
            let (at, then) = signature.then;
            bytes.starts_with(signature.first) && bytes.get(at..).is_some_and(|rest| rest.starts_with(then))
        };
        match (SIGNATURES.iter().find(fits).map(|signature| signature.is), std::str::from_utf8(bytes)) {
            (Some(taken @ Self::Taken { .. }), _) => taken,
            (_, Ok("")) => EMPTY,
            (_, Ok(_)) => Self::Text,
            (signature, Err(_)) => signature.unwrap_or(Self::Refused("binary data of an unknown kind")),
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
            Self::Text if head.contains(&0) => Self::Refused("binary data"),
            EMPTY if !head.is_empty() => Self::Refused("binary data"),
            kind => kind,
        }
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
    fn a_file_in_a_folder_is_known_by_its_head() {
        for (head, kind) in [
            (&b""[..], EMPTY),
            ("größ".as_bytes(), Kind::Text),
            // The head ends within a letter.
            (&"größ".as_bytes()[..4], Kind::Text),
            (b"GIF89a\0\0", GIF),
            (b"archive\0\0\0", Kind::Refused("binary data")),
            (b"\xc3", Kind::Refused("binary data")),
            (b"\xff\x00\xff", Kind::Refused("binary data of an unknown kind")),
        ] {
            assert_eq!(Kind::of_head(head), kind, "{}", head.escape_ascii());
        }
    }
}
