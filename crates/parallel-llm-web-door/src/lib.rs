//! The web page: pages rendered here from the same reports and events as every other door, and a small script for what is
//! live.
//!
//! ```text
//! request → visit → service → view → template → respond
//!           who asks          what is shown     headers of a page
//! ```
//!
//! Invariants: text of models and callers gets into a page as words only (`text`); every page has a twin in JSON at its path
//! with `.json`; a page can be read without its script, and everything it loads is embedded here; whatever changes something is
//! a form with a token of its session.

mod ask;
mod assets;
mod charts;
mod form_token;
mod layout;
mod models;
mod respond;
mod run;
mod runs;
mod sign_in;
mod text;
mod visit;
mod vocabulary;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use parallel_llm_http::{Door, Sessions};
use parallel_llm_service::{Services, Shutdown};
use tokio_util::sync::CancellationToken;
use tower_http::compression::CompressionLayer;

use form_token::FormKeys;

/// What all pages share.
struct Web {
    services: Services,
    /// Set when the server has stopped: live pages end.
    end: CancellationToken,
    form_key: FormKeys,
    /// The sessions of browsers; `None` if everyone is the owner.
    sessions: Option<Sessions>,
    /// Files of questions that were not asked yet.
    kept_files: ask::KeptFiles,
}

/// The pages over these services. Without `sessions` everyone is the owner.
pub fn door(services: &Services, shutdown: &Shutdown, sessions: Option<&Sessions>) -> Door {
    let web = Arc::new(Web {
        services: services.clone(),
        end: shutdown.end.clone(),
        form_key: FormKeys::new(&services.sessions),
        sessions: sessions.cloned(),
        kept_files: ask::KeptFiles::default(),
    });
    let pages = Router::new()
        .route("/", get(async || respond::see("/ask")))
        .route("/ask", get(ask::show).post(ask::ask))
        .route("/ask.json", get(ask::show))
        .route(ask::SIGN_IN, get(async || respond::see("/ask")).post(ask::sign_in))
        .route("/ask/quote", get(async || respond::see("/ask")).post(ask::quote))
        .route(sign_in::ALIVE, get(sign_in::alive))
        .route("/models", get(models::show))
        .route("/models.json", get(models::json))
        .route("/models/{file}", get(models::csv))
        .route("/sign-in", get(sign_in::show).post(sign_in::sign_in))
        .route("/sign-out", get(async || respond::see("/ask")).post(sign_in::sign_out))
        .route("/runs", get(runs::show))
        .route("/runs.json", get(runs::show))
        .route("/runs/{run}", get(run::pages::page::show))
        .route("/runs/{run}/compare", get(run::pages::compare::show))
        .route("/runs/{run}/compare.json", get(run::pages::compare::json))
        .route(
            "/runs/{run}/delete",
            get(run::pages::actions::confirm_deletion).post(run::pages::actions::delete_confirmed),
        )
        .route("/runs/{run}/{name}", get(run::pages::files::file).post(run::pages::actions::act))
        .route("/runs/{run}/answers/{file}", get(run::pages::files::answer_of_seat))
        .route("/runs/{run}/prompts/{call}", get(run::pages::prompts::show))
        .with_state(Arc::clone(&web))
        // The listener bounds every body.
        .layer(DefaultBodyLimit::disable())
        .layer(CompressionLayer::new());
    // A stream of events is not compressed: each must leave at once.
    let streams = Router::new().route("/runs/{run}/live", get(run::following::live::follow)).with_state(web);
    Door {
        name: "the page",
        path: Some("/"),
        open_paths: vec![sign_in::PATH, sign_in::ALIVE, ask::SIGN_IN, assets::FOLDER],
        sign_in: Some(sign_in::PATH),
        forms: true,
        kept_forms: vec!["/ask", "/ask/quote", ask::SIGN_IN],
        routes: pages.merge(streams).merge(assets::routes()),
        ..Door::from(Router::new())
    }
}
