//! Authentication by the bearer token in the `Authorization` header, and the rate limit of each token.
//!
//! Every path is refused without a token, missing ones too, so that no one learns which exist. Tokens in URLs are not
//! accepted: they would appear in logs and histories.

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::future::BoxFuture;
use parallel_llm_engine::value::next::{Advice, Next as Step};
use parallel_llm_engine::{Code, Failure};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::rate::Rates;
use super::resource::{self, Resource};
use super::status::Fault;
use crate::failure;
use parallel_llm_service::{Principal, redacted};

/// The longest token in bytes. Ours are short; those of issuers contain claims.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Finds the principal of a token, or fails.
pub type Check = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Principal, Failure>> + Send + Sync>;

/// Whom the server admits.
#[derive(Clone)]
pub enum Access {
    /// Everyone who reaches the address, as the owner. A caller that sends a token anyway means to act for its holder,
    /// so the token must pass this check.
    Open(Check),
    /// Only callers with a token that passes this check.
    Tokens(Check),
}

impl fmt::Debug for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Open(_) => "Open",
            Self::Tokens(_) => "Tokens",
        })
    }
}

/// Admission and rate limits.
pub(super) struct Gate {
    access: Access,
    resource: Option<Resource>,
    rates: Mutex<Rates>,
}

impl Gate {
    pub(super) fn new(access: Access, resource: Option<Resource>) -> Self {
        Self { access, resource, rates: Mutex::default() }
    }

    /// The principal of a request, if it is admitted and within its rate.
    async fn admit(&self, headers: &HeaderMap) -> Result<Principal, Failure> {
        let check = match &self.access {
            Access::Open(_) if !headers.contains_key(header::AUTHORIZATION) => return Ok(Principal::Owner),
            Access::Open(check) | Access::Tokens(check) => check,
        };
        let none = || Failure::new(Code::TokenRefused, "the request brings no token");
        let checked = match bearer(headers).ok_or_else(none) {
            Ok(token) => check(token).await,
            Err(failure) => Err(failure),
        };
        let principal = checked.map_err(|failure| self.with_remedy(failure))?;
        self.count(&principal)?;
        Ok(principal)
    }

    /// Adds the simplest remedy to a refusal.
    fn with_remedy(&self, failure: Failure) -> Failure {
        match self.access {
            Access::Open(_) => failure.with_next(Advice::LeaveAuthorizationOut),
            Access::Tokens(_) => failure,
        }
    }

    fn count(&self, principal: &Principal) -> Result<(), Failure> {
        let Principal::TokenHolder(grant) = principal else { return Ok(()) };
        let Some(per_minute) = grant.requests_per_minute else { return Ok(()) };
        let mut rates = self.rates.lock();
        rates.take(&grant.name, per_minute, Instant::now()).map_err(|wait| {
            let message = format!("this token may make {per_minute} requests in a minute");
            Failure::new(Code::RateLimited, message)
                .with_retry_after(Some(wait))
                .with_next(Advice::WaitRetryAfter)
        })
    }
}

/// Puts the principal into the request's extensions, or refuses.
pub(super) async fn check(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    if let Some(description) = gate.resource.as_ref().and_then(|resource| resource.answer(&request)) {
        return description;
    }
    let principal = match gate.admit(request.headers()).await {
        Ok(principal) => principal,
        Err(failure) => return refuse(failure, gate.resource.as_ref()),
    };
    // Removed, so that nothing behind this can disclose the token.
    request.headers_mut().remove(header::AUTHORIZATION);
    request.extensions_mut().insert(principal);
    next.run(request).await
}

/// The token, if there is exactly one.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_token = (1..=TOKEN_BYTES_MAX).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then(|| token.to_owned())
}

fn refuse(failure: Failure, resource: Option<&Resource>) -> Response {
    match failure.code {
        Code::TokenRefused => {
            let mut response = failure::response(&redacted(failure));
            response.headers_mut().insert(header::WWW_AUTHENTICATE, resource::challenge(resource));
            response
        }
        Code::ScopeMissing | Code::RateLimited => failure::response(&redacted(failure)),
        _ => unavailable(&failure),
    }
}

/// The answer if the token could not be checked. The reason goes to the log only, because it may name files and hosts.
fn unavailable(failure: &Failure) -> Response {
    tracing::warn!("a token could not be checked: {failure}");
    let described = Failure::new(failure.code, "the token cannot be checked just now")
        .with_next([Step::Do(Advice::TryInAMinute), Step::Do(Advice::SeeServerLog)]);
    failure::refusal(Fault::Unavailable, &described)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word_in_one_header() {
        let described = |values: &[&str]| {
            let headers = values.iter().map(|value| (header::AUTHORIZATION, value.parse().unwrap()));
            bearer(&headers.collect())
        };
        assert_eq!(described(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(described(&["bearer  abc "]).as_deref(), Some("abc"));
        let long = format!("Bearer {}", "a".repeat(TOKEN_BYTES_MAX + 1));
        for refused in [
            &[][..],
            &["Bearer a", "Bearer a"],
            &["Basic YTpi"],
            &["Bearer"],
            &["Bearer "],
            &["Bearer a,b"],
            &["Bearer a b"],
            &[&long],
        ] {
            assert_eq!(described(refused), None, "{refused:?}");
        }
    }
}
