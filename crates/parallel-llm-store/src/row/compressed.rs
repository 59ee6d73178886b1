//! Compresses stored texts if that makes them smaller.
//!
//! A compressed text begins with zstd's four magic bytes (RFC 8878), which are not valid UTF-8, so plain texts of older
//! versions are recognized and read unchanged. The hash or checksum shows damage.

use std::cell::RefCell;
use std::io::Read as _;
use std::sync::Arc;

use zstd::bulk::Compressor;
use zstd::stream::read::Decoder;
use zstd::zstd_safe::DCtx;

/// The first bytes of every compressed text.
const FRAME_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// zstd's fastest level: higher ones take a third longer to save a hundredth.
const LEVEL: i32 = 1;
/// Shorter texts barely become smaller, and plain ones are easier to inspect.
const COMPRESSED_MIN: usize = 128;
/// Longer texts are compressed with temporary memory, which is freed afterwards.
const KEPT_MEMORY_MAX: usize = 64 * 1024;
/// A decompressor that a long text has made larger than this, in bytes, is not kept.
const KEPT_DECOMPRESSOR_MAX: usize = 512 * 1024;
/// The longest text that is read. The longest that is written is a question with its attachments, in JSON; an answer is
/// a fraction of that. A frame of some kilobytes may claim, and hold, any length.
pub(crate) const TEXT_BYTES_MAX: u64 = 256 * 1024 * 1024;

thread_local! {
    /// Creating a compressor takes three times as long as compressing a typical answer.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// Creating one of these takes five times as long as reading one.
    static DECOMPRESSOR: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// A text to be stored.
#[derive(Clone, Debug)]
pub(crate) enum TextBody {
    Plain(Arc<str>),
    Compressed(Vec<u8>),
}

impl TextBody {
    pub(crate) fn of(text: &Arc<str>) -> Self {
        let compressed = (text.len() >= COMPRESSED_MIN).then(|| compress(text.as_bytes())).flatten();
        match compressed {
            Some(bytes) if bytes.len() < text.len() => Self::Compressed(bytes),
            _ => Self::Plain(Arc::clone(text)),
        }
    }

    /// Stored length in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Compressed(bytes) => bytes.len(),
        }
    }
}

/// `None` without memory for it; the text then stays plain.
fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() > KEPT_MEMORY_MAX {
        return zstd::bulk::compress(bytes, LEVEL).ok();
    }
    COMPRESSOR.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Compressor::new(LEVEL).ok();
        }
        kept.as_mut()?.compress(bytes).ok()
    })
}

/// Whether the bytes of a column are a compressed text.
pub(crate) fn is_compressed(column: &[u8]) -> bool {
    column.starts_with(&FRAME_MAGIC)
}

/// The text of a column, or the readable part of a damaged one.
pub(crate) fn decompressed(column: &[u8]) -> String {
    decompressed_within(column, TEXT_BYTES_MAX)
}

/// The text of a column if it has at most this many bytes. A compressed one that has more, or does not state its length,
/// is empty: it is not what was written, and is refused before any of it is decompressed.
pub(crate) fn decompressed_within(column: &[u8], bytes_max: u64) -> String {
    let length = if is_compressed(column) {
        zstd::zstd_safe::get_frame_content_size(column).ok().flatten().filter(|length| *length <= bytes_max)
    } else {
        Some(bytes_max)
    };
    length.map_or_else(String::new, |length| decompressed_to(column, length))
}

/// The first bytes of a column's text, up to a complete character.
pub(crate) fn decompressed_to(column: &[u8], bytes_max: u64) -> String {
    let bytes = if is_compressed(column) {
        decompress(column, bytes_max)
    } else {
        column[..column.len().min(bytes_max as usize)].to_vec()
    };
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(cut) => String::from_utf8_lossy(cut.as_bytes()).trim_end_matches('\u{fffd}').to_owned(),
    }
}

/// The first bytes of a frame, as many as it has. Partial output of a damaged one matches no hash, so the damage is noticed; without
/// memory for a decompressor there is none.
fn decompress(frame: &[u8], bytes_max: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(KEPT_MEMORY_MAX.min(bytes_max as usize));
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let Some(mut context) = kept.take().or_else(DCtx::try_create) else { return };
        let _ = Decoder::with_context(frame, &mut context).take(bytes_max).read_to_end(&mut bytes);
        *kept = Some(context).filter(|context| context.sizeof() <= KEPT_DECOMPRESSOR_MAX);
    });
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str) -> Vec<u8> {
        match TextBody::of(&Arc::from(text)) {
            TextBody::Plain(text) => text.as_bytes().to_vec(),
            TextBody::Compressed(bytes) => bytes,
        }
    }

    #[test]
    fn every_text_comes_back_as_it_was() {
        let odd: String = (0..3_000_u32).filter_map(|at| char::from_u32(at * 7919 % 0x11_0000)).collect();
        let long = "Rain falls where the air rises. ".repeat(10_000);
        for text in ["", "short", &"é".repeat(64), &"é".repeat(9_999), &odd, &long, "(µ/ý"] {
            let column = column(text);
            assert_eq!(decompressed(&column), text);
            assert!(column.len() <= text.len());
        }
        assert!(column(&long).len() < long.len() / 50);
    }

    #[test]
    fn a_beginning_ends_between_characters() {
        for text in ["é".repeat(9), "é".repeat(9_999)] {
            assert_eq!(decompressed_to(&column(&text), 5), "éé");
        }
    }

    #[test]
    fn a_damaged_text_is_another_text() {
        let text = "Rain falls where the air rises, and the lee side stays dry. ".repeat(20);
        let column = column(&text);
        for (at, bit) in (0..column.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut damaged = column.clone();
            damaged[at] ^= 1 << bit;
            let read = decompressed(&damaged);
            assert!(read.len() <= 1_000_000, "{at} {bit}");
        }
        assert_ne!(decompressed(&column[..column.len() / 2]), text);
    }

    #[test]
    fn a_frame_longer_than_its_text_can_be_is_not_decompressed() {
        let long = "no end ".repeat(1_000_000);
        let bomb = column(&long);
        assert!(bomb.len() < 2_000, "{}", bomb.len());
        assert_eq!(decompressed_within(&bomb, 6_999_999), "");
        assert_eq!(decompressed_within(&bomb, 7_000_000), long);
        // A frame that states no length may hold any.
        let silent = zstd::stream::encode_all(long.as_bytes(), LEVEL).unwrap();
        assert_eq!(decompressed(&silent), "");
        // Two frames in a row: what is beyond the stated length of the first is not read.
        let pair = [bomb.clone(), bomb].concat();
        assert_eq!(decompressed(&pair).len(), long.len());
    }
}
