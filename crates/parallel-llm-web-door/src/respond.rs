//! Answers of the page: HTML, JSON, text, redirections and failures, each with its headers.

use askama::Template;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::Vocabulary;
use parallel_llm_http::{Policy, status};
use parallel_llm_service::report::ErrorReport;

use super::layout::Layout;

/// What a page may do: load what is embedded here, and talk to this server only. No inline style or script runs, and HTML is
/// made of text only by the script's one named policy.
const PAGE: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
     base-uri 'none'; require-trusted-types-for 'script'; trusted-types page; frame-ancestors 'none'",
);
/// Pages show private texts and change with each run.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Why a template cannot fail.
const PLAIN: &str = "a template writes plain data to memory";

/// The page of a failure.
#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    layout: Layout,
    title: &'static str,
    error: ErrorReport,
}

/// A template as text.
pub(crate) fn rendered(template: &impl Template) -> String {
    template.render().expect(PLAIN)
}

/// A page.
pub(crate) fn page(template: &impl Template) -> Response {
    page_under(StatusCode::OK, template)
}

/// A page with another status than 200.
pub(crate) fn page_under(status: StatusCode, template: &impl Template) -> Response {
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    let headers = [(header::CONTENT_TYPE, html), (opener, HeaderValue::from_static("same-origin"))];
    let response = (status, headers, rendered(template)).into_response();
    Policy::Page { content_security: PAGE, cache: NO_STORE }.on(response)
}

/// JSON.
pub(crate) fn json(body: impl Into<String>) -> Response {
    typed("application/json", body.into())
}

/// Text or JSON as a file that a browser shows and never runs.
pub(crate) fn typed(media_type: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))], body).into_response()
}

/// A redirection to a page of this server.
pub(crate) fn see(path: &str) -> Response {
    match HeaderValue::from_str(path) {
        Ok(path) => (StatusCode::SEE_OTHER, [(header::LOCATION, path)]).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A failure as JSON.
pub(crate) fn json_failure(failure: &Failure, vocabulary: &Vocabulary) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status::of(failure.code), json, ErrorReport::line(failure, vocabulary)).into_response()
}

/// A failure as a page.
pub(crate) fn failure_page(failure: &Failure, layout: Layout, vocabulary: &Vocabulary) -> Response {
    let status = status::of(failure.code);
    let title = match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::PAYMENT_REQUIRED => "Over the budget",
        status if status.is_client_error() => "That did not work",
        _ => "Something is wrong here",
    };
    let error = ErrorReport::of(failure).in_vocabulary(vocabulary);
    page_under(status, &FailurePage { layout, title, error })
}
