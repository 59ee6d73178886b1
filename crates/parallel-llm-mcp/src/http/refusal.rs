//! How the door refuses: a status and the one JSON object for errors.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::{Code, Failure};

use crate::output::failure::envelope;

/// When to come again where the server has too much to do: requests end all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// An answer that tells this failure, and when to come again where that is known.
pub(super) fn refuse(status: StatusCode, failure: &Failure) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let mut response = (status, json, envelope(failure)).into_response();
    if let Some(ms) = failure.retry_after_ms {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
    }
    response
}

/// An answer for what there is no room for just now.
pub(super) fn busy(message: &str) -> Response {
    let failure = Failure::new(Code::Busy, message)
        .with_retry_after(Some(AGAIN_AFTER))
        .with_next("try again as soon as `Retry-After` says");
    refuse(StatusCode::SERVICE_UNAVAILABLE, &failure)
}
