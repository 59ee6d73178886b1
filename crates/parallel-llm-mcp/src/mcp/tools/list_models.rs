//! `list_models`: which models can be asked, and the settings in force. Never a key.

use std::sync::Arc;

use parallel_llm_engine::Failure;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::mcp::arguments::{self, Argument, Kind, Values};
use crate::mcp::call::Call;
use crate::mcp::outcome;
use crate::service::ModelList;

pub(super) const NAME: &str = "list_models";

const ABOUT: &str = "List the models that can be asked, with prices, and the settings in force: panel, synthesizer, \
    presets, limits.";

/// What the list takes of a model's context at most, in bytes. A provider's whole list is twenty times as long.
const LIST_BYTES_MAX: usize = 8_000;

const ARGUMENTS: &[Argument] =
    &[Argument { name: "search", kind: Kind::Text, about: "Part of a model's name.", example: "\"claude\"" }];

/// What clients list.
pub(super) fn tool() -> Tool {
    Tool::new(NAME, ABOUT, Arc::new(arguments::schema(ARGUMENTS)))
        .with_title("List models")
        .with_annotations(ToolAnnotations::new().read_only(true).open_world(true))
}

/// Lists them.
pub(super) async fn call(call: &Call, arguments: Option<JsonObject>) -> Result<CallToolResult, Failure> {
    let search = Values::read(ARGUMENTS, arguments)?.text("search").unwrap_or_default();
    Ok(tell(&call.service.list_models(search.trim()).await))
}

fn tell(list: &ModelList) -> CallToolResult {
    let mut told = json!(list);
    let total = list.models.len();
    let shown = bounded(told["models"].take());
    let left_out = total - shown.len();
    told["models"] = shown.into();
    told["models_total"] = total.into();
    if left_out > 0 {
        told["next"] =
            format!("{left_out} more: call list_models with {{\"search\":\"part of a name\"}}").into();
    }
    let text = told.to_string();
    outcome::result(told, text, false)
}

/// As many models as there is room for.
fn bounded(models: Value) -> Vec<Value> {
    let Value::Array(models) = models else { return Vec::new() };
    let mut room = LIST_BYTES_MAX;
    let fits = |model: &Value| {
        let size = model.to_string().len() + 1;
        room = room.saturating_sub(size);
        room > 0
    };
    models.into_iter().map(without_nulls).take_while(fits).collect()
}

fn without_nulls(mut model: Value) -> Value {
    if let Some(model) = model.as_object_mut() {
        model.retain(|_, value| !value.is_null());
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_is_too_long_and_what_is_missing_is_counted() {
        let model = |number| json!({"id": format!("laboratory/model-{number}"), "context_tokens": null, "price": 1.5});
        let shown = bounded((0..1_000).map(model).collect());
        let size = Value::from(shown.clone()).to_string().len();
        assert!(size <= LIST_BYTES_MAX && size > LIST_BYTES_MAX / 2, "{size} bytes");
        assert_eq!(shown[0], json!({"id": "laboratory/model-0", "price": 1.5}));
    }
}
