//! `list_models`: the models on offer and the settings in force, without any key.

use std::sync::Arc;

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::Vocabulary;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{self, Values};
use super::schema;
use crate::call::tool_call::Call;
use crate::results::result;
use crate::results::run_result::RESULT_BYTES_MAX;
use crate::vocabulary;
use parallel_llm_service::Overview;
use parallel_llm_service::form::{Field, ValueKind};
use parallel_llm_service::report::next_steps::render_next_steps;

pub(super) const NAME: &str = "list_models";

const ABOUT: &str =
    "List models with prices, and the settings in force: panel, synthesizer, presets, personas, limits.";

/// The most bytes of each list beside the models: a few dozen entries. The models get the rest of a result.
const LISTS: [(&str, usize); 5] =
    [("panel", 2_000), ("synthesizer", 800), ("presets", 800), ("personas", 400), ("providers", 1_000)];

/// Room for the sentence on finding more, in bytes.
const NEXT_BYTES_MAX: usize = 150;

/// Members left out of a model: they are in its id, or matter to few.
const OMITTED: [&str; 5] = ["name", "provider", "alias_of", "output_tokens_max", "price_overrides"];

const ARGUMENTS: &[Field] = &[Field {
    name: "search",
    kind: ValueKind::Text,
    about: "Part of a model's name.",
    example: "\"claude\"",
}];

/// What a result holds beside the overview: the lengths of lists that are cut, and how to find more.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it is only a schema")]
struct Totals {
    /// All of them, where the list is cut.
    panel_total: usize,
    /// All of them, where the list is cut.
    synthesizer_total: usize,
    /// All of them, where the list is cut.
    presets_total: usize,
    /// All of them, where the list is cut.
    personas_total: usize,
    /// All of them.
    providers_total: usize,
    /// All that match.
    models_total: usize,
    /// How to find more.
    next: String,
}

/// The tool as clients list it.
pub(super) fn tool() -> Tool {
    let output = schema::of_any([schema::of::<Overview>(), schema::of::<Totals>()]);
    Tool::new(NAME, ABOUT, Arc::new(arguments::schema(ARGUMENTS)))
        .with_title("List models")
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(ToolAnnotations::new().read_only(true))
}

/// Lists the models.
pub(super) async fn call(call: &Call, arguments: Option<JsonObject>) -> Result<CallToolResult, Failure> {
    let search = Values::read(ARGUMENTS, arguments)?.text("search").unwrap_or_default();
    let _turn = call.turn_to_reply().await;
    Ok(render(&call.service.models.overview(search.trim()).await?, vocabulary::of(&call.service.principal)))
}

fn render(list: &Overview, vocabulary: &Vocabulary) -> CallToolResult {
    let mut described = json!(list);
    render_next_steps(&mut described, vocabulary);
    for (name, bytes_max) in LISTS {
        let total = described[name].as_array().map_or(0, Vec::len);
        let shown = bounded(described[name].take(), bytes_max);
        if shown.len() < total || name == "providers" {
            described[format!("{name}_total")] = total.into();
        }
        described[name] = shown.into();
    }
    let total = list.models.len();
    described["models_total"] = total.into();
    let models = described["models"].take();
    let room = RESULT_BYTES_MAX.saturating_sub(described.to_string().len() + NEXT_BYTES_MAX);
    let shown = bounded(models, room);
    let left_out = total - shown.len();
    described["models"] = shown.into();
    if left_out > 0 {
        described["next"] =
            format!("{left_out} more: call list_models with {{\"search\":\"part of a name\"}}").into();
    }
    let text = described.to_string();
    result::of(described, text, false)
}

/// As many entries as fit.
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

/// The entry without unknown members and those that a model can do without.
fn in_short(mut entry: Value) -> Value {
    if let Some(entry) = entry.as_object_mut() {
        entry.retain(|name, value| !value.is_null() && !OMITTED.contains(&name.as_str()));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST_BYTES_MAX: usize = 7_500;

    #[test]
    fn no_list_is_too_long_and_what_is_missing_is_counted() {
        let model = |number| json!({"id": format!("laboratory/model-{number}"), "context_tokens": null, "price": 1.5});
        let shown = bounded((0..1_000).map(model).collect(), LIST_BYTES_MAX);
        let size = Value::from(shown.clone()).to_string().len();
        assert!(size <= LIST_BYTES_MAX && size > LIST_BYTES_MAX / 2, "{size} bytes");
        assert_eq!(shown[0], json!({"id": "laboratory/model-0", "price": 1.5}));
    }
}
