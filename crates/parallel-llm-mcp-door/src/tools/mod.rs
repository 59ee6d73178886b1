//! The tools, one file each: few and small, because they are in the client's context in every conversation.

mod get_run;
mod list_models;
mod process_prompt;
mod resume_run;

use parallel_llm_engine::{Code, Failure};
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientJsonRpcMessage, ClientRequest, InputRequiredResult, JsonObject,
    JsonRpcMessage, MetaObject, Tool,
};
use serde_json::json;

use super::call::Call;
use super::progress::Progress;
use super::run_result;
use parallel_llm_service::{Begun, Order, Principal, RunHandle, Scope};

/// Their names in listing order.
pub(super) const NAMES: [&str; 4] =
    [process_prompt::NAME, get_run::NAME, resume_run::NAME, list_models::NAME];

/// The longest result that a client may keep in its context, in characters; one client moves more than 50,000 into a
/// file unless told otherwise. An answer is cut at 100,000, and is in a result twice.
const RESULT_CHARS_MAX: u64 = 250_000;

/// The scope that a call of the tool needs.
fn scope(name: &str) -> Scope {
    match name {
        process_prompt::NAME | resume_run::NAME => Scope::Ask,
        _ => Scope::Read,
    }
}

/// The tools that this principal may call.
pub(super) fn of(principal: &Principal, presets: &[&str]) -> Vec<Tool> {
    let mut tools = all(presets);
    tools.retain(|tool| principal.check(scope(&tool.name)).is_ok());
    tools
}

/// Fails if a message calls a tool that this principal may not call.
pub(super) fn check(principal: &Principal, message: &ClientJsonRpcMessage) -> Result<(), Failure> {
    let JsonRpcMessage::Request(request) = message else { return Ok(()) };
    let ClientRequest::CallToolRequest(call) = &request.request else { return Ok(()) };
    let is_known = NAMES.contains(&call.params.name.as_ref());
    if is_known { principal.check(scope(&call.params.name)) } else { Ok(()) }
}

/// Every tool, with the names of these presets.
pub(super) fn all(presets: &[&str]) -> Vec<Tool> {
    vec![process_prompt::tool(presets), get_run::tool(), resume_run::tool(), list_models::tool()]
}

/// Dispatches a call.
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

/// Begins an order, and answers with the report in time, a task, or a question to the user.
async fn fulfil(call: &Call, mut order: Order) -> Result<CallToolResponse, Failure> {
    let via = call.via()?;
    if let Order::Ask(question) = &mut order {
        question.request.lineage.via = via;
    }
    let mut progress = call.progress();
    // Boxed, because planning and beginning a run takes kilobytes, which the futures of all calls would hold otherwise.
    let beginning = Box::pin(begin(call, order));
    let handle = match progress.begin(beginning).await? {
        Started::Run(handle) => handle,
        Started::Question(question) => return Ok((*question).into()),
    };
    match call.task(&handle) {
        Some(task) => Ok(task.into()),
        None => Ok(answer(call, &handle, &mut progress).await.into()),
    }
}

/// A begun order.
enum Started {
    Run(RunHandle),
    /// The client has to ask its user first, and call again.
    Question(Box<InputRequiredResult>),
}

/// Begins an order, asking the user if needed in the way of the call's protocol version.
async fn begin(call: &Call, order: Order) -> Result<Started, Failure> {
    let asking = &call.service.ask;
    let unapproved = match asking.begin_order(order, call.consent()).await? {
        Begun::Run(handle) => return Ok(Started::Run(handle)),
        Begun::Unapproved(unapproved) => unapproved,
    };
    if call.carries_questions() {
        let question = call.question(unapproved.excess).map(Box::new);
        return question.map(Started::Question).ok_or(unapproved.refused);
    }
    let decision = call.ask_user(&unapproved).await?;
    asking.begin_unapproved(*unapproved, decision).await.map(Started::Run)
}

/// The result of a run begun by this call, in time.
async fn answer(call: &Call, handle: &RunHandle, progress: &mut Progress) -> CallToolResult {
    match call.paid_answer(handle, progress).await {
        Ok(report) => run_result::of_run(&call.service.principal, report),
        Err(taken_back) => run_result::of_run_failure(&call.service.principal, handle.id(), taken_back),
    }
}

/// The mark that tells clients that a result may be long.
fn long_results() -> MetaObject {
    let mut meta = MetaObject::default();
    meta.0.insert("anthropic/maxResultSizeChars".to_owned(), json!(RESULT_CHARS_MAX));
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all tools may take of a model's context, in bytes: all that clients show it.
    const SHOWN_BYTES_MAX: usize = 5_000;
    /// The whole list, in bytes. Some clients show a model the output schemas, too.
    const LIST_BYTES_MAX: usize = 8_000;

    #[test]
    fn the_list_is_small_and_in_order() {
        let mut tools = all(&["budget", "default", "max", "quick"]);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, NAMES);
        let size = json!({ "tools": tools }).to_string().len();
        assert!(size <= LIST_BYTES_MAX, "{size} bytes");
        for tool in &mut tools {
            tool.output_schema = None;
        }
        let shown = json!({ "tools": tools }).to_string().len();
        assert!(shown <= SHOWN_BYTES_MAX, "{shown} bytes");
    }
}
