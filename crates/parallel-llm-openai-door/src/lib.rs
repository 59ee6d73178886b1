//! A panel as a model of an OpenAI-compatible endpoint: chat completions, responses and models.
//!
//! ```text
//! body → request → question → service → reply    a whole answer
//!        fields                       → stream   the same, as it comes
//! ```
//!
//! Invariants: a field that cannot be honoured is refused by its name, never ignored; what is streamed is the beginning of
//! the answer, or the stream ends with an error that says where the answer is; the status is 200 only if something real
//! follows; and a caller that leaves gives up only its own interest in the run.

mod ask;
mod batch;
mod caller;
mod model;
mod models;
pub mod openapi;
mod refusal;
mod reply;
mod request;
mod stored;
mod stream;
mod vocabulary;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, Uri, header};
use axum::response::Response;
use axum::routing::{any, get, post};
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::status::Fault;
use parallel_llm_http::{Door, Policy, failure};
use parallel_llm_service::{Services, Shutdown};
use parallel_llm_settings::clock;

pub use batch::{BATCH_URL, BatchQuestion, batch_question};

/// The header with the id of a run, by the name that clients of OpenAI look for.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header with the cost of a whole answer in USD.
const COST: HeaderName = HeaderName::from_static("x-parallel-llm-cost-usd");
/// The header that tells clients whether to repeat a failed request by themselves.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// The header with a key under which a repeated request is the same run.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header with the seconds after which a client of OpenAI for Node gives up.
const CLIENT_TIMEOUT: HeaderName = HeaderName::from_static("x-stainless-timeout");
/// The same of one for Python: the longest time in which nothing comes.
const CLIENT_READ_TIMEOUT: HeaderName = HeaderName::from_static("x-stainless-read-timeout");

/// Headers that clients of OpenAI send from a page.
const PAGE_SENDS: [HeaderName; 17] = [
    IDEMPOTENCY_KEY,
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
    HeaderName::from_static("openai-beta"),
    HeaderName::from_static("x-stainless-lang"),
    HeaderName::from_static("x-stainless-package-version"),
    HeaderName::from_static("x-stainless-os"),
    HeaderName::from_static("x-stainless-arch"),
    HeaderName::from_static("x-stainless-runtime"),
    HeaderName::from_static("x-stainless-runtime-version"),
    HeaderName::from_static("x-stainless-retry-count"),
    HeaderName::from_static("x-stainless-helper-method"),
    HeaderName::from_static("x-stainless-poll-helper"),
    HeaderName::from_static("x-stainless-custom-poll-interval"),
    CLIENT_TIMEOUT,
    CLIENT_READ_TIMEOUT,
    header::USER_AGENT,
];

/// What the endpoint serves, for clients that ask for more of OpenAI's API.
const SERVED: [&str; 4] = [
    "`POST /v1/chat/completions`",
    "`POST /v1/responses`",
    "`GET /v1/models`",
    "`GET /openapi.json` for all",
];
/// The longest path in a message, in characters.
const PATH_CHARS: usize = 80;

/// What all requests share.
struct Endpoint {
    services: Services,
    shutdown: Shutdown,
    /// When the server began, in seconds since 1970: the age of its models, which have none of their own.
    since: u64,
}

/// The answer at a path of OpenAI's that is not served, such as that of embeddings.
async fn nothing(uri: Uri) -> Response {
    let message =
        format!("`{}` is not served: a panel only answers questions", excerpt(uri.path(), PATH_CHARS));
    let failure = Failure::new(Code::Usage, message).with_next(Next::choose_one(SERVED));
    failure::refusal(Fault::NotFound, &failure)
}

/// The endpoint over these services, until the shutdown.
pub fn door(services: &Services, shutdown: &Shutdown) -> Door {
    let since = clock::unix_ms() / 1000;
    let endpoint = Arc::new(Endpoint { services: services.clone(), shutdown: shutdown.clone(), since });
    let routes = Router::new()
        .route("/v1/chat/completions", post(ask::chat))
        .route("/v1/chat/completions/{id}", get(stored::chat))
        .route("/v1/responses", post(ask::responses))
        .route("/v1/responses/{id}", get(stored::response))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::find))
        .route(openapi::PATH, get(openapi::serve))
        .route("/v1/{*path}", any(nothing))
        .with_state(endpoint)
        // The listener bounds every body.
        .layer(DefaultBodyLimit::disable());
    Door {
        name: "the OpenAI-compatible endpoint",
        path: Some("/v1"),
        beside: vec![openapi::PATH],
        foreign_keys: true,
        refusal: Some(refusal::of_listener),
        page_sends: PAGE_SENDS.to_vec(),
        page_reads: vec![REQUEST_ID, COST, SHOULD_RETRY],
        ..Door::from(Policy::Api.over(routes))
    }
}
