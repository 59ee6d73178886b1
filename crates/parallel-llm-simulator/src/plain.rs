//! What OpenAI's own endpoint refuses where OpenRouter's does not, in OpenAI's shape of errors.

use hyper::StatusCode;

use crate::catalogue::Model;
use crate::json::Object;
use crate::reply::Reply;
use crate::request::ChatRequest;

/// Reasoning models take neither the old limit nor a temperature.
pub(crate) fn check(request: &ChatRequest, model: &Model) -> Result<(), Reply> {
    if model.lab() != "openai" || !model.reasoning_mandatory {
        return Ok(());
    }
    if request.max_tokens.is_some() {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. \
             Use 'max_completion_tokens' instead.";
        return Err(unsupported(message, "max_tokens"));
    }
    if request.temperature.is_some() {
        let message = "Unsupported parameter: 'temperature' is not supported with this model.";
        return Err(unsupported(message, "temperature"));
    }
    Ok(())
}

pub(crate) fn bad_key() -> Reply {
    error(StatusCode::UNAUTHORIZED, "Incorrect API key provided.", None, "invalid_api_key")
}

pub(crate) fn unknown_model(slug: &str) -> Reply {
    let message = format!("The model `{slug}` does not exist or you do not have access to it.");
    error(StatusCode::NOT_FOUND, &message, None, "model_not_found")
}

fn unsupported(message: &str, parameter: &str) -> Reply {
    error(StatusCode::BAD_REQUEST, message, Some(parameter), "unsupported_parameter")
}

fn error(status: StatusCode, message: &str, parameter: Option<&str>, code: &str) -> Reply {
    let error = Object::new()
        .with("message", message)
        .with("type", "invalid_request_error")
        .with("param", &parameter)
        .with("code", code);
    Reply::json(status, Object::new().nest("error", error).bytes())
}
