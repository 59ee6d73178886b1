//! The value of a query parameter: written with `%41` and `+`, meant as text.

/// What a value means. A broken escape means itself, and bytes that are no UTF-8 become the replacement character.
pub(crate) fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, later)) = rest.split_first() {
        let escape = (*first == b'%').then(|| later.get(..2).and_then(hex)).flatten();
        bytes.push(match (first, escape) {
            (_, Some(byte)) => byte,
            (b'+', None) => b' ',
            (byte, None) => *byte,
        });
        rest = if escape.is_some() { &later[2..] } else { later };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How a text is written as a value.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let sign = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(sign).collect()
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digits =
        std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_encoded() {
        let cases = [
            ("claude+opus", "claude opus"),
            ("%63laude%20%F0%9F%99%82", "claude \u{1f642}"),
            ("100%", "100%"),
            ("%4", "%4"),
            ("%+1%zz", "% 1%zz"),
            ("%ff", "\u{fffd}"),
            ("", ""),
        ];
        for (written, meant) in cases {
            assert_eq!(decoded(written), meant, "{written}");
        }
        assert_eq!(encoded("a b&c=\u{e9}~"), "a%20b%26c%3D%C3%A9~");
        assert_eq!(decoded(&encoded("%+ &=\u{1f642}")), "%+ &=\u{1f642}");
    }
}
