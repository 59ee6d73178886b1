//! The time at a provider, from the headers of its answer.
//!
//! Pure. A cached answer is ignored, because its date is when it was stored; so is a date before 1970 or one that
//! cannot be read.

use std::time::UNIX_EPOCH;

use http::{HeaderMap, header};

/// The time in milliseconds since 1970, with the resolution of the header: one second.
pub(crate) fn read(headers: &HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    if text(header::AGE).is_some_and(|age| age != "0") {
        return None;
    }
    let date = httpdate::parse_http_date(text(header::DATE)?).ok()?;
    u64::try_from(date.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn a_date_is_read_unless_it_is_cached() {
        const DATE: &str = "Sun, 22 Nov 2026 00:00:01 GMT";
        for (date, age, expected) in [
            (DATE, None, Some(1_795_305_601_000)),
            (" Sun, 22 Nov 2026 00:00:01 GMT ", Some("0"), Some(1_795_305_601_000)),
            (DATE, Some("17"), None),
            (DATE, Some("soon"), None),
            ("yesterday", None, None),
            ("Sun, 22 Nov 1626 00:00:01 GMT", None, None),
            ("", None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::DATE, HeaderValue::from_str(date).unwrap());
            headers.extend(age.map(|age| (header::AGE, HeaderValue::from_str(age).unwrap())));
            assert_eq!(read(&headers), expected, "{date:?} {age:?}");
        }
        assert_eq!(read(&HeaderMap::new()), None);
    }
}
