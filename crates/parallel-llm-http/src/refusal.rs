//! How the door refuses what it has no room for.

use std::time::Duration;

use axum::response::Response;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use crate::failure;

/// When to come again where the server has too much to do: requests end all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// An answer for what there is no room for just now.
pub(super) fn busy(message: &str) -> Response {
    let busy = Failure::new(Code::Busy, message)
        .with_retry_after(Some(AGAIN_AFTER))
        .with_next(Advice::WaitRetryAfter);
    failure::response(&busy)
}
