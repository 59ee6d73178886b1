//! A form whose session has ended: the browser is asked to sign in by a page that carries what was typed, so that nothing is
//! lost and nothing is asked on the way. Nothing is kept here for strangers.

use askama::Template;
use axum::extract::Multipart;
use axum::http::StatusCode;
use axum::response::Response;
use parallel_llm_engine::Failure;
use parallel_llm_engine::value::invisible;
use parallel_llm_service::redacted;
use parallel_llm_service::report::ErrorReport;

use super::fields::Fields;
use super::file_set::GONE;
use crate::layout::Layout;
use crate::{respond, vocabulary};

#[derive(Template)]
#[template(path = "ask/sign_in.html")]
struct SignInFirstPage {
    layout: Layout,
    error: Option<ErrorReport>,
    /// The question, to be seen.
    question: String,
    /// Everything that was typed.
    fields: Vec<(&'static str, String)>,
    had_files: bool,
}

/// Asks a browser to sign in, whose form came without a session.
pub(super) async fn sign_in_first(form: Multipart) -> Response {
    match Fields::read(form).await {
        Ok(fields) => page(&fields, StatusCode::UNAUTHORIZED, None),
        Err(failure) => unread(failure),
    }
}

/// The page that carries the fields, and why its visitor is not signed in yet.
pub(super) fn page(fields: &Fields, status: StatusCode, failure: Option<&Failure>) -> Response {
    let typed = fields.typed();
    let page = SignInFirstPage {
        layout: Layout::new("/ask", None, String::new()),
        error: failure.map(|failure| ErrorReport::of(failure).in_vocabulary(vocabulary::of_strangers())),
        question: invisible::seen(&fields.question).into_owned(),
        had_files: typed.contains(&("kept", GONE.to_owned())),
        fields: typed,
    };
    respond::page_under(status, &page)
}

/// The page for a form that cannot be read.
pub(super) fn unread(failure: Failure) -> Response {
    let layout = Layout::new("/ask", None, String::new());
    respond::failure_page(&redacted(failure), layout, vocabulary::of_strangers())
}
