//! One request of a page: who asks, for which form of it, and with which token its forms work.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use parallel_llm_engine::value::next::Vocabulary;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::SessionId;
use parallel_llm_service::{Principal, Scope, Services};

use super::form_token::FormKey;
use super::layout::Layout;
use super::{Web, respond, vocabulary};

/// A visitor of a page.
pub(crate) struct Visit {
    pub(crate) web: Arc<Web>,
    /// The use cases on the visitor's behalf.
    pub(crate) services: Services,
    path: String,
    /// The session of the visitor's browser, if it has one.
    session: Option<SessionId>,
    /// The key of the tokens of its forms.
    form_key: FormKey,
    /// Whether the answer is JSON: the twin of a page, or a request by the script.
    pub(crate) wants_json: bool,
}

impl FromRequestParts<Arc<Web>> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, web: &Arc<Web>) -> Result<Self, Response> {
        let path = parts.uri.path().to_owned();
        let accepts_json = || {
            let accept =
                parts.headers.get(axum::http::header::ACCEPT).and_then(|accept| accept.to_str().ok());
            accept.is_some_and(|accept| accept.split(',').any(|kind| kind.trim() == "application/json"))
        };
        let wants_json = path.strip_suffix(".json").is_some() || accepts_json();
        let Some(principal) = parts.extensions.get::<Principal>().cloned() else {
            let failure = Failure::new(Code::TokenRefused, "nobody is signed in");
            return Err(respond::json_failure(&failure, vocabulary::of(&Principal::Owner)));
        };
        let session = parts.extensions.get::<SessionId>().copied();
        Ok(Self { wants_json, ..Self::of(web, path, principal, session).await })
    }
}

impl Visit {
    /// The visit of a page by this principal.
    pub(crate) async fn of(
        web: &Arc<Web>,
        path: String,
        principal: Principal,
        session: Option<SessionId>,
    ) -> Self {
        let (services, form_key) = (web.services.acting_for(principal), web.form_key.key().await);
        Self { web: Arc::clone(web), services, path, session, form_key, wants_json: false }
    }

    /// The visitor.
    pub(crate) const fn principal(&self) -> &Principal {
        &self.services.principal
    }

    /// Whether the visitor may ask, and continue and steer runs.
    pub(crate) fn may_ask(&self) -> bool {
        self.principal().check(Scope::Ask).is_ok()
    }

    /// The page's words for the visitor.
    pub(crate) const fn vocabulary(&self) -> &'static Vocabulary {
        vocabulary::of(self.principal())
    }

    /// The name of the session; empty without one.
    pub(crate) fn session(&self) -> String {
        self.session.as_ref().map(SessionId::name).unwrap_or_default()
    }

    /// The token that the visitor's forms carry.
    pub(crate) fn form_token(&self) -> String {
        self.form_key.token(&self.session())
    }

    /// Fails unless a form carried that token.
    pub(crate) fn check_form(&self, token: &str) -> Result<(), Failure> {
        self.form_key.check(&self.session(), token)
    }

    /// The frame of the page.
    pub(crate) fn layout(&self) -> Layout {
        Layout::new(&self.path, self.session.map(|_| self.principal()), self.form_token())
    }

    /// The answer, or the page of its failure.
    pub(crate) fn answer(&self, result: Result<Response, Failure>) -> Response {
        result.unwrap_or_else(|failure| {
            let failure = self.principal().redact(failure);
            if self.wants_json {
                respond::json_failure(&failure, self.vocabulary())
            } else {
                respond::failure_page(&failure, self.layout(), self.vocabulary())
            }
        })
    }
}
