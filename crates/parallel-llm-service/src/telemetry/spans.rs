//! The spans of a run, after OpenTelemetry's GenAI conventions: one for the run, and one for each of its requests.
//!
//! The conventions are in development; these names are those of November 2026. Ids are computed from the run and the request
//! (`value/trace.rs` of the engine), so that they are the ones that the servers of models were told. Invariant: a span has
//! neither a question nor an answer nor the message of a failure, unless the owner wants content, and then only for runs of the
//! owner.

use std::sync::Arc;

use parallel_llm_engine::run::Run;
use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::trace::{SpanId, TraceContext, TraceId};
use parallel_llm_engine::{Code, Part, RunId};
use serde_json::{Value, json};

use super::calls::EndedCall;
use super::labels::{Labels, conventional};
use super::meter::OPERATION;
use super::otlp::{self, Attributes, Span, SpanKind};
use crate::report::cost::Cost;

/// The longest text of a model or a provider in an attribute, in characters.
const TEXT_CHARS_MAX: usize = 256;
/// The longest question or answer in an attribute, in characters; a collector refuses spans of many megabytes.
const CONTENT_CHARS_MAX: usize = 16_384;
/// The name of this program as an agent.
const AGENT: &str = "parallel-llm-mcp";

/// Makes the spans of one run, or of a further part of it.
pub(super) struct Tracer {
    labels: Arc<Labels>,
    run_id: RunId,
    trace: TraceId,
    /// What the caller sent beside its trace.
    state: String,
    /// The span of this part, and the one it belongs to.
    own: SpanId,
    parent: Option<SpanId>,
    is_remote: bool,
    /// The time of the run's beginning on the wall clock, in milliseconds since 1970.
    anchor_ms: u64,
    /// When this part began, in milliseconds from there.
    begun_ms: u64,
    with_content: bool,
}

impl Tracer {
    /// The tracer of the part of a run that begins after this event; `None` if the caller records no trace.
    pub(super) fn of(run: &Run, labels: &Arc<Labels>, anchor_ms: u64, content: bool) -> Option<Self> {
        let plan = &run.plan;
        let caller = plan.lineage.trace.as_ref();
        if caller.is_some_and(|caller| !caller.is_sampled) {
            return None;
        }
        // The span of a run is that of its first part; a further part has its own, named by the event before it.
        let is_first = run.seq == 0;
        let of_run = SpanId::of_run(plan.run_id);
        let part = || SpanId::of_request(plan.run_id, "part", u32::try_from(run.seq).unwrap_or(u32::MAX));
        Some(Self {
            labels: Arc::clone(labels),
            run_id: plan.run_id,
            trace: caller.map_or_else(|| TraceId::of_run(plan.run_id), |caller| caller.trace),
            state: caller.map(|caller| caller.state.clone()).unwrap_or_default(),
            own: if is_first { of_run } else { part() },
            parent: if is_first { caller.map(|caller: &TraceContext| caller.span) } else { Some(of_run) },
            is_remote: is_first && caller.is_some(),
            anchor_ms,
            begun_ms: run.elapsed_ms,
            // What a token holder asks is not the owner's to pass on.
            with_content: content && plan.asked_by.is_none(),
        })
    }

    /// The span of this part of the run, which is closed.
    pub(super) fn part(&self, run: &Run) -> Value {
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", "invoke_agent");
        attributes.text("gen_ai.provider.name", AGENT);
        attributes.text("gen_ai.agent.name", AGENT);
        attributes.text("parallel_llm.run.id", &self.run_id.to_string());
        attributes.text("parallel_llm.run.status", run.status.as_str());
        attributes.text("parallel_llm.run.strategy", run.plan.strategy.name());
        attributes.whole("parallel_llm.run.seats", run.seats.len() as u64);
        attributes.whole("parallel_llm.run.answered", run.answered() as u64);
        let cost = Cost::of(run);
        if let Some(known) = cost.known {
            attributes.decimal("parallel_llm.cost_usd", known.as_usd());
            attributes.switch("parallel_llm.cost_is_estimate", cost.is_estimate);
        }
        let failure = run.failure();
        if let Some(failure) = &failure {
            attributes.text("error.type", failure.code.as_str());
        }
        if self.with_content {
            attributes.text("gen_ai.input.messages", &question(run));
            let text = run.outcome.as_ref().and_then(|outcome| outcome.text.as_deref());
            if let Some(text) = text {
                attributes.text("gen_ai.output.messages", &answer(text, None));
            }
        }
        Span {
            trace: self.trace,
            id: self.own,
            parent: self.parent,
            is_remote: self.is_remote,
            state: &self.state,
            name: format!("invoke_agent {AGENT}"),
            kind: SpanKind::Internal,
            start_ms: self.anchor_ms + self.begun_ms,
            end_ms: self.anchor_ms + run.elapsed_ms,
            is_error: failure.is_some(),
            attributes,
        }
        .into_json()
    }

