//! Answers by their ids: `GET /v1/responses/{id}` and `GET /v1/chat/completions/{id}`, for whoever lost one on the way.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, RunStatus};
use parallel_llm_service::RunHandle;
use parallel_llm_service::report::Report;
use serde_json::json;

use crate::caller::Caller;
use crate::model::PREFIX;
use crate::refusal::{Refusal, unreadable};
use crate::reply::{self, Answer, Completion, ResponseObject, Settings};
use crate::request::{Parameters, check_parameters, run_id};

/// The id of an answer in the path, if it can be read.
type Id = Result<Path<String>, PathRejection>;

/// A run by the id of its answer.
struct Found {
    handle: RunHandle,
    report: Report,
    /// The panel by its models: the name that was asked for is not kept.
    model: String,
}

/// A chat completion.
pub(crate) async fn chat(caller: Caller, id: Id, given: Parameters) -> Response {
    let read = async {
        check_parameters(given)?;
        let Found { handle, report, model } = find(&caller, id).await?;
        if is_running(&report) {
            let run_id = handle.id();
            let failure = Failure::new(Code::Busy, format!("run {run_id} has no answer yet"));
            return Err(Refusal::from(failure.with_next(Operation::WaitForRun)).of_run(run_id));
        }
        let answer = Answer::of(&handle, report, &caller.services.principal)?;
        let headers = answer.headers();
        Ok((headers, reply::json(&Completion::new(answer, model))).into_response())
    };
    read.await.unwrap_or_else(|refusal| caller.refuse(refusal))
}

/// A response, in whatever state it is.
pub(crate) async fn response(caller: Caller, id: Id, given: Parameters) -> Response {
    let read = async {
        check_parameters(given)?;
        let Found { handle, report, model } = find(&caller, id).await?;
        let (run_id, settings) = (handle.id(), Settings::of_model(model).kept_by(&handle));
        let principal = &caller.services.principal;
        let object = if is_running(&report) {
            ResponseObject::begun(run_id, &settings)
        } else {
            let has_failed = report.error.is_some();
            match Answer::of(&handle, report, principal) {
                Ok(answer) => ResponseObject::ended(&answer, &settings, None),
                Err(refusal) if !has_failed => return Err(refusal),
                Err(refusal) => {
                    let shown = refusal.shown(principal);
                    let error = json!({ "code": shown.code(), "message": shown.message() });
                    ResponseObject::failed(run_id, &settings, error)
                }
            }
        };
        Ok::<_, Refusal>((reply::headers(run_id), reply::json(&object)).into_response())
    };
    read.await.unwrap_or_else(|refusal| caller.refuse(refusal))
}

async fn find(caller: &Caller, id: Id) -> Result<Found, Refusal> {
    let of_id = |failure: Failure| Refusal::from(failure).at(|_| Some("id".to_owned()));
    let Path(id) = id.map_err(|error| of_id(unreadable(&error)))?;
    let name = run_id(&id).map_err(of_id)?.to_string();
    let handle = caller.services.runs.watch(&name).await.map_err(of_id)?;
    let report = handle.report();
    let models: Vec<String> = report.answers.iter().map(|seat| seat.model.replace('+', "%2B")).collect();
    Ok(Found { handle, report, model: format!("{PREFIX}{}", models.join("+")) })
}

/// Whether a run has no answer yet and may get one.
fn is_running(report: &Report) -> bool {
    report.answer.is_none() && report.status == RunStatus::Running.as_str()
}
