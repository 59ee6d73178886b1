//! Tools that send messages while they work: log lines, progress, questions to the client, and notifications of
//! changes.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ClientCapabilities, ElicitRequestParams, ElicitResult, JsonObject, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use serde_json::{Value, json};

use super::listeners::Listeners;
use super::{Called, Row, input};

/// The pause between two notifications, as the scenarios expect it.
const PAUSE: Duration = Duration::from_millis(50);

const ROWS: &[Row] = &[
    Row { name: "test_tool_with_logging", description: "Logs three lines" },
    Row { name: "test_tool_with_progress", description: "Tells of its progress" },
    Row {
        name: "test_elicitation_sep1034_defaults",
        description: "Asks with a default for each kind of field",
    },
    Row { name: "test_elicitation_sep1330_enums", description: "Asks with each kind of choice" },
    Row { name: "test_reconnection", description: "Answers after a while" },
    Row { name: "test_missing_capability", description: "Needs a client with a model" },
    Row { name: "test_logging_tool", description: "Logs a line if asked to" },
    Row { name: "test_trigger_tool_change", description: "Says that the list of tools has changed" },
    Row { name: "test_trigger_prompt_change", description: "Says that the list of prompts has changed" },
];

/// The tools of this group.
pub(super) fn tools() -> impl Iterator<Item = Tool> {
    let asking = |name, description, argument: &str| {
        let schema = json!({
            "type": "object",
            "properties": {argument: {"type": "string"}},
            "required": [argument],
        });
        super::tool(name, description, schema)
    };
    let asking = [
        asking("test_sampling", "Asks the client's model", "prompt"),
        asking("test_elicitation", "Asks the user", "message"),
    ];
    ROWS.iter().map(Row::tool).chain(asking)
}

/// The answer of a tool of this group; `None` for another tool.
pub(super) async fn call(
    name: &str,
    arguments: &JsonObject,
    context: &RequestContext<RoleServer>,
    listeners: &Listeners,
) -> Option<Called> {
    let argument = |name| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let result = match name {
        "test_tool_with_logging" => with_logging(context).await,
        "test_tool_with_progress" => with_progress(context).await,
        "test_sampling" => sampling(context, argument("prompt")).await,
        "test_elicitation" => elicitation(context, argument("message"), user_form()).await,
        "test_elicitation_sep1034_defaults" => elicitation(context, "Please look at this", defaults()).await,
        "test_elicitation_sep1330_enums" => elicitation(context, "Please choose", choices()).await,
        "test_reconnection" => {
            tokio::time::sleep(PAUSE).await;
            super::text("the stream can be taken up again")
        }
        "test_missing_capability" if input::capabilities(context).sampling.is_none() => {
            let needed = ClientCapabilities::builder().enable_sampling().build();
            return Some(Err(ErrorData::missing_required_client_capability(needed)));
        }
        "test_missing_capability" => super::text("the client has a model"),
        "test_logging_tool" => {
            if let Some(level) = context.meta.log_level() {
                log(context, level, "a line was asked for").await;
            }
            super::text("logged what was asked for")
        }
        "test_trigger_tool_change" => {
            listeners.tools_changed().await;
            super::text("whoever listens knows")
        }
        "test_trigger_prompt_change" => {
            listeners.prompts_changed().await;
            super::text("whoever listens knows")
        }
        _ => return None,
    };
    Some(Ok(result.into()))
}

async fn with_logging(context: &RequestContext<RoleServer>) -> CallToolResult {
    log(context, LoggingLevel::Info, "Tool execution started").await;
    for line in ["Tool processing data", "Tool execution completed"] {
        tokio::time::sleep(PAUSE).await;
        log(context, LoggingLevel::Info, line).await;
    }
    super::text("logged three lines")
}

async fn with_progress(context: &RequestContext<RoleServer>) -> CallToolResult {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, done).with_total(100.0);
            // The client may have left.
            let _ = context.peer.notify_progress(progress).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
    super::text("all of it is done")
}

async fn sampling(context: &RequestContext<RoleServer>, prompt: &str) -> CallToolResult {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let request = super::read(json!({"messages": [message], "maxTokens": 100}));
    match context.peer.create_message(request).await {
        Ok(result) => {
            let block = result.message.content.first().and_then(|content| content.as_text());
            super::text(format!("LLM response: {}", block.map_or("", |block| block.text.as_str())))
        }
        Err(error) => refused(&error),
    }
}

async fn elicitation(context: &RequestContext<RoleServer>, message: &str, schema: Value) -> CallToolResult {
    let request: ElicitRequestParams =
        super::read(json!({"mode": "form", "message": message, "requestedSchema": schema}));
    match context.peer.create_elicitation(request).await {
        Ok(ElicitResult { action, content, .. }) => {
            let (action, content) = (json!(action), json!(content));
            let action = action.as_str().unwrap_or_default();
            super::text(format!("Elicitation completed: action={action}, content={content}"))
        }
        Err(error) => refused(&error),
    }
}

/// The client cannot be asked, or did not answer.
fn refused(error: &ServiceError) -> CallToolResult {
    let mut result = super::text(error.to_string());
    result.is_error = Some(true);
    result
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, line: &str) {
    let line = LoggingMessageNotificationParam::new(level, json!(line)).with_logger("fixtures");
    // The client may have left.
    let _ = context.peer.notify_logging_message(line).await;
}

fn user_form() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

/// SEP-1034.
fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

/// SEP-1330.
fn choices() -> Value {
    let titled = |titles: [&str; 3]| {
        let choices = ["value1", "value2", "value3"].into_iter().zip(titles);
        choices.map(|(value, title)| json!({"const": value, "title": title})).collect::<Value>()
    };
    let plain = json!(["option1", "option2", "option3"]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])},
        },
    }})
}
