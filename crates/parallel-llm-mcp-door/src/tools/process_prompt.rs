//! `process_prompt`: asks a panel one question and returns the answer, or what is there in time.

use std::sync::Arc;

use parallel_llm_engine::{Failure, RunRequest};
use rmcp::model::{CallToolResponse, JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use super::arguments::{self, Values};
use super::fulfil::fulfil;
use super::long_results::long_results;
use super::schema;
use crate::call::tool_call::Call;
use parallel_llm_service::attachment::Attachments;
use parallel_llm_service::form::{Field, OPTIONS, ValueKind};
use parallel_llm_service::{Order, Question};

pub(super) const NAME: &str = "process_prompt";

const ABOUT: &str = "Ask several language models one question at once and get one fused answer, with who agrees, who \
    objects and the cost. Use it where a mistake is expensive or a second opinion counts: a design, a review, a bug that \
    resists, a decision, a fact that must be right. Do not use it for what you can look up, run or test yourself, nor for \
    many small questions: a call takes up to minutes and costs money. A good prompt stands alone: the question, the \
    material in full (code, text, figures), constraints, what was tried, and the form of the answer; it does not say \
    which answer you expect. If `status` is `running`, call get_run.";

/// The arguments beside the options of a question.
const OWN: [Field; 3] = [
    Field {
        name: "prompt",
        kind: ValueKind::RequiredText,
        about: "The whole question with its context: the models see nothing else of the conversation.",
        example: "\"Which of these two designs is safer, and why? ...\"",
    },
    Field {
        name: "continue_run",
        kind: ValueKind::Text,
        about: "A run_id: its conversation and panel go on with this prompt.",
        example: "\"01JD0M3Z8K5Q2W7V9X4B6N1C0A\"",
    },
    Field {
        name: "attachments",
        kind: ValueKind::Texts,
        about: "Pictures, PDFs and texts, each a data URI; paths only in folders the user allows.",
        example: "[\"data:image/png;name=plan.png;base64,iVBORw0KGgoAAAANSUhEUg==\"]",
    },
];

fn arguments() -> Vec<Field> {
    OWN.into_iter().chain(OPTIONS.iter().map(|option| option.field)).collect()
}

/// The longest list of presets in the description, in bytes: it is in every conversation.
const PRESETS_BYTES_MAX: usize = 160;

/// The tool as clients list it, with the names of these presets.
pub(super) fn tool(presets: &[&str]) -> Tool {
    let mut input = Value::Object(arguments::schema(&arguments()));
    input["properties"]["preset"]["description"] = preset_described(presets).into();
    let Value::Object(input) = input else { unreachable!("a schema is an object") };
    Tool::new(NAME, ABOUT, Arc::new(input))
        .with_title("Ask a panel of models")
        .with_raw_output_schema(Arc::new(schema::of_run([])))
        .with_annotations(ToolAnnotations::new().destructive(false))
        .with_meta(long_results())
}

/// The description of `preset`: `A named panel or flow: budget, default, max, quick.`, as far as there is room.
fn preset_described(presets: &[&str]) -> String {
    let mut bytes = 0;
    let fits = |name: &&&str| {
        bytes += name.len() + ", ".len();
        bytes <= PRESETS_BYTES_MAX
    };
    let named: Vec<&str> = presets.iter().take_while(fits).copied().collect();
    let others = (named.len() < presets.len() || presets.is_empty()).then_some("see list_models");
    let named: Vec<&str> = named.into_iter().chain(others).collect();
    format!("A named panel or flow: {}.", named.join(", "))
}

/// Asks, and waits within the client's timeout.
pub(super) async fn call(call: &Call, arguments: Option<JsonObject>) -> Result<CallToolResponse, Failure> {
    let settings = &call.service.settings;
    let attachments = call.service.attachments();
    // Files are read and folders searched on a thread that may wait.
    let reading = tokio::task::spawn_blocking(|| read(arguments, attachments));
    let read = reading.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    let mut question = read?;
    let timeout = call.client_timeout(question.request.store.unwrap_or(settings.store));
    question.request.lineage.trace = call.trace();
    question.request.client_timeout_ms = timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok());
    fulfil(call, Order::Ask(question)).await
}

