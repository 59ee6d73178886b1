//! Failures as HTTP answers.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{self, Audience, Vocabulary};

use super::status::{self, Fault};
use parallel_llm_service::report::ErrorReport;

/// The vocabulary of HTTP callers, who have no command line and may be anyone.
pub const VOCABULARY: Vocabulary = Vocabulary { audience: Audience::Tenant, ..next::PLAIN };

/// The answer for a failure, with the status of its code.
pub fn response(failure: &Failure) -> Response {
    under(status::of(failure.code), failure)
}

/// The answer to a request refused by HTTP itself.
pub fn refusal(fault: Fault, failure: &Failure) -> Response {
    under(fault.status(), failure)
}

/// The answer with this status, and with `Retry-After` if the failure has one.
fn under(status: StatusCode, failure: &Failure) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let mut response = (status, json, ErrorReport::line(failure, &VOCABULARY)).into_response();
    if let Some(ms) = failure.retry_after_ms {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
    }
    response
}
