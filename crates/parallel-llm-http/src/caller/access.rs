//! Authentication by the bearer token in the `Authorization` header or by the session of a browser, and the rate limit
//! of each token.
//!
//! Every path but the open ones is refused without them, missing ones too, so that no one learns which exist. Tokens in
//! URLs are not accepted: they would appear in logs and histories. Invariants: a token counts instead of a session, and
//! a session counts only at doors with a sign-in page, so no page can reach another door with a browser's cookie.

use std::fmt;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parking_lot::Mutex;
use secrecy::ExposeSecret;
use tokio::time::Instant;
use url::form_urlencoded::byte_serialize;

use super::check::{self, Check};
use super::rate::Rates;
use super::resource::{self, Lack, Resource};
use super::sessions::{Holder, NamedSession, Sessions};
use crate::Config;
use crate::answer::early;
use crate::answer::failure::{self, MissingScope};
use crate::answer::refusal::Refusal;
use crate::answer::status::Fault;
use crate::doors::paths::Paths;
use parallel_llm_service::{Principal, may_be_token, redacted};

/// The longest token in bytes. Ours are short; those of issuers contain claims.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// The longest path and query that the sign-in page gets, in bytes. A longer one is left out, so that the answer's head
/// stays short.
const TO_BYTES_MAX: usize = 2 * 1024;
/// The media type of pages.
const PAGE: &str = "text/html";

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

/// In the extensions of a request to an open path: whether its token or session is in force could not be found out.
#[derive(Clone, Copy, Debug)]
pub struct Unchecked;

/// Admission and rate limits.
pub(crate) struct Gate {
    access: Access,
    resource: Option<Resource>,
    rates: Mutex<Rates>,
    /// The sessions, if they count.
    sessions: Option<Sessions>,
    paths: Arc<Paths>,
}

impl Gate {
    /// The gate of a server with these doors.
    pub(crate) fn new(config: Config, paths: Arc<Paths>) -> Self {
        let Config { access, resource, sessions, .. } = config;
        // Without required tokens everyone is the owner, with or without a session.
        let sessions = sessions.filter(|_| matches!(access, Access::Tokens(_)));
        Self { access, resource, rates: Mutex::default(), sessions, paths }
    }

    /// Puts the principal and the session into the request's extensions, or refuses. An open path is served without them.
    pub(crate) async fn check(&self, request: &mut Request) -> Result<(), Refusal> {
        if let Some(description) = self.resource.as_ref().and_then(|resource| resource.answer(request)) {
            return Err(description.into());
        }
        let session = self.session(request);
        let is_open = self.paths.is_open(request.uri().path());
        let found = self.principal(request.headers(), self.ignores_key(request), session.as_ref()).await;
        // Open paths are not counted: a page has many files.
        let admitted = found.and_then(|principal| {
            if !is_open {
                self.count(&principal)?;
            }
            Ok(principal)
        });
        match admitted {
            Ok(principal) => {
                let extensions = request.extensions_mut();
                extensions.insert(principal);
                session.map(|(_, named)| extensions.insert(named.id));
            }
            Err(failure) if is_open => {
                if failure.code != Code::TokenRefused {
                    request.extensions_mut().insert(Unchecked);
                }
            }
            Err(failure) if failure.code == Code::TokenRefused && self.is_kept_form(request) => {}
            Err(failure) => return Err(self.refuse(failure, request).into()),
        }
        // Removed, so that nothing behind this can disclose the token or the session.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.headers_mut().remove(header::COOKIE);
        Ok(())
    }

