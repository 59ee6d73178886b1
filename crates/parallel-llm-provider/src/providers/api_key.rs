//! An API key.
//!
//! Invariant: a key is never shown. It has no `Display`, its `Debug` is `***`, its memory is wiped when it is dropped,
//! and the header made from it is marked sensitive. The [scrubber](super::scrubber) removes keys from other text.

use http::{HeaderName, HeaderValue, header};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use secrecy::{ExposeSecret, SecretString};

use super::dialect::KeyHeader;

/// An API key: visible ASCII, never blank.
#[derive(Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// Reads a key from a variable or a file. Surrounding white space is removed; a blank key counts as no key. The
    /// failure says what is wrong without showing any of the key.
    pub fn parse(text: &str) -> Result<Option<Self>, Failure> {
        let key = text.trim();
        if key.is_empty() {
            return Ok(None);
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message =
                "the API key holds white space, control characters or characters that are not ASCII";
            return Err(Failure::new(Code::KeyMissing, message).with_next(Advice::CopyKeyAgain));
        }
        Ok(Some(Self(SecretString::from(key))))
    }

    /// The header that carries the key, marked sensitive so that it is neither printed nor compressed.
    pub fn header(&self, kind: KeyHeader) -> (HeaderName, HeaderValue) {
        let key = self.0.expose_secret();
        let (name, value) = match kind {
            KeyHeader::Bearer => (header::AUTHORIZATION, SecretString::from(format!("Bearer {key}"))),
            KeyHeader::Bare(name) => (HeaderName::from_static(name), self.0.clone()),
        };
        let value = HeaderValue::from_str(value.expose_secret());
        let mut value = value.expect("a key is visible ASCII since it was parsed");
        value.set_sensitive(true);
        (name, value)
    }

    /// The secret itself, so that it can be removed from text.
    pub(crate) fn secret(&self) -> SecretString {
        self.0.clone()
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_and_a_blank_one_is_none() {
        let key = ApiKey::parse(" \tsk-or-v1-0000\n").unwrap().unwrap();
        assert_eq!(key.secret().expose_secret(), "sk-or-v1-0000");
        for blank in ["", " ", "\r\n"] {
            assert!(ApiKey::parse(blank).unwrap().is_none());
        }
    }

    #[test]
    fn a_key_that_cannot_be_a_header_is_refused_without_showing_it() {
        for bad in ["sk-a b", "sk-a\u{1}b", "sk-ключ", "sk-a\r\nHost: x"] {
            let failure = ApiKey::parse(bad).unwrap_err();
            assert_eq!(failure.code, Code::KeyMissing);
            assert!(!format!("{failure:?}").contains("sk-"), "{failure:?}");
        }
    }

    #[test]
    fn a_key_never_prints() {
        let key = ApiKey::parse("sk-or-v1-secret").unwrap().unwrap();
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "*** Some(***)");
        for (header, shown) in [
            (KeyHeader::Bearer, "authorization: Bearer sk-or-v1-secret"),
            (KeyHeader::Bare("api-key"), "api-key: sk-or-v1-secret"),
        ] {
            let (name, value) = key.header(header);
            assert!(value.is_sensitive());
            assert!(!format!("{value:?}").contains("secret"));
            assert_eq!(format!("{name}: {}", value.to_str().unwrap()), shown);
        }
    }
}
