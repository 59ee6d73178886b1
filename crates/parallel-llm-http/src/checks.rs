//! The way of a request through all checks to its route, and of its answer back.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use parallel_llm_service::telemetry::Meter;

use super::count::Counted;
use super::guard::Guard;
use crate::answer::failure;
use crate::answer::refusal::Refusal;
use crate::caller::access::Gate;
use crate::doors::paths::Paths;
use crate::doors::policy;
use crate::head;
use crate::load::flight::Flight;
use crate::load::intake::{self, Intake};
use crate::load::stopping::Stopping;

/// The checks of one server, in their order.
pub(super) struct Checks {
    pub(super) meter: Option<Meter>,
    pub(super) paths: Arc<Paths>,
    pub(super) head_bytes_max: usize,
    pub(super) guard: Guard,
    pub(super) gate: Gate,
    pub(super) stopping: Stopping,
    pub(super) flight: Flight,
    pub(super) intake: Intake,
}

/// Answers a request. As one layer: a router copies what is below each layer for every request.
pub(super) async fn pass(State(checks): State<Arc<Checks>>, request: Request, next: Next) -> Response {
    let counted = checks.meter.as_ref().map(|meter| (meter, Counted::of(&request)));
    let shape = checks.paths.at(request.uri().path()).and_then(|terms| terms.refusal);
    let answered = checks.answer(request, next).await;
    let response = policy::add(failure::reshape(shape, answered.unwrap_or_else(|refusal| *refusal)));
    if let Some((meter, counted)) = counted {
        counted.note(meter, response.status());
    }
    response
}

impl Checks {
    async fn answer(&self, mut request: Request, next: Next) -> Result<Response, Refusal> {
        head::check(&request, self.head_bytes_max)?;
        let origin = self.guard.check(&mut request)?;
        let response = self.answer_known(request, next).await.unwrap_or_else(|refusal| *refusal);
        Ok(match origin {
            Some(origin) => self.guard.cors.open(response, origin),
            None => response,
        })
    }

    /// Answers a request to this host from no foreign page.
    async fn answer_known(&self, mut request: Request, next: Next) -> Result<Response, Refusal> {
        self.gate.check(&mut request).await?;
        self.stopping.check(&request)?;
        self.flight.check(&request)?;
        let comes_in_pieces = intake::comes_in_pieces(&request);
        let request = self.intake.read(request).await?;
        let response = self.gate.challenged(self.flight.answer(request, next).await);
        Ok(if comes_in_pieces { intake::closing(response) } else { response })
    }
}
