//! The models of a dialect: lookup by name, and the list in the dialect's shape.

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::behaviour::script::Script;
use crate::dialect::row::{Dialect, List, ModelNames};
use crate::replies::reply::Reply;
use crate::state::catalogue::{Catalogue, Model};
use crate::state::clock::iso_time;

/// Prefix of a model name that plays a fault, at OpenRouter and elsewhere.
const ROUTER_FAULT: &str = "sim/fault-";
const FAULT: &str = "fault-";

/// The model behind a fault name: the cheapest one.
const FAULTY_MODEL: &str = "openai/gpt-6-luna";

/// A known name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedModel<'a> {
    pub(crate) model: &'a Model,
    /// The scenario in the name itself.
    pub(crate) scenario: Option<&'a str>,
}

/// The model of this name.
pub(crate) fn find<'a>(catalogue: &'a Catalogue, dialect: &Dialect, name: &'a str) -> Option<NamedModel<'a>> {
    if let Some(scenario) = scenario(dialect, name) {
        let lab_model = models(catalogue, dialect).next();
        let model =
            catalogue.find(FAULTY_MODEL).filter(|_| !matches!(dialect.model_names, ModelNames::Lab(_)));
        return Some(NamedModel { model: model.or(lab_model)?, scenario: Some(scenario) });
    }
    let by_name = || models(catalogue, dialect).find(|model| short_name(model) == name);
    let by_slug = || models(catalogue, dialect).find(|model| model.id == name);
    let model = match dialect.model_names {
        ModelNames::Router => catalogue.find(name),
        ModelNames::Lab(_) => by_name(),
        ModelNames::Any => by_name().or_else(by_slug),
    };
    model.map(|model| NamedModel { model, scenario: None })
}

/// The scenario in a name such as `fault-server_500(2)`.
fn scenario<'a>(dialect: &Dialect, name: &'a str) -> Option<&'a str> {
    let mark = if matches!(dialect.model_names, ModelNames::Router) { ROUTER_FAULT } else { FAULT };
    name.strip_prefix(mark).filter(|scenario| scenario.parse::<Script>().is_ok())
}

/// The models of a dialect; only OpenRouter offers routers and aliases.
fn models<'a>(catalogue: &'a Catalogue, dialect: &Dialect) -> impl Iterator<Item = &'a Model> {
    let model_names = dialect.model_names;
    let is_sold = move |model: &&Model| match model_names {
        ModelNames::Router => true,
        ModelNames::Lab(lab) => model.lab() == lab && !model.is_alias(),
        ModelNames::Any => model.lab() != "openrouter" && !model.is_alias(),
    };
    catalogue.models.iter().filter(is_sold)
}

/// The slug without the lab and without the suffix of free models.
fn short_name(model: &Model) -> &str {
    let (_, name) = model.id.split_once('/').unwrap_or(("", &model.id));
    name.strip_suffix(":free").unwrap_or(name)
}

/// The list of models.
pub(crate) fn list(catalogue: &Catalogue, dialect: &Dialect) -> Reply {
    let entries = |entry: &dyn Fn(&Model) -> Value| models(catalogue, dialect).map(entry).collect::<Vec<_>>();
    let body = match dialect.list {
        List::Router | List::OpenAi { .. } => {
            json!({"object": "list", "data": entries(&|model| openai(dialect, model))})
        }
        List::Anthropic => {
            let data = entries(&anthropic);
            let ends = [data.first(), data.last()].map(|entry| entry.map(|entry| entry["id"].clone()));
            let [first, last] = ends;
            json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
        }
        List::Gemini => json!({"models": entries(&gemini)}),
        List::Tags => json!({"models": entries(&tag)}),
    };
    Reply::json(StatusCode::OK, body.to_string().into())
}

fn created(model: &Model) -> u64 {
    model.entry["created"].as_u64().unwrap_or_default()
}

fn openai(dialect: &Dialect, model: &Model) -> Value {
    let mut entry = json!({
        "id": short_name(model),
        "object": "model",
        "created": created(model),
        "owned_by": model.lab(),
    });
    if let List::OpenAi { context_field: Some(field) } = dialect.list {
        entry[field] = model.context_tokens.into();
    }
    entry
}

fn anthropic(model: &Model) -> Value {
    json!({
        "type": "model",
        "id": short_name(model),
        "display_name": display_name(model),
        "created_at": iso_time(created(model)),
        "max_input_tokens": model.context_tokens,
        "max_tokens": model.output_tokens_max,
    })
}

fn gemini(model: &Model) -> Value {
    json!({
        "name": format!("models/{}", short_name(model)),
        "version": "001",
        "displayName": display_name(model),
        "inputTokenLimit": model.context_tokens,
        "outputTokenLimit": model.output_tokens_max,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "thinking": model.reasons,
    })
}

fn tag(model: &Model) -> Value {
    json!({
        "name": short_name(model),
        "model": short_name(model),
        "modified_at": iso_time(created(model)),
        "size": 0,
        "details": {"format": "gguf", "family": model.lab()},
    })
}

/// The display name without the lab, such as `GPT-6 Luna` for `OpenAI: GPT-6 Luna`.
fn display_name(model: &Model) -> &str {
    let name = model.entry["name"].as_str().unwrap_or_default();
    name.split_once(": ").map_or(name, |(_, name)| name)
}
