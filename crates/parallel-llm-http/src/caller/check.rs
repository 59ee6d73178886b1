//! The check of a token, which the program supplies, and its failures as callers may see them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use parallel_llm_service::{Principal, redacted};

/// Finds the principal of a token, or fails.
pub type Check = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Principal, Failure>> + Send + Sync>;

/// A failure of a check as its caller may see it. If the token could not be checked, the reason goes to the log only,
/// because it may name files and hosts.
pub(super) fn presentable(failure: Failure) -> Failure {
    if matches!(failure.code, Code::TokenRefused | Code::ScopeMissing | Code::RateLimited) {
        return redacted(failure);
    }
    tracing::warn!("a token could not be checked: {failure}");
    Failure::new(failure.code, "the token cannot be checked just now")
        .with_next([Next::Do(Advice::TryInAMinute), Next::Do(Advice::SeeServerLog)])
}