fn read(arguments: Option<JsonObject>, mut attachments: Attachments) -> Result<Question, Failure> {
    let mut values = Values::read(&self::arguments(), arguments)?;
    let given = values.texts("attachments").unwrap_or_default();
    given.iter().try_for_each(|one| attachments.attach_given(one))?;
    let notes = attachments.tally().note().into_iter().collect();
    let messages = vec![attachments.question(values.text("prompt").unwrap_or_default())];
    let continues = values.text("continue_run").map(|run| run.trim().to_owned());
    let request = RunRequest { messages, ..RunRequest::default() };
    let mut question = Question { request, continues, notes, ..Question::default() };
    for option in &OPTIONS {
        if let Some(given) = values.take(option.field.name) {
            option.set(&mut question, given)?;
        }
    }
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parallel_llm_engine::request::StoreMode;
    use parallel_llm_engine::{Attachment, Effort, Message, Part, PicoUsd, Role};
    use serde_json::json;

    #[test]
    fn every_argument_arrives() {
        let given = json!({
            "prompt": "p", "models": ["a/b"], "synthesizer": "c/d", "strategy": "synthesize", "preset": "quick",
            "temperature": 0.5, "max_tokens": 7, "files": false, "budget_usd": 0.25, "deadline_s": 9, "store": "none",
            "effort": "xhigh", "idempotency_key": "k", "fresh": true, "continue_run": " @~1 ", "attachments": ["data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="],
        });
        let question = read(given.as_object().cloned(), Attachments::new(100)).unwrap();
        let png = Attachment {
            name: "attachment-1.png".to_owned(),
            media_type: "image/png".to_owned(),
            base64: "iVBORw0KGgoAAAANSUhEUg==".into(),
            detail: None,
            tokens: None,
        };
        let parts = vec![Part::Text { text: "p".to_owned() }, Part::File(png)];
        let expected = RunRequest {
            messages: vec![Message { role: Role::User, parts }],
            models: Some(vec!["a/b".to_owned()]),
            synthesizer: Some("c/d".to_owned()),
            strategy: Some("synthesize".to_owned()),
            temperature: Some(0.5),
            max_tokens: Some(7),
            effort: Some(Effort::Xhigh),
            deadline_ms: Some(9_000),
            budget: PicoUsd::from_decimal("0.25"),
            idempotency_key: Some("k".to_owned()),
            fresh: true,
            store: Some(StoreMode::None),
            files: Some(false),
            ..RunRequest::default()
        };
        assert_eq!(question.request, expected);
        assert_eq!((question.preset.as_deref(), question.continues.as_deref()), (Some("quick"), Some("@~1")));
        assert!(arguments().iter().all(|argument| given.get(argument.name).is_some()));
    }

    #[test]
    fn presets_are_named_as_far_as_there_is_room() {
        let described = |presets: &[&str]| {
            let tool = json!(tool(presets));
            tool["inputSchema"]["properties"]["preset"]["description"].as_str().unwrap().to_owned()
        };
        assert_eq!(described(&["budget", "quick"]), "A named panel or flow: budget, quick.");
        assert_eq!(described(&[]), "A named panel or flow: see list_models.");
        let long = "p".repeat(100);
        assert_eq!(described(&[&long, &long]), format!("A named panel or flow: {long}, see list_models."));
    }

    #[test]
    fn every_example_is_right() {
        for argument in arguments() {
            let mut given = json!({ "prompt": "p" });
            given[argument.name] = serde_json::from_str(argument.example).unwrap();
            assert!(read(given.as_object().cloned(), Attachments::new(100)).is_ok(), "{}", argument.name);
        }
    }
}
