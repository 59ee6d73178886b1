//! Finds and decodes base64 text.

/// The shortest decoded piece. Shorter ones hold no instruction.
const BLOB_CHARS_MIN: usize = 20;
/// The longest decoded piece. Of longer ones, which are files, the beginning is decoded.
const BLOB_CHARS_MAX: usize = 8 * 1024;
/// The most decoded pieces of a text. Honest texts have a few, such as pictures, keys or signatures.
const BLOBS_MAX: usize = 64;

/// The decoded base64 pieces of a text that are text themselves.
pub(super) fn texts(text: &str) -> Vec<String> {
    let blobs = text.split(|one: char| !is_digit(one)).filter(|blob| blob.len() >= BLOB_CHARS_MIN);
    blobs.take(BLOBS_MAX).filter_map(|blob| decoded(&blob[..blob.len().min(BLOB_CHARS_MAX)])).collect()
}

const fn is_digit(one: char) -> bool {
    matches!(one, 'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '-' | '_')
}

fn decoded(blob: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(blob.len() * 3 / 4);
    for four in blob.as_bytes().chunks(4) {
        let digits = four.iter().fold(0u32, |all, digit| all << 6 | u32::from(value(*digit)));
        let whole = (digits << (6 * (4 - four.len()))).to_be_bytes();
        // A chunk of n digits holds n - 1 whole bytes.
        bytes.extend_from_slice(&whole[1..four.len()]);
    }
    // A cut piece may end within a character.
    let text = match str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) if bytes.len() - error.valid_up_to() < 4 => {
            str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    Some(text.to_owned())
}

/// The value of a digit in either base64 alphabet.
const fn value(digit: u8) -> u8 {
    match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_are_read_and_files_are_not() {
        assert_eq!(texts("see SGVsbG8sIHdvcmxkLCBoZWxsbyE= !"), ["Hello, world, hello!"]);
        assert_eq!(texts("short: SGVsbG8="), Vec::<String>::new());
        assert_eq!(texts("/////////////////////////////"), Vec::<String>::new());
        assert_eq!(texts(&"QUFB".repeat(9_000)).concat().len(), BLOB_CHARS_MAX * 3 / 4);
    }
}
