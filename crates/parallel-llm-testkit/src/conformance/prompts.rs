//! Prompts: plain, with arguments, with a resource, with a picture, and one that asks for input.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::{PIXEL_PNG, input};

/// All of them.
pub(super) fn all() -> Vec<Prompt> {
    super::read(json!([
        {"name": "test_simple_prompt", "description": "A prompt without arguments"},
        {
            "name": "test_prompt_with_arguments",
            "description": "A prompt with two arguments",
            "arguments": [
                {"name": "arg1", "description": "First test argument", "required": true},
                {"name": "arg2", "description": "Second test argument", "required": true},
            ],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt with a resource",
            "arguments": [
                {"name": "resourceUri", "description": "URI of the resource to embed", "required": true},
            ],
        },
        {"name": "test_prompt_with_image", "description": "A prompt with a picture"},
        {"name": "test_input_required_result_prompt", "description": "A prompt that asks for its context"},
    ]))
}

/// One of them.
pub(super) fn get(
    request: &GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name| request.arguments.as_ref()?.get(name)?.as_str();
    let argument = |name| argument(name).unwrap_or_default();
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![text_content("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text_content(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = argument("resourceUri");
            let resource = json!({"uri": uri, "mimeType": "text/plain", "text": "Embedded resource content for testing."});
            vec![
                json!({"type": "resource", "resource": resource}),
                text_content("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": PIXEL_PNG, "mimeType": "image/png"}),
            text_content("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let key = "user_context";
            let Some(answer) = input::answer(request.input_responses.as_ref(), key) else {
                return Ok(input::ask(&[key], None, &input::capabilities(context)).into());
            };
            vec![text_content(&format!("Prompt with context: {}", answer["content"]["context"]))]
        }
        _ => return Err(ErrorData::invalid_params("there is no such prompt", None)),
    };
    let messages: Vec<Value> =
        contents.into_iter().map(|content| json!({"role": "user", "content": content})).collect();
    Ok(GetPromptResult::new(super::read(messages.into())).into())
}

fn text_content(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
