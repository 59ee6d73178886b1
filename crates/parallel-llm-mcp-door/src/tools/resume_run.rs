//! `resume_run`: continues a run that was interrupted or lacks seats, adds models to it, or has its text made anew.

use std::sync::Arc;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, RunRequest};
use rmcp::model::{CallToolResponse, JsonObject, Tool, ToolAnnotations};

use super::arguments::{self, Values};
use super::fulfil::fulfil;
use super::long_results::long_results;
use super::schema;
use crate::call::tool_call::Call;
use parallel_llm_service::form::{Field, Given, ValueKind};
use parallel_llm_service::{Continuation, Order};

pub(super) const NAME: &str = "resume_run";

const ABOUT: &str = "Go on with a run without paying for its answers again: ask its seats without one; with `models`, these too; \
    with `synthesizer` or `strategy` alone, only fuse anew. Costs money.";

const ARGUMENTS: &[Field] = &[
    Field {
        name: "run_id",
        kind: ValueKind::RequiredText,
        about: "As process_prompt gave it.",
        example: "\"01JD0M3Z8K5Q2W7V9X4B6N1C0A\"",
    },
    Field {
        name: "models",
        kind: ValueKind::Texts,
        about: "Further models, as for process_prompt.",
        example: "[\"~x-ai/grok-latest\"]",
    },
    Field {
        name: "synthesizer",
        kind: ValueKind::Text,
        about: "The model that fuses.",
        example: "\"~google/gemini-pro-latest\"",
    },
    Field {
        name: "strategy",
        kind: ValueKind::Text,
        about: "As for process_prompt.",
        example: "\"synthesize\"",
    },
    Field {
        name: "resend",
        kind: ValueKind::Switch,
        about: "Also ask again what was sent and never heard of. It may have been paid: ask the user first.",
        example: "true",
    },
    Field {
        name: "budget_usd",
        kind: ValueKind::Usd,
        about: "Refuse if this part could cost more.",
        example: "0.5",
    },
];

/// What clients list.
pub(super) fn tool() -> Tool {
    Tool::new(NAME, ABOUT, Arc::new(arguments::schema(ARGUMENTS)))
        .with_title("Go on with a run")
        .with_raw_output_schema(Arc::new(schema::of_run([])))
        .with_annotations(ToolAnnotations::new().destructive(false))
        .with_meta(long_results())
}

/// Goes on, and waits as long as the client does.
pub(super) async fn call(call: &Call, arguments: Option<JsonObject>) -> Result<CallToolResponse, Failure> {
    let mut values = Values::read(ARGUMENTS, arguments)?;
    let run_id = values.text("run_id").unwrap_or_default();
    let request = RunRequest {
        models: values.texts("models"),
        synthesizer: values.text("synthesizer"),
        strategy: values.text("strategy"),
        budget: values.take("budget_usd").and_then(Given::usd),
        ..RunRequest::default()
    };
    let resend = values.take("resend").and_then(Given::switch).unwrap_or_default();
    let continuation = match (&request.models, request.synthesizer.is_some() || request.strategy.is_some()) {
        (None, false) => Continuation::Resume { resend, budget: request.budget },
        _ if resend => {
            let message =
                "`resend` asks the run's own seats; it goes with none of `models`, `synthesizer`, `strategy`";
            return Err(Failure::new(Code::Usage, message).with_next(Advice::MakeTwoCalls));
        }
        (Some(_), _) => Continuation::Add(request),
        (None, true) => Continuation::Rewrite(request),
    };
    fulfil(call, Order::on(run_id.trim(), continuation)).await
}
