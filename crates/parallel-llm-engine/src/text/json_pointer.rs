//! A JSON pointer (RFC 6901), such as `/answer/value`.
//!
//! Invariants: a pointer is well-formed, and short enough to be `Copy`.

use std::fmt::{self, Write};

/// The longest pointer in bytes, enough for six names of ten letters. Plans and messages contain it.
const POINTER_BYTES_MAX: usize = 64;

/// A JSON pointer. The empty one is the whole document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    bytes: [u8; POINTER_BYTES_MAX],
    length: usize,
}

impl Pointer {
    /// Parses a pointer in URI fragment form (RFC 6901, section 6): `%2C` is a comma, which would end an option, and
    /// `%25` for a percent sign. The error is a sentence.
    pub fn parse(written: &str) -> Result<Self, String> {
        let text = decoded(written).ok_or("`%` must be followed by two hexadecimal digits of UTF-8 text")?;
        if !text.is_empty() && !text.starts_with('/') {
            return Err("a pointer begins with `/`".to_owned());
        }
        if text.split('~').skip(1).any(|behind| !behind.starts_with(['0', '1'])) {
            return Err("`~` must be followed by `0` or `1`".to_owned());
        }
        let mut bytes = [0; POINTER_BYTES_MAX];
        let copied =
            bytes.get_mut(..text.len()).ok_or(format!("a pointer has at most {POINTER_BYTES_MAX} bytes"))?;
        copied.copy_from_slice(text.as_bytes());
        Ok(Self { bytes, length: text.len() })
    }

    /// The names of the path, outermost first. In an array a name is an index from 0.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.as_str().split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"))
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).expect("a pointer is made of a text")
    }
}

impl fmt::Display for Pointer {
    /// As [`Pointer::parse`] reads it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.as_str().chars() {
            if matches!(character, ',' | '%' | '`') || character.is_whitespace() || character.is_control() {
                let mut bytes = [0; 4];
                character.encode_utf8(&mut bytes).bytes().try_for_each(|byte| write!(out, "%{byte:02X}"))?;
            } else {
                out.write_char(character)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Pointer({self})")
    }
}

/// Decodes percent signs; `None` if the result is not UTF-8.
fn decoded(written: &str) -> Option<String> {
    let mut pieces = written.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|one| one.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(piece[2..].bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(written: &str, expected: Result<&[&str], &str>) {
        let read = Pointer::parse(written).map(|pointer| pointer.names().collect::<Vec<_>>());
        let expected = expected
            .map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>())
            .map_err(str::to_owned);
        assert_eq!(read, expected, "{written}");
    }

    #[test]
    fn a_pointer_is_a_list_of_names() {
        check("", Ok(&[]));
        check("/", Ok(&[""]));
        check("/answer/value", Ok(&["answer", "value"]));
        check("/0/a b", Ok(&["0", "a b"]));
        check("/a~1b/m~0n/~01", Ok(&["a/b", "m~n", "~1"]));
        check("/a%2Cb/50%25/k=v@w", Ok(&["a,b", "50%", "k=v@w"]));
        check("/%C3%A9t%C3%A9/été", Ok(&["été", "été"]));
    }

    #[test]
    fn an_invalid_pointer_is_refused() {
        check("answer", Err("a pointer begins with `/`"));
        check("/a~2", Err("`~` must be followed by `0` or `1`"));
        check("/a~", Err("`~` must be followed by `0` or `1`"));
        for broken in ["/50%", "/%2", "/%zz", "/%ff", "/%+1", "/%é"] {
            check(broken, Err("`%` must be followed by two hexadecimal digits of UTF-8 text"));
        }
        check(&format!("/{}", "a".repeat(64)), Err("a pointer has at most 64 bytes"));
    }

    proptest! {
        #[test]
        fn a_rendered_pointer_is_read_back(text in "(/[^/~]{0,9}){0,4}") {
            let mut encoded = String::new();
            text.bytes().try_for_each(|byte| write!(encoded, "%{byte:02x}")).expect("a text takes everything");
            if let Ok(pointer) = Pointer::parse(&encoded) {
                prop_assert_eq!(pointer.as_str(), text);
                prop_assert!(!pointer.to_string().contains([',', ' ', '\n', '`']));
                prop_assert_eq!(Pointer::parse(&pointer.to_string()), Ok(pointer));
            }
        }
    }
}
