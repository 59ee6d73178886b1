//! Refusals: answers that a check gives instead of the route.

use std::time::Duration;

use axum::response::Response;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::failure;

/// An answer that a check gives instead of the route.
pub(crate) type Refusal = Box<Response>;

/// When to retry: requests end all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The answer of a busy server.
pub(crate) fn busy(message: &str) -> Response {
    let busy = Failure::new(Code::Busy, message)
        .with_retry_after(Some(AGAIN_AFTER))
        .with_next(Advice::WaitRetryAfter);
    failure::response(&busy)
}
