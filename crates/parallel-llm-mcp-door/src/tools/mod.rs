//! The tools: one file each. Few and small, because they stand in the client's context in every conversation.

mod get_run;
mod list_models;
mod process_prompt;
mod resume_run;

use parallel_llm_engine::{Code, Failure};
use rmcp::model::{CallToolResponse, CallToolResult, JsonObject, MetaObject, Tool};
use serde_json::json;

use super::call::Call;
use super::order::{self, Begun, Order};
use super::outcome;
use super::progress::Progress;
use parallel_llm_service::RunHandle;

/// Their names, in the order they are listed.
pub(super) const NAMES: [&str; 4] =
    [process_prompt::NAME, get_run::NAME, resume_run::NAME, list_models::NAME];

/// Characters of a result that a client may keep in its context; one client moves more than 50,000 into a file unless
/// told so. An answer is cut at 100,000, and stands in a result twice.
const RESULT_CHARS_MAX: u64 = 250_000;

/// Every tool.
pub(super) fn all() -> Vec<Tool> {
    vec![process_prompt::tool(), get_run::tool(), resume_run::tool(), list_models::tool()]
}

/// Does a call.
pub(super) async fn call(
    name: &str,
    call: &Call,
    arguments: Option<JsonObject>,
) -> Result<CallToolResponse, Failure> {
    match name {
        process_prompt::NAME => process_prompt::call(call, arguments).await,
        get_run::NAME => get_run::call(call, arguments).await.map(Into::into),
        resume_run::NAME => resume_run::call(call, arguments).await,
        list_models::NAME => list_models::call(call, arguments).await.map(Into::into),
        _ => Err(Failure::new(Code::Usage, "there is no such tool")),
    }
}

/// Does what costs money, and answers with what comes of it in time: the run's report, a task to ask about, or a question
/// to the user.
async fn fulfil(call: &Call, order: Order) -> Result<CallToolResponse, Failure> {
    let mut progress = call.progress();
    // Boxed, because planning and beginning a run are kilobytes, which the futures of all calls would hold else.
    let beginning = Box::pin(order::begin(call, order));
    let handle = match progress.begin(beginning).await? {
        Begun::Run(handle) => handle,
        Begun::Asked(question) => return Ok(question.into()),
    };
    match call.task(&handle) {
        Some(task) => Ok(task.into()),
        None => Ok(told(call, &handle, &mut progress).await.into()),
    }
}

/// Tells what comes of a run that this call pays for, in time; a call that is taken back gives the run up.
async fn told(call: &Call, handle: &RunHandle, progress: &mut Progress) -> CallToolResult {
    match call.wait(handle, progress, None).await {
        Ok(report) => outcome::of_report(&call.service.principal, report),
        Err(taken_back) => {
            handle.cancel();
            outcome::of_run_failure(&call.service.principal, handle.id(), taken_back)
        }
    }
}

/// What tells clients that a result may be long.
fn long_results() -> MetaObject {
    let mut meta = MetaObject::default();
    meta.0.insert("anthropic/maxResultSizeChars".to_owned(), json!(RESULT_CHARS_MAX));
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all tools may take of a context, in bytes.
    const LIST_BYTES_MAX: usize = 6_000;

    #[test]
    fn the_list_is_small_and_in_order() {
        let tools = all();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, NAMES);
        let size = json!({ "tools": tools }).to_string().len();
        assert!(size <= LIST_BYTES_MAX, "{size} bytes");
    }
}
