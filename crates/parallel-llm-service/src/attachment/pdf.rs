//! How many tokens a PDF counts as.
//!
//! No reader but a bound: labs send a model the text of each page and often its picture, so both are counted. A text is what stands in
//! the strings of a page, however well it is compressed. A stream that cannot be unpacked counts as the longest text it may hold.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::ZlibDecoder;
use memchr::memmem;
use parallel_llm_engine::request::{DOCUMENT_TOKENS_MAX, IMAGE_TOKENS, PACKED_RATIO_MAX};
use parallel_llm_engine::value::usage::BYTES_PER_TOKEN;

/// The most that is unpacked of one document. A longer one counts as the longest.
const UNPACKED_BYTES_MAX: u64 = 16 << 20;
/// The longest dictionary of a stream, in bytes.
const DICTIONARY_BYTES_MAX: usize = 4 * 1024;
/// Streams without text of a page: pictures, fonts, colours, and tables of the file.
const OTHER_STREAMS: &[&str] = &[
    "/Subtype/Image",
    "/Length1 ",
    "/Subtype/Type1C",
    "/Subtype/CIDFontType0C",
    "/Subtype/OpenType",
    "/Type/XRef",
    "/Type/Metadata",
    "/FunctionType",
    "/ShadingType",
    "/Alternate",
    "/Type/CMap",
];

/// An upper estimate of the tokens that a model reads of a PDF; `None` if it cannot be read.
pub(super) fn tokens(bytes: &[u8]) -> Option<u64> {
    if memmem::find(bytes, b"/Encrypt").is_some() {
        return None;
    }
    let mut content = Content { pages: pages(bytes), ..Content::default() };
    for stream in streams(bytes) {
        if content.unpacked > UNPACKED_BYTES_MAX {
            return Some(DOCUMENT_TOKENS_MAX);
        }
        content.add(&stream);
    }
    (content.pages > 0).then(|| content.pages * IMAGE_TOKENS + content.text_bytes / BYTES_PER_TOKEN)
}

/// What was found in a document.
#[derive(Default)]
struct Content {
    pages: u64,
    /// The bytes of its texts, as UTF-8.
    text_bytes: u64,
    /// The bytes that were unpacked.
    unpacked: u64,
}

impl Content {
    fn add(&mut self, stream: &Stream<'_>) {
        let words = String::from_utf8_lossy(stream.dictionary);
        let dictionary = words.split_ascii_whitespace().collect::<Vec<_>>().join(" ").replace(" /", "/");
        if OTHER_STREAMS.iter().any(|other| dictionary.contains(other)) {
            return;
        }
        let bytes_left = UNPACKED_BYTES_MAX.saturating_sub(self.unpacked);
        let is_packed = dictionary.contains("/Filter");
        let plain = if is_packed {
            unpacked(stream.bytes, bytes_left).map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(stream.bytes))
        };
        let Some(plain) = plain else {
            self.text_bytes += stream.bytes.len() as u64 * PACKED_RATIO_MAX;
            return;
        };
        self.unpacked += plain.len() as u64;
        self.pages += pages(&plain);
        self.text_bytes += text_bytes(&plain);
    }
}

/// A stream of a document and the dictionary before it.
struct Stream<'a> {
    dictionary: &'a [u8],
    bytes: &'a [u8],
}

fn streams(bytes: &[u8]) -> impl Iterator<Item = Stream<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + memmem::find(&bytes[at..], b"stream")?;
        let before = &bytes[at.max(begin.saturating_sub(DICTIONARY_BYTES_MAX))..begin];
        let dictionary = memmem::rfind(before, b" obj").map_or(before, |object| &before[object..]);
        let rest = &bytes[begin + b"stream".len()..];
        let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
        let end = memmem::find(rest, b"endstream").unwrap_or(rest.len());
        at = (bytes.len() - rest.len() + end + b"endstream".len()).min(bytes.len());
        Some(Stream { dictionary, bytes: &rest[..end] })
    })
}

/// The bytes of a stream packed by Deflate, at most this many and one; `None` if it is packed otherwise.
fn unpacked(packed: &[u8], bytes_max: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    // What was read before the damage counts: readers show it.
    let _ = ZlibDecoder::new(packed).take(bytes_max + 1).read_to_end(&mut plain);
    (!plain.is_empty()).then_some(plain)
}

/// How many pages are described here.
fn pages(bytes: &[u8]) -> u64 {
    let is_page = |at: usize| {
        let rest = bytes[at + b"/Type".len()..].trim_ascii_start();
        rest.strip_prefix(b"/Page").is_some_and(|behind| !behind.first().is_some_and(u8::is_ascii_alphabetic))
    };
    memmem::find_iter(bytes, b"/Type").filter(|at| is_page(*at)).count() as u64
}

