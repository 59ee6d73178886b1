//! The plan hash, by which equal questions are recognized.

use std::collections::BTreeMap;

use crate::plan::Terms;
use crate::plan::seats::parse;
use crate::request::flow::Flow;
use crate::request::persona::Persona;
use crate::request::strategy::StrategyChoice;
use crate::request::{AnswerLine, Equivalence, RunRequest};

/// The plan hash. It leaves out the principal, the idempotency key, the lineage and the client timeout, and what a request cannot set:
/// timers, retries and the limits of a day.
pub(super) fn plan_hash(request: &RunRequest, terms: &Terms<'_>, choice: StrategyChoice) -> String {
    let defaults = terms.defaults;
    // Without `..`, so that every new field forces a decision whether it belongs in the hash.
    let RunRequest {
        messages,
        models,
        synthesizer,
        strategy,
        temperature,
        max_tokens,
        effort,
        deadline_ms,
        client_timeout_ms: _,
        budget,
        store,
        files,
        asked_by: _,
        idempotency_key: _,
        // What it stands for counts, and not its name.
        preset: _,
        lineage: _,
        fresh: _,
    } = request;
    // A flow names the models and the strategies itself, so those of the settings change nothing.
    let flow = defaults.flow.as_ref();
    let none = String::new();
    let panels: Vec<String> = flow.iter().flat_map(|flow| flow.panels()).cloned().collect();
    let panel = if flow.is_some() { &panels } else { &defaults.panel };
    let who = (models.as_ref().unwrap_or(panel), synthesizer, &defaults.synthesizers);
    let how = (
        strategy.as_ref().unwrap_or(if flow.is_some() { &none } else { &defaults.strategy }),
        temperature,
        max_tokens.unwrap_or(defaults.max_tokens),
        effort.or(defaults.effort),
        &defaults.routing,
    );
    let within = (deadline_ms, defaults.wait, budget.unwrap_or(defaults.budget));
    let kept = (store.unwrap_or(defaults.store), files.unwrap_or(defaults.files));
    let asked = (messages, who, how, within, kept);
    // A reference holds only the name of a persona, and its prompt may change while the name stays.
    let personas = personas_of(who.0, terms);
    let is_checked = flow.map_or(choice.options.is_checked(), Flow::is_checked);
    let checker = defaults.checker.as_ref().filter(|_| is_checked);
    // A plan without personas, checker and flow hashes as it did before there were any. The name of a flow and what it is
    // for change no answer.
    let json = match (flow, checker, personas.is_empty()) {
        (Some(flow), checker, _) => serde_json::to_vec(&(asked, personas, checker, &flow.stages)),
        (None, None, true) => serde_json::to_vec(&asked),
        (None, None, false) => serde_json::to_vec(&(asked, personas)),
        (None, Some(checker), _) => serde_json::to_vec(&(asked, personas, checker)),
    };
    let mut json = json.expect("a request is plain data with string keys");
    // Other prompts, other answers. A plan that asks for the line by default hashes as it did before there was one.
    if defaults.answer_line == AnswerLine::Off {
        json.extend_from_slice(b"answer_line=off");
    }
    let model = match &defaults.equivalence {
        Equivalence::CheapestOf(_) => None,
        Equivalence::Model(reference) => Some(reference.as_str()),
        Equivalence::Off => Some("off"),
    };
    if let Some(model) = model {
        json.extend_from_slice(b"equivalence_model=");
        json.extend_from_slice(model.as_bytes());
    }
    blake3::hash(&json).to_hex().to_string()
}

/// The personas that these references name; unknown names are left out.
fn personas_of<'a>(references: &[String], terms: &Terms<'a>) -> BTreeMap<&'a String, &'a Persona> {
    let named = references.iter().filter_map(|reference| parse(reference, terms).ok()?.options.persona);
    named.filter_map(|name| terms.defaults.personas.get_key_value(&name)).collect()
}