    /// The span of a request that was sent and has ended.
    pub(super) fn call(&self, ended: &EndedCall<'_>) -> Option<Value> {
        let sent_ms = ended.sent_ms?;
        let model = safe::excerpt(&ended.model.model, TEXT_CHARS_MAX);
        let provider = &ended.model.provider;
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", OPERATION);
        attributes.text("gen_ai.provider.name", conventional(&provider.0));
        attributes.text("gen_ai.request.model", &model);
        if let Some(server) = self.labels.server(provider) {
            attributes.text_if("server.address", server.host.as_deref());
            attributes.whole_if("server.port", server.port.map(u64::from));
        }
        let id = ended.generation_id.as_deref().map(|id| safe::excerpt(id, TEXT_CHARS_MAX));
        attributes.text_if("gen_ai.response.id", id.as_deref());
        attributes.text_if("error.type", ended.code.map(Code::as_str));
        attributes.whole_if("http.response.status_code", ended.status.map(u64::from));
        attributes.text("parallel_llm.run.id", &self.run_id.to_string());
        attributes.text("parallel_llm.call", &ended.attempt.slot.to_string());
        attributes.whole("parallel_llm.attempt", u64::from(ended.attempt.number));
        if let Some(cost) = ended.cost {
            attributes.decimal("parallel_llm.cost_usd", cost.as_usd());
        }
        self.describe_answer(ended, &mut attributes);
        let span = Span {
            trace: self.trace,
            id: ended.attempt.span(self.run_id),
            parent: Some(self.own),
            is_remote: false,
            state: &self.state,
            name: format!("{OPERATION} {model}"),
            kind: SpanKind::Client,
            start_ms: self.anchor_ms + sent_ms,
            end_ms: self.anchor_ms + ended.ended_ms,
            is_error: ended.code.is_some(),
            attributes,
        };
        Some(span.into_json())
    }

    fn describe_answer(&self, ended: &EndedCall<'_>, attributes: &mut Attributes) {
        let Some(given) = ended.answer else { return };
        let served = given.served_model.as_deref().map(|model| safe::excerpt(model, TEXT_CHARS_MAX));
        attributes.text_if("gen_ai.response.model", served.as_deref());
        let finish = given.finish.as_ref().map(|finish| safe::excerpt(finish.as_str(), TEXT_CHARS_MAX));
        if let Some(finish) = &finish {
            attributes.list("gen_ai.response.finish_reasons", std::slice::from_ref(finish));
        }
        attributes.whole_if("gen_ai.usage.input_tokens", given.usage.input_tokens);
        attributes.whole_if("gen_ai.usage.output_tokens", given.usage.output_tokens);
        attributes.whole_if("gen_ai.usage.reasoning.output_tokens", given.usage.reasoning_tokens);
        attributes.whole_if("gen_ai.usage.cache_read.input_tokens", given.usage.cached_tokens);
        attributes.whole_if("parallel_llm.first_token_ms", given.first_token_ms);
        if self.with_content && !given.text.is_empty() {
            attributes.text("gen_ai.output.messages", &answer(&given.text, finish.as_deref()));
        }
    }
}

/// The newest messages of a run that fit, as the conventions write them. Files are only named.
fn question(run: &Run) -> String {
    let mut room = CONTENT_CHARS_MAX;
    let mut messages = Vec::new();
    for message in run.plan.messages.iter().rev() {
        let parts: Vec<Value> = message.parts.iter().map(|part| content(part, &mut room)).collect();
        messages.push(json!({ "role": message.role, "parts": parts }));
        if room == 0 {
            break;
        }
    }
    messages.reverse();
    otlp::text_of(&messages.into())
}

/// A part of a message, with as much of its text as there is room for.
fn content(part: &Part, room: &mut usize) -> Value {
    match part {
        Part::Text { text } => {
            let shown: String = text.chars().take(*room).collect();
            *room -= shown.chars().count();
            json!({ "type": "text", "content": shown })
        }
        Part::File(file) => json!({ "type": "file", "name": safe::excerpt(&file.name, TEXT_CHARS_MAX) }),
    }
}

/// An answer as the conventions write it.
fn answer(text: &str, finish: Option<&str>) -> String {
    let shown: String = text.chars().take(CONTENT_CHARS_MAX).collect();
    let part = json!({ "type": "text", "content": shown });
    otlp::text_of(
        &json!([{ "role": "assistant", "parts": [part], "finish_reason": finish.unwrap_or("stop") }]),
    )
}
