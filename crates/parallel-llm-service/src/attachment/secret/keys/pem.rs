//! Private keys in PEM and in other files of keys: a header, and the body that makes it a key.
//!
//! What always holds: a header alone is no key, as code and manuals name it.

/// What the labels of private keys say.
const KEY_LABELS: [&str; 2] = ["PRIVATE KEY", OPENVPN];
/// The one label with small letters.
const OPENVPN: &str = "OpenVPN Static key V1";
/// Headers of private keys in other formats, and what follows each: the letters of a key or its kind.
const KEY_HEADS: &[&str] = &["PuTTY-User-Key-File-", "AGE-SECRET-KEY-1"];
/// The least letters of a body in one piece. A line of PEM has 64; a manual shows fewer and points.
const BODY_BYTES_MIN: usize = 20;
/// The most lines between the header and the body: the version, the cipher and a comment.
const HEADERS_MAX: usize = 8;
/// The least different letters of a body. A placeholder has few.
const DIFFERENT_MIN: usize = 8;
/// The longest name of a kind of key.
const LABEL_BYTES_MAX: usize = 64;
/// The shortest private part of a key of the web, in bytes.
const WEB_KEY_BYTES_MIN: usize = 40;
/// The longest field of a header, in bytes.
const FIELD_BYTES_MAX: usize = 256;
/// The longest line of Base64 that is read, in bytes.
const LINE_BYTES_MAX: usize = 4096;

/// Whether a text holds a private key.
pub(crate) fn holds_private_key(text: &str) -> bool {
    blocks(text).any(|(label, body)| KEY_LABELS.iter().any(|key| label.contains(key)) && has_body(body))
        || holds_key_of_web(text)
        || KEY_HEADS.iter().any(|head| {
            let after =
                |at: usize| text[at + head.len()..].starts_with(|it: char| it.is_ascii_alphanumeric());
            text.match_indices(head).any(|(at, _)| after(at))
        })
}

/// A key as browsers and servers exchange it in JSON: its kind, and its private part `d`.
fn holds_key_of_web(text: &str) -> bool {
    text.contains("\"kty\"")
        && text.match_indices("\"d\"").any(|(at, name)| {
            let value = text[at + name.len()..].trim_start_matches([' ', ':', '"']);
            let is_of_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            value.bytes().take(LINE_BYTES_MAX).take_while(is_of_key).count() >= WEB_KEY_BYTES_MIN
        })
}

/// Whether the file holds PEM and only public parts.
pub(crate) fn is_public(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut labels = blocks(&text).map(|(label, _)| label).peekable();
    let is_public = |label: &str| {
        ["CERTIFICATE", "PUBLIC KEY", "CRL", "PARAMETERS", "PKCS7", "CMS"]
            .iter()
            .any(|word| label.contains(word))
    };
    labels.peek().is_some() && labels.all(is_public)
}

/// The labels between `-----BEGIN ` and the next dashes, and what follows each.
fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("BEGIN ").filter_map(|(at, head)| {
        let rest = &text[at + head.len()..];
        let near = &rest[..rest.floor_char_boundary(rest.len().min(LABEL_BYTES_MAX + 3))];
        let (label, _) = near.split_once("---")?;
        let is_label =
            label.chars().all(|letter| letter.is_ascii_uppercase() || " 0123456789".contains(letter));
        (is_label || label == OPENVPN).then(|| (label, &rest[label.len()..]))
    })
}

/// Whether letters of Base64 follow, also in a text in quotes, in a diff and after the fields of a header.
fn has_body(mut rest: &str) -> bool {
    for _ in 0..HEADERS_MAX {
        rest = rest.trim_start_matches(is_between);
        // A line end in a text in quotes, which may be in quotes itself.
        while let Some(next) = rest.strip_prefix('\\') {
            rest = next.trim_start_matches('\\');
            rest = rest.strip_prefix(['n', 'r']).unwrap_or(rest).trim_start_matches(is_between);
        }
        let is_of_body = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let length = rest.bytes().take(LINE_BYTES_MAX).take_while(is_of_body).count();
        if length >= BODY_BYTES_MIN {
            return is_key(&rest[..length]);
        }
        // `Proc-Type: 4,ENCRYPTED`.
        let line = &rest[..rest.floor_char_boundary(rest.len().min(FIELD_BYTES_MAX))];
        let line = line.split('\n').next().unwrap_or_default();
        let line = line.split("\\n").next().unwrap_or_default();
        if !line.contains(": ") || line.contains("---") {
            return false;
        }
        rest = &rest[line.len()..];
    }
    false
}

/// What stands between the header and the body: line ends, and the signs of a diff and of a text in code.
fn is_between(letter: char) -> bool {
    letter.is_whitespace() || "-+\"',|>#.&`".contains(letter)
}

fn is_key(body: &str) -> bool {
    let lower = body.to_ascii_lowercase();
    let different = (0..=127_u8).filter(|byte| body.as_bytes().contains(byte)).count();
    different >= DIFFERENT_MIN
        && !["your", "example", "redacted", "placeholder"].iter().any(|word| lower.contains(word))
}
