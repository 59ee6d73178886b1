//! `list_models`: which models can be asked, and the settings in force. Never a key.

use std::sync::Arc;

use parallel_llm_engine::Failure;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::mcp::arguments::{self, Argument, Kind, Values};
use crate::mcp::call::Call;
use crate::mcp::outcome;
use crate::service::Overview;

pub(super) const NAME: &str = "list_models";

const ABOUT: &str = "List the models that can be asked, with prices, and the settings in force: panel, synthesizer, \
    presets, limits.";

/// What the list takes of a model's context at most, in bytes. A provider's whole list is twenty times as long.
const LIST_BYTES_MAX: usize = 7_500;

/// What the list of providers takes at most, in bytes: a dozen of them.
const PROVIDERS_BYTES_MAX: usize = 1_000;

/// What is not told of a model: it stands in its id, or matters to few.
const SPARED: [&str; 5] = ["name", "provider", "alias_of", "output_tokens_max", "price_overrides"];

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
    Ok(tell(&call.service.overview(search.trim()).await?))
}

fn tell(list: &Overview) -> CallToolResult {
    let mut told = json!(list);
    let total = list.models.len();
    told["providers"] = bounded(told["providers"].take(), PROVIDERS_BYTES_MAX).into();
    let shown = bounded(told["models"].take(), LIST_BYTES_MAX);
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

/// As many entries as there is room for.
fn bounded(entries: Value, bytes_max: usize) -> Vec<Value> {
    let Value::Array(entries) = entries else { return Vec::new() };
    let mut room = bytes_max;
    let fits = |entry: &Value| {
        let size = entry.to_string().len() + 1;
        room = room.saturating_sub(size);
        room > 0
    };
    entries.into_iter().map(in_short).take_while(fits).collect()
}

/// The entry without what is not known, and without what a caller that reads every word can do without.
fn in_short(mut entry: Value) -> Value {
    if let Some(entry) = entry.as_object_mut() {
        entry.retain(|name, value| !value.is_null() && !SPARED.contains(&name.as_str()));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_is_too_long_and_what_is_missing_is_counted() {
        let model = |number| json!({"id": format!("laboratory/model-{number}"), "context_tokens": null, "price": 1.5});
        let shown = bounded((0..1_000).map(model).collect(), LIST_BYTES_MAX);
        let size = Value::from(shown.clone()).to_string().len();
        assert!(size <= LIST_BYTES_MAX && size > LIST_BYTES_MAX / 2, "{size} bytes");
        assert_eq!(shown[0], json!({"id": "laboratory/model-0", "price": 1.5}));
    }
}
