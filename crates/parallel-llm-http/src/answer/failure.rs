//! Failures as HTTP answers.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{self, Audience, Name, Next, Vocabulary};

use super::status::{self, Fault};
use parallel_llm_service::report::ErrorReport;

/// The vocabulary of HTTP callers, who have no command line and may be anyone.
pub const VOCABULARY: Vocabulary = Vocabulary { audience: Audience::Tenant, ..next::PLAIN };

/// The failure of an answer, for the door that has a shape of its own for refusals.
#[derive(Clone)]
struct Unshaped(Failure);

/// The scope that the token of a refused request lacks. An answer that carries it gets a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingScope(pub Name);

impl MissingScope {
    /// The scope that these next steps ask for.
    pub fn of(steps: &[Next]) -> Option<Self> {
        steps.iter().find_map(|step| match step {
            Next::WidenTo(scope) => Some(Self(scope.clone())),
            _ => None,
        })
    }
}

/// Gives a refusal of the listener the shape of the door to whose paths it belongs.
pub(crate) fn reshape(shape: Option<fn(&Failure) -> String>, mut response: Response) -> Response {
    let refused = response.extensions_mut().remove::<Unshaped>();
    if let Some((shape, Unshaped(failure))) = shape.zip(refused) {
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.body_mut() = shape(&failure).into();
    }
    response
}

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
    let shape = Unshaped(failure.clone());
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let mut response = (status, json, ErrorReport::line(failure, &VOCABULARY)).into_response();
    response.extensions_mut().insert(shape);
    if let Some(missing) = MissingScope::of(failure.next_steps()) {
        response.extensions_mut().insert(missing);
    }
    if let Some(ms) = failure.retry_after_ms {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
    }
    response
}
