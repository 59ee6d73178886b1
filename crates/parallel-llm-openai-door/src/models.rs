//! `GET /v1/models`: the names of panels.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use parallel_llm_service::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use crate::caller::Caller;
use crate::model::{Kind, Model};
use crate::refusal::{Refusal, unreadable};
use crate::reply::json;

/// The list of models.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelList {
    /// `list`.
    object: &'static str,
    /// The models.
    data: Vec<ModelObject>,
}

/// A model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelObject {
    /// Its name in requests.
    id: String,
    /// `model`.
    object: &'static str,
    /// When this server began, in seconds since 1970.
    created: u64,
    /// What the name is: `preset`, `flow`, `strategy` or `models`.
    owned_by: &'static str,
}

impl ModelObject {
    fn new(caller: &Caller, id: String, kind: Kind) -> Self {
        Self { id, object: "model", created: caller.since, owned_by: kind.word() }
    }
}

/// Lists the presets, flows and strategies. Panels named by their models are not listed.
pub(crate) async fn list(caller: Caller) -> Response {
    if let Err(failure) = caller.services.principal.check(Scope::Read) {
        return caller.refuse(failure.into());
    }
    let all = Model::all(&caller.services.settings).into_iter();
    let data = all.map(|(id, kind)| ModelObject::new(&caller, id, kind)).collect();
    json(&ModelList { object: "list", data }).into_response()
}

/// One model by its name.
pub(crate) async fn find(caller: Caller, id: Result<Path<String>, PathRejection>) -> Response {
    let allowed = caller.services.principal.check(Scope::Read);
    let found = allowed.and_then(|()| {
        let Path(id) = id.map_err(|error| unreadable(&error))?;
        Ok((Model::read(&caller.services.settings, &id)?, id))
    });
    match found {
        Ok((model, id)) => json(&ModelObject::new(&caller, id, model.kind)).into_response(),
        Err(failure) => caller.refuse(Refusal::from(failure).at(|_| Some("model".to_owned()))),
    }
}