    /// The answer, with a challenge if its request lacks a scope.
    pub(crate) fn challenged(&self, mut response: Response) -> Response {
        if let Some(MissingScope(scope)) = response.extensions_mut().remove() {
            let challenge = resource::challenge(Lack::Scope(&scope), self.resource.as_ref());
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// Whether a browser without a session sends a form that its route keeps until somebody has signed in.
    fn is_kept_form(&self, request: &Request) -> bool {
        self.sessions.is_some()
            && request.method() == Method::POST
            && asks_for_page(request)
            && self.paths.keeps_form(request.uri().path())
    }

    /// The session that a request names. A token counts instead of it, and doors without a sign-in page have none.
    fn session(&self, request: &Request) -> Option<(&Sessions, NamedSession)> {
        self.paths.sign_in(request.uri().path())?;
        let sessions = self.sessions.as_ref()?;
        let headers = request.headers();
        if headers.contains_key(header::AUTHORIZATION) {
            return None;
        }
        Some((sessions, sessions.named(headers)?))
    }

    /// The principal of a request, whose key counts unless it is ignored.
    async fn principal(
        &self,
        headers: &HeaderMap,
        ignores_key: bool,
        session: Option<&(&Sessions, NamedSession)>,
    ) -> Result<Principal, Failure> {
        let check = match &self.access {
            Access::Open(_) if !headers.contains_key(header::AUTHORIZATION) => return Ok(Principal::Owner),
            Access::Open(_) if ignores_key => return Ok(Principal::Owner),
            Access::Open(check) | Access::Tokens(check) => check,
        };
        if let Some((sessions, named)) = session {
            return match sessions.holder(named).await? {
                Some(Holder::Owner) => Ok(Principal::Owner),
                Some(Holder::Token(token)) => {
                    let checked = check(token.expose_secret().to_owned()).await;
                    if checked.as_ref().is_err_and(|failure| failure.code == Code::TokenRefused) {
                        sessions.end(&named.id).await?;
                    }
                    checked
                }
                None => Err(Failure::new(Code::TokenRefused, "the session has ended")),
            };
        }
        let checked = match bearer(headers) {
            Some(token) => check(token).await,
            None => Err(no_bearer(headers)),
        };
        checked.map_err(|failure| self.with_remedy(failure))
    }

    /// Whether a request brings a key that is meant for no one, because its client sends one in any case.
    fn ignores_key(&self, request: &Request) -> bool {
        let terms = self.paths.at(request.uri().path());
        let is_foreign = || bearer(request.headers()).is_some_and(|key| !may_be_token(&key));
        terms.is_some_and(|terms| terms.foreign_keys) && is_foreign()
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

    /// The answer to a request that is not admitted. A browser that asks for a page is sent to the sign-in page, and
    /// forgets a session that has ended.
    fn refuse(&self, failure: Failure, request: &Request) -> Response {
        match failure.code {
            Code::TokenRefused => {}
            Code::ScopeMissing | Code::RateLimited => {
                return self.challenged(failure::response(&redacted(failure)));
            }
            _ => return failure::refusal(Fault::Unavailable, &check::presentable(failure)),
        }
        let path = request.uri().path();
        let sign_in = self.paths.sign_in(path).filter(|_| self.sessions.is_some() && asks_for_page(request));
        let mut response = if let Some(sign_in) = sign_in {
            redirect(sign_in, request.uri())
        } else {
            let mut response = failure::response(&redacted(failure));
            let is_bare = !request.headers().contains_key(header::AUTHORIZATION);
            let lack = if is_bare { Lack::Token } else { Lack::ValidToken };
            let challenge = resource::challenge(lack, self.resource.as_ref());
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            response
        };
        let removal = self.session(request).and_then(|(sessions, _)| sessions.removal(request.headers()));
        response.headers_mut().extend(removal.map(|removal| (header::SET_COOKIE, removal)));
        response
    }
}

/// Whether a browser asks for a page that a person wants to see, or sends a form whose answer is one.
fn asks_for_page(request: &Request) -> bool {
    (request.method() == Method::GET || request.method() == Method::POST)
        && !request.headers().contains_key(header::AUTHORIZATION)
        && early::names(request.headers(), &header::ACCEPT, PAGE)
}

/// Sends a browser to the sign-in page, which gets the path and query that it asked for.
fn redirect(sign_in: &str, asked: &Uri) -> Response {
    let to = asked.path_and_query().map(PathAndQuery::as_str).filter(|to| to.len() <= TO_BYTES_MAX);
    let to = to.map(|to| byte_serialize(to.as_bytes()).collect::<String>());
    let location = to.map_or_else(|| sign_in.to_owned(), |to| format!("{sign_in}?to={to}"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
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

/// Why the headers bring no token.
fn no_bearer(headers: &HeaderMap) -> Failure {
    let refused = |message| Failure::new(Code::TokenRefused, message);
    match headers.get_all(header::AUTHORIZATION).iter().count() {
        0 => refused("the request brings no token"),
        1 => refused("the `Authorization` of the request is not `Bearer` and one token")
            .with_next(Advice::SendOneBearer),
        _ => refused("the request has more than one `Authorization`").with_next(Advice::SendOneBearer),
    }
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
