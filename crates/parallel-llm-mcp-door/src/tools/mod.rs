//! The tools, one file each: few and small, because they are in the client's context in every conversation.

mod arguments;
mod fulfil;
mod get_run;
mod list_models;
mod long_results;
mod process_prompt;
mod resume_run;
mod schema;

use parallel_llm_engine::{Code, Failure};
use rmcp::model::{CallToolResponse, ClientJsonRpcMessage, ClientRequest, JsonObject, JsonRpcMessage, Tool};

use crate::call::tool_call::Call;
use parallel_llm_service::{Principal, Scope};

/// Their names in listing order.
pub(super) const NAMES: [&str; 4] =
    [process_prompt::NAME, get_run::NAME, resume_run::NAME, list_models::NAME];

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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
