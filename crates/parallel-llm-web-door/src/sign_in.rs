//! Signing in, with the one-time link of the owner or with a token, and signing out.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::{Extension, Form};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{SessionId, Unchecked, status};
use parallel_llm_service::report::ErrorReport;
use parallel_llm_service::{Principal, redacted};
use serde::Deserialize;

use super::layout::Layout;
use super::visit::Visit;
use super::{Web, respond, vocabulary};

/// The path of the page, which the listener sends browsers to.
pub(crate) const PATH: &str = "/sign-in";
/// Where a live page asks whether the server is there and its session in force.
pub(crate) const ALIVE: &str = "/alive";
/// Where a visitor goes who asked for no other page.
const HOME: &str = "/ask";

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    layout: Layout,
    error: Option<ErrorReport>,
    code: String,
    to: String,
    /// Whether nobody has to sign in here.
    is_open: bool,
}

/// What the address or the form brings.
#[derive(Default, Deserialize)]
pub(crate) struct Wanted {
    /// The code of the one-time link.
    #[serde(default)]
    code: String,
    /// A token.
    #[serde(default)]
    token: String,
    /// The page to go to afterwards.
    #[serde(default)]
    to: String,
}

/// The token of a form.
#[derive(Default, Deserialize)]
pub(crate) struct FormToken {
    #[serde(default)]
    form_token: String,
}

/// Shows the page. A code is used only when its form is sent, because programs that look at links before people do open
/// them too.
pub(crate) async fn show(State(web): State<Arc<Web>>, Query(wanted): Query<Wanted>) -> Response {
    page(&web, wanted, None)
}

/// Says that the server is there, and whether the visitor is signed in. The path is open, so it counts against no rate.
pub(crate) async fn alive(
    visitor: Option<Extension<Principal>>,
    unchecked: Option<Extension<Unchecked>>,
) -> StatusCode {
    match (visitor, unchecked) {
        (Some(_), _) => StatusCode::NO_CONTENT,
        (None, Some(_)) => StatusCode::SERVICE_UNAVAILABLE,
        (None, None) => StatusCode::UNAUTHORIZED,
    }
}

/// Signs in, and goes to the page that was wanted.
pub(crate) async fn sign_in(State(web): State<Arc<Web>>, Form(wanted): Form<Wanted>) -> Response {
    let Some(sessions) = &web.sessions else { return respond::see(HOME) };
    let begun = if wanted.code.is_empty() {
        sessions.sign_in(wanted.token.trim().to_owned()).await
    } else {
        sessions.redeem(&wanted.code).await
    };
    match begun {
        Ok(begun) => {
            let mut response = respond::see(local(&wanted.to));
            response.headers_mut().insert(header::SET_COOKIE, begun.set_cookie);
            response
        }
        Err(failure) => page(&web, wanted, Some(&redacted(failure))),
    }
}

/// Ends the session.
pub(crate) async fn sign_out(
    visit: Visit,
    session: Option<Extension<SessionId>>,
    Form(form): Form<FormToken>,
) -> Response {
    let ended = async {
        visit.check_form(&form.form_token)?;
        let nobody = || Failure::new(Code::Usage, "nobody is signed in here").with_next(Advice::ReloadPage);
        let (Some(sessions), Some(Extension(session))) = (&visit.web.sessions, session) else {
            return Err(nobody());
        };
        let cookie = sessions.sign_out(&session).await?;
        let mut response = respond::see(PATH);
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(response)
    };
    let ended = ended.await;
    visit.answer(ended)
}

fn page(web: &Web, wanted: Wanted, failure: Option<&Failure>) -> Response {
    let status = failure.as_ref().map_or(StatusCode::OK, |failure| status::of(failure.code));
    // Whoever is here may be anyone.
    let words = vocabulary::of_strangers();
    let error = failure.map(|failure| ErrorReport::of(failure).in_vocabulary(words));
    // A code that was refused is of no use any more.
    let code = if error.is_some() { String::new() } else { wanted.code };
    let layout = Layout::new(PATH, None, String::new());
    let is_open = web.sessions.is_none();
    let to = local(&wanted.to).to_owned();
    respond::page_under(status, &SignInPage { layout, error, code, to, is_open })
}

/// A path on this server, as it was wanted; else the first page. Browsers read `//` and `/\` as another server.
fn local(to: &str) -> &str {
    let is_path = to.starts_with('/') && !to.starts_with("//") && !to.contains('\\');
    let is_plain = to.bytes().all(|byte| byte.is_ascii_graphic());
    if is_path && is_plain && !to.starts_with(PATH) { to } else { HOME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_to_another_server() {
        for to in ["/runs", "/runs/@?x=1", "/models#wins"] {
            assert_eq!(local(to), to);
        }
        for to in [
            "",
            "runs",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/sign-in?to=/",
            "/a b",
            "/\r\nx: y",
        ] {
            assert_eq!(local(to), HOME, "{to}");
        }
    }
}
