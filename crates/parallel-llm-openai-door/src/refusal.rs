//! A refusal in the shape of OpenAI's errors, with our code, our next step and the run beside it.
//!
//! Most clients show nothing but the message, so the next step is a part of it.

use axum::extract::rejection::PathRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, RunId};
use parallel_llm_http::failure::MissingScope;
use parallel_llm_http::status;
use parallel_llm_service::Principal;
use parallel_llm_service::report::ErrorReport;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{REQUEST_ID, SHOULD_RETRY, vocabulary};

/// The longest reason in the message about a path, in characters. It may quote the path.
const PATH_CHARS: usize = 120;

/// Why a request is not answered.
#[derive(Debug)]
pub(crate) struct Refusal {
    error: Error,
    /// The field that is wrong, as `messages[0].role`.
    param: Option<String>,
    /// OpenAI's code, if it has one of its own for the fault.
    word: Option<&'static str>,
    run_id: Option<RunId>,
}

#[derive(Debug)]
enum Error {
    /// A failure that the caller has yet to be shown.
    Fresh(Box<Failure>),
    /// One of a report, which is already in the caller's words.
    Reported(Box<ErrorReport>),
}

/// An error as clients of OpenAI read it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// The error.
    pub(crate) error: ErrorObject,
}

/// What went wrong.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorObject {
    /// What happened, and what to do next.
    message: String,
    /// The kind of error in OpenAI's words.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The field that is wrong, as `messages[0].role`; null if none is.
    param: Option<String>,
    /// OpenAI's code for it, else ours.
    code: String,
    /// The same in this program's words.
    parallel_llm: OwnError,
}

/// An error in this program's words.
#[derive(Serialize, JsonSchema)]
struct OwnError {
    /// The stable code.
    code: String,
    /// What to do next.
    next: String,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// The run, if one has begun; its answers are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { error: Error::Fresh(Box::new(failure)), param: None, word: None, run_id: None }
    }
}

impl Refusal {
    /// The refusal for the error of a report.
    pub(crate) fn reported(error: ErrorReport) -> Self {
        Self { error: Error::Reported(Box::new(error)), param: None, word: None, run_id: None }
    }

    /// A field that cannot be used, with OpenAI's code.
    pub(crate) fn field(param: impl Into<String>, word: &'static str, failure: Failure) -> Self {
        Self { param: Some(param.into()), word: Some(word), ..Self::from(failure) }
    }

    /// The same about the field to which its code belongs, unless it names one.
    pub(crate) fn at(mut self, param: impl FnOnce(Code) -> Option<String>) -> Self {
        self.param = self.param.take().or_else(|| param(self.code()));
        self
    }

    /// The same about a run.
    pub(crate) fn of_run(self, run_id: RunId) -> Self {
        Self { run_id: Some(run_id), ..self }
    }

    /// The failure, for a caller that is no client of OpenAI.
    pub(crate) fn failure(self) -> Failure {
        let code = self.code();
        match self.error {
            Error::Fresh(failure) => *failure,
            Error::Reported(error) => Failure::new(code, &error.message),
        }
    }

    fn code(&self) -> Code {
        match &self.error {
            Error::Fresh(failure) => failure.code,
            // A report's codes are ours.
            Error::Reported(error) => Code::parse(&error.code).unwrap_or(Code::Internal),
        }
    }

    /// The error as this principal may read it.
    pub(crate) fn shown(self, principal: &Principal) -> Shown {
        let code = self.code();
        let error = match self.error {
            Error::Fresh(failure) => {
                ErrorReport::of(&principal.redact(*failure)).in_vocabulary(vocabulary::of(principal))
            }
            Error::Reported(error) => *error,
        };
        Shown { code, error, param: self.param, word: self.word, run_id: self.run_id }
    }
}

/// A refusal in the words of its reader.
pub(crate) struct Shown {
    code: Code,
    error: ErrorReport,
    param: Option<String>,
    word: Option<&'static str>,
    run_id: Option<RunId>,
}

impl Shown {
    /// Our code.
    pub(crate) fn code(&self) -> &str {
        &self.error.code
    }

    /// What happened, and what to do next.
    pub(crate) fn message(&self) -> String {
        format!("{}: {}", self.error.message, self.error.next)
    }

    /// The body.
    pub(crate) fn body(self) -> ErrorBody {
        let message = self.message();
        let Self { code, error, param, word: own, run_id } = self;
        let run_id = run_id.map(|id| id.to_string()).or(error.run_id);
        let word = own.or_else(|| word(code)).unwrap_or(code.as_str()).to_owned();
        let parallel_llm =
            OwnError { code: error.code, next: error.next, retryable: error.retryable, run_id };
        ErrorBody { error: ErrorObject { message, kind: kind(code), param, code: word, parallel_llm } }
    }

    /// The answer.
    pub(crate) fn response(self) -> Response {
        let (status, run_id) = (status(self.code), self.run_id);
        let (repeats, retry_after_ms) = (self.error.retryable, self.error.retry_after_ms);
        let missing = MissingScope::of(&self.error.steps);
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (status, json, json_of(&self.body())).into_response();
        let headers = response.headers_mut();
        headers.insert(SHOULD_RETRY, HeaderValue::from_static(if repeats { "true" } else { "false" }));
        if let Some(ms) = retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
        }
        headers.extend(run_id.map(|id| (REQUEST_ID, header_of(&id.to_string()))));
        if let Some(missing) = missing {
            response.extensions_mut().insert(missing);
        }
        response
    }
}

/// The failure of a path whose name cannot be read, which is one of bytes that are no UTF-8.
pub(crate) fn unreadable(error: &PathRejection) -> Failure {
    let shown = excerpt(&error.body_text(), PATH_CHARS);
    Failure::new(Code::Usage, format!("the path cannot be read: {shown}")).with_next(Operation::Help)
}

/// The body of a refusal that the listener makes. It is redacted already.
pub(crate) fn of_listener(failure: &Failure) -> String {
    let error = ErrorReport::of(failure).in_vocabulary(&parallel_llm_http::failure::VOCABULARY);
    json_of(&Shown { code: failure.code, error, param: None, word: None, run_id: None }.body())
}

/// A body as JSON.
pub(crate) fn json_of(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("a body is plain data with string keys")
}

/// The value of a header. Ids and numbers are visible ASCII.
pub(crate) fn header_of(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

/// The status of a failure. OpenAI has one for everything that is wrong with a field.
const fn status(code: Code) -> StatusCode {
    match status::of(code) {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        other => other,
    }
}

/// The kind of error in OpenAI's words.
fn kind(code: Code) -> &'static str {
    match status(code).as_u16() {
        401 => "authentication_error",
        402 => "insufficient_quota",
        403 => "permission_error",
        429 => "rate_limit_error",
        400..=499 if code != Code::Internal && status::of(code) != StatusCode::FAILED_DEPENDENCY => {
            "invalid_request_error"
        }
        _ => "server_error",
    }
}

/// OpenAI's code, if it has one.
const fn word(code: Code) -> Option<&'static str> {
    match code {
        Code::TokenRefused => Some("invalid_api_key"),
        Code::ModelUnknown => Some("model_not_found"),
        Code::RateLimited => Some("rate_limit_exceeded"),
        Code::ContextLength => Some("context_length_exceeded"),
        _ => None,
    }
}
