//! How a failure is told: to people in three lines, to programs as the one JSON object, over HTTP with a status.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::Failure;

use super::console::{Console, Tone};
use super::next::for_callers;
use super::report::ErrorReport;
use super::safe;

/// A failure as the one JSON object, on one line, so that it also ends a list of events.
pub fn envelope(failure: &Failure) -> String {
    ErrorReport::of(failure).envelope().to_string()
}

/// An answer over HTTP that tells a failure, and when to come again where that is known. Whoever asks has no command line.
pub fn response(status: StatusCode, failure: &Failure) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let told = failure.clone().with_next(for_callers(failure.next_step()));
    let mut response = (status, json, envelope(&told)).into_response();
    if let Some(ms) = failure.retry_after_ms {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
    }
    response
}

/// Tells a failure and its next step.
pub fn tell(console: &Console, failure: &Failure, as_json: bool) {
    if as_json {
        console.data(&envelope(failure));
    }
    let word = console.tone(Tone::Bad, &format!("error[{}]", failure.code));
    console.insist(&format!("{word}: {}", safe::for_terminal(&failure.message)));
    console.insist(&format!("  next: {}", safe::for_terminal(failure.next_step())));
}
