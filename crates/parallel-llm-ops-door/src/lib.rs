//! What a server tells those who run it: that it lives, whether it can take a question, and its figures.
//!
//! Load balancers and supervisors bring no token, so `/healthz` and `/readyz` are open; they touch nothing of the owner's and name
//! nothing of it. `/metrics` holds sums over everybody's runs, so it is for the owner, and for tokens that the owner made for it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use parallel_llm_engine::value::next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::status::Fault;
use parallel_llm_http::{Door, failure};
use parallel_llm_service::{Principal, Services, Shutdown, redacted, telemetry};
use parallel_llm_settings::settings::MetricsReach;
use serde_json::{Value, json};

/// Whether the process lives.
const HEALTH: &str = "/healthz";
/// Whether it can take a question.
const READINESS: &str = "/readyz";
/// Its figures.
const FIGURES: &str = "/metrics";

/// What the routes share.
struct Ops {
    services: Services,
    shutdown: Shutdown,
}

/// The door over these services, until the shutdown.
pub fn door(services: &Services, shutdown: &Shutdown) -> Door {
    let reach = services.settings.telemetry.metrics;
    let ops = Arc::new(Ops { services: services.clone(), shutdown: shutdown.clone() });
    let mut routes = Router::new().route(HEALTH, get(async || "ok\n")).route(READINESS, get(is_ready));
    let (mut beside, mut open_paths) = (vec![HEALTH, READINESS], vec![HEALTH, READINESS]);
    if reach != MetricsReach::Off {
        routes = routes.route(FIGURES, get(figures));
        beside.push(FIGURES);
    }
    if reach == MetricsReach::Open {
        open_paths.push(FIGURES);
    }
    Door { name: "health", beside, open_paths, stays: true, ..Door::from(routes.with_state(ops)) }
}

/// Whether the server can take a question. One that is stopping says so first, whatever it knew before.
async fn is_ready(State(ops): State<Arc<Ops>>) -> Response {
    let checked = if ops.shutdown.stop.is_cancelled() {
        Err(vec![Failure::new(Code::Busy, "the server is stopping")])
    } else {
        ops.services.readiness.check().await
    };
    match checked {
        Ok(()) => Json(json!({ "status": "ready" })).into_response(),
        Err(reasons) => {
            let reasons: Vec<Value> = reasons.iter().map(described).collect();
            let body = json!({ "status": "unready", "reasons": reasons });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}

fn described(reason: &Failure) -> Value {
    let next = next::render(reason.next_steps(), &next::PLAIN);
    json!({ "code": reason.code, "message": reason.message, "next": next })
}

/// The figures. Where they are open, a caller may bring a token or none.
async fn figures(State(ops): State<Arc<Ops>>, principal: Option<Extension<Principal>>) -> Response {
    let services = match principal {
        Some(Extension(principal)) => ops.services.acting_for(principal),
        None if ops.services.settings.telemetry.metrics == MetricsReach::Open => ops.services.clone(),
        // Only a request that bypassed the listener has no principal.
        None => {
            let missing = Failure::new(Code::TokenRefused, "the request brings no token");
            return failure::refusal(Fault::Unavailable, &missing);
        }
    };
    match services.figures().await {
        Ok(text) => ([(header::CONTENT_TYPE, telemetry::MEDIA_TYPE)], text).into_response(),
        Err(failure) => failure::response(&redacted(failure)),
    }
}
