//! How long a provider asks to wait, in every known format.
//!
//! Pure: the wall time is passed in. Garbage, a negative number, a time in the past or one beyond [`WAIT_MAX`] is
//! ignored. Whether a hint is followed is up to the engine.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use serde_json::Value;

/// Below this an epoch is in seconds, above it in milliseconds: 10¹¹ s is in the year 5138, 10¹¹ ms in 1973.
const EPOCH_SECONDS_MAX: f64 = 1e11;
/// A year. A longer wait is useless, and a date far beyond it cannot be formatted.
const WAIT_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The wait from the headers, or else from the error in the body.
pub(crate) fn wait(headers: &HeaderMap, error: Option<&Value>, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let body = |pointer: &str| error.and_then(|error| error.pointer(pointer));
    let milliseconds = || number(header("retry-after-ms")?).and_then(|wait| seconds(wait / 1000.0));
    milliseconds()
        .or_else(|| seconds_or_date(header("retry-after")?, now))
        .or_else(|| value(body("/metadata/retry_after_seconds")?, now))
        .or_else(|| value(named(body("/metadata/headers")?, "retry-after")?, now))
        .or_else(|| value(body("/availability/retry_after")?, now))
        .or_else(|| delay(body("/details")?))
        .or_else(|| reset(headers, error, now).and_then(|reset| reset.duration_since(now).ok()))
        .filter(|wait| *wait <= WAIT_MAX)
}

/// When the limit resets, if the provider says so.
pub(crate) fn reset(headers: &HeaderMap, error: Option<&Value>, now: SystemTime) -> Option<SystemTime> {
    const NAME: &str = "x-ratelimit-reset";
    let from_header = || epoch(number(headers.get(NAME)?.to_str().ok()?)?);
    let from_body = || {
        let value = named(error?.pointer("/metadata/headers")?, NAME)?;
        epoch(value.as_f64().or_else(|| number(value.as_str()?))?)
    };
    from_header().or_else(from_body).filter(|reset| *reset > now && *reset <= now + WAIT_MAX)
}

/// A value of a JSON object by its name in lower case.
fn named<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Google's hint in its error details: `{"retryDelay": "1.5s"}`.
fn delay(details: &Value) -> Option<Duration> {
    let delay = details.as_array()?.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    number(delay.strip_suffix('s')?).and_then(seconds)
}

fn value(value: &Value, now: SystemTime) -> Option<Duration> {
    value.as_f64().map_or_else(|| seconds_or_date(value.as_str()?, now), seconds)
}

fn seconds_or_date(text: &str, now: SystemTime) -> Option<Duration> {
    match number(text) {
        Some(wait) => seconds(wait),
        None => httpdate::parse_http_date(text.trim()).ok()?.duration_since(now).ok(),
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// `None` for a value that is negative, not a number, or too long for a duration.
fn seconds(wait: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(wait).ok()
}

fn epoch(at: f64) -> Option<SystemTime> {
    let at = if at < EPOCH_SECONDS_MAX { at } else { at / 1000.0 };
    UNIX_EPOCH.checked_add(seconds(at)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use serde_json::json;

    /// 1994-11-06 08:49:00 UTC, 37 seconds before the date of the examples in RFC 9110.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(784_111_740)
    }

    fn header(name: &'static str, value: &str) -> Option<f64> {
        let value = HeaderValue::from_str(value).unwrap();
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value)]);
        wait(&headers, None, now()).map(|wait| wait.as_secs_f64())
    }

    fn body(error: &Value) -> Option<f64> {
        wait(&HeaderMap::new(), Some(error), now()).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn every_form_of_the_header_is_read() {
        for (text, expected) in [
            ("1", Some(1.0)),
            (" 2 ", Some(2.0)),
            ("0", Some(0.0)),
            ("1.5", Some(1.5)),
            ("86400", Some(86400.0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37.0)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(37.0)),
            ("Sun Nov  6 08:49:37 1994", Some(37.0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", None),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("1000000000000000000000000000000", None),
            ("99999999999", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(header("retry-after", text), expected, "{text:?}");
        }
        assert_eq!(header("retry-after-ms", "250"), Some(0.25));
        assert_eq!(header("retry-after-ms", "-5"), None);
    }

    #[test]
    fn the_body_is_read_where_the_headers_are_silent() {
        for (error, expected) in [
            (json!({"metadata": {"retry_after_seconds": 1}}), Some(1.0)),
            (json!({"metadata": {"retry_after_seconds": "2.5"}}), Some(2.5)),
            (json!({"metadata": {"headers": {"Retry-After": "3"}}}), Some(3.0)),
            (json!({"availability": {"retry_after": 4}}), Some(4.0)),
            (json!({"metadata": {"headers": {"X-RateLimit-Reset": "784111745000"}}}), Some(5.0)),
            (json!({"metadata": {"headers": {"X-RateLimit-Reset": 784_111_746}}}), Some(6.0)),
            (json!({"metadata": {"retry_after_seconds": null, "headers": []}}), None),
            (json!("text"), None),
        ] {
            assert_eq!(body(&error), expected, "{error}");
        }
    }

    #[test]
    fn a_reset_is_in_seconds_or_milliseconds_and_never_past() {
        assert_eq!(header("x-ratelimit-reset", "784111750"), Some(10.0));
        assert_eq!(header("x-ratelimit-reset", "784111750000"), Some(10.0));
        assert_eq!(header("x-ratelimit-reset", "784111000"), None);
        assert_eq!(header("x-ratelimit-reset", "1e300"), None);
        assert_eq!(header("x-ratelimit-reset", "9007199254740993"), None);
    }

    #[test]
    fn the_first_hint_wins() {
        let error = json!({"metadata": {"retry_after_seconds": 9}});
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static("1"))]);
        assert_eq!(wait(&headers, Some(&error), now()), Some(Duration::from_secs(1)));
    }
}