/// The bytes of the strings in a page: `(text)`, and `<hexadecimal>`, in which two bytes are mostly a letter.
fn text_bytes(content: &[u8]) -> u64 {
    let (mut bytes, mut depth, mut at) = (0, 0_usize, 0);
    while let Some(one) = content.get(at) {
        at += 1;
        match one {
            b'\\' if depth > 0 => {
                bytes += 1;
                at += 1;
            }
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'<' if depth == 0 => {
                let digits = content[at..]
                    .iter()
                    .take_while(|one| one.is_ascii_hexdigit() || one.is_ascii_whitespace());
                let digits = digits.count();
                if content.get(at + digits) == Some(&b'>') {
                    bytes += digits as u64 * 3 / 4;
                }
                at += digits;
            }
            _ if depth > 0 => bytes += 1,
            _ => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    /// A document with a page for each of these contents, each in a stream with these words in its dictionary.
    fn document(words: &str, contents: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = b"%PDF-1.7\n1 0 obj\n<</Type /Pages /Count 2>>\nendobj\n".to_vec();
        for content in contents {
            bytes.extend(b"2 0 obj\n<< /Type /Page /Contents 3 0 R >>\nendobj\n");
            bytes.extend(format!("3 0 obj\n<< /Length {} {words} >>\nstream\n", content.len()).bytes());
            bytes.extend(content);
            bytes.extend(b"\nendstream\nendobj\n");
        }
        bytes
    }

    #[test]
    fn a_compressed_text_counts_as_what_it_unpacks_to() {
        let text = format!("BT ({}) Tj ET", "all work and no play ".repeat(6_000));
        let bytes = document("/Filter /FlateDecode", &[packed(text.as_bytes())]);
        assert!(bytes.len() < 2_000);
        assert_eq!(tokens(&bytes), Some(IMAGE_TOKENS + 126_000 / 3));
        assert_eq!(tokens(&document("", &[text.into_bytes()])), Some(IMAGE_TOKENS + 126_000 / 3));
    }

    #[test]
    fn a_string_of_hexadecimal_digits_counts_its_letters() {
        let text = format!("BT <{}> Tj [<0041> -120 (b\\)c)] TJ ET", "0041".repeat(1_000));
        let bytes = document("/Filter/FlateDecode", &[packed(text.as_bytes())]);
        assert_eq!(tokens(&bytes), Some(IMAGE_TOKENS + (3_000 + 3 + 3) / 3));
    }

    #[test]
    fn pages_in_a_packed_table_of_objects_are_found() {
        let objects = b"7 0 8 40 << /Type/Page >> << /Type /Page /Parent 1 0 R >>";
        let mut bytes = b"%PDF-1.7\n".to_vec();
        bytes.extend(b"5 0 obj\n<< /Type /ObjStm /Filter /FlateDecode >>\nstream\r\n");
        bytes.extend(packed(objects));
        bytes.extend(b"\r\nendstream\nendobj\n");
        assert_eq!(tokens(&bytes), Some(2 * IMAGE_TOKENS));
    }

    #[test]
    fn a_scan_counts_as_its_pages() {
        let picture = vec![7; 300_000];
        let bytes = document("/Subtype /Image /Filter /DCTDecode", &[picture.clone(), picture]);
        assert_eq!(tokens(&bytes), Some(2 * IMAGE_TOKENS));
    }

    #[test]
    fn what_cannot_be_unpacked_counts_as_the_longest_it_may_hold() {
        let encrypted = [&document("", &[vec![1; 3_000]])[..], b"trailer << /Encrypt 9 0 R >>"].concat();
        assert_eq!(tokens(&encrypted), None);
        let other = document("/Filter /LZWDecode", &[vec![1; 3_000]]);
        assert_eq!(tokens(&other), Some(IMAGE_TOKENS + 3_001 * 10 / 3));
        for damaged in
            [&b"%PDF-1.4"[..], b"%PDF-1.4 stream", b"%PDF-1.4 obj stream\nendstream endstream /Type"]
        {
            assert_eq!(tokens(damaged), None);
        }
        let bomb = packed(&vec![b'('; usize::try_from(UNPACKED_BYTES_MAX).unwrap() + 9]);
        let bytes = document("/Filter /FlateDecode", &[bomb.clone(), bomb]);
        assert_eq!(tokens(&bytes), Some(DOCUMENT_TOKENS_MAX));
    }
}
