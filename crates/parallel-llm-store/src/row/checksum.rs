//! Checksums of rows, verified on reading, so that a flipped bit is reported.
//!
//! Disks can return corrupt data, and the database has no checksums of its own. Eight bytes protect against chance, not
//! against intent. Texts need none: they are stored under their BLAKE3 hash.

use blake3::Hasher;

/// Prefixes of values, so that different rows never hash the same bytes.
const NULL: u8 = 0;
const NUMBER: u8 = 1;
const TEXT: u8 = 2;

/// A checksum in progress.
#[derive(Debug)]
pub(crate) struct Checksum(Hasher);

impl Checksum {
    /// Starts the checksum of a row or a column group of this name.
    pub(crate) fn of(name: &str) -> Self {
        Self(Hasher::new()).text(Some(name))
    }

    pub(crate) fn text(mut self, text: Option<&str>) -> Self {
        match text {
            Some(text) => {
                self.0.update(&[TEXT]).update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
            }
            None => {
                self.0.update(&[NULL]);
            }
        }
        self
    }

    pub(crate) fn number(mut self, number: Option<i64>) -> Self {
        match number {
            Some(number) => self.0.update(&[NUMBER]).update(&number.to_le_bytes()),
            None => self.0.update(&[NULL]),
        };
        self
    }

    /// The checksum as stored in its column.
    pub(crate) fn finish(self) -> i64 {
        let mut bytes = [0; 8];
        self.0.finalize_xof().fill(&mut bytes);
        i64::from_le_bytes(bytes)
    }

    /// Whether a row matches its stored checksum; rows of older versions have none and always match.
    pub(crate) fn matches(self, stored: Option<i64>) -> bool {
        stored.is_none_or(|stored| stored == self.finish())
    }
}

/// Whether a text has this hash.
pub(crate) fn is_of_hash(text: &str, hash: &str) -> bool {
    blake3::hash(text.as_bytes()).to_hex().as_str() == hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_depends_on_every_value_and_its_position() {
        let of = |first: Option<&str>, second: Option<&str>, number: Option<i64>| {
            Checksum::of("row").text(first).text(second).number(number).finish()
        };
        let sums = [
            of(Some("ab"), Some("c"), Some(1)),
            of(Some("a"), Some("bc"), Some(1)),
            of(Some("ab"), Some("c"), Some(2)),
            of(Some("ab"), Some("c"), None),
            of(Some("ab"), None, Some(1)),
            of(None, Some("ab"), Some(1)),
        ];
        for (place, sum) in sums.iter().enumerate() {
            assert!(!sums[..place].contains(sum), "{place}");
        }
        assert!(Checksum::of("row").matches(None), "an older version wrote no checksum");
        assert!(!Checksum::of("row").matches(Some(0)));
    }
}
