//! Tools that ask for input: a call is answered with questions, and is repeated with their answers.
//!
//! A flow is a row: which questions each round asks, and whether the state between rounds is sealed. The state comes
//! back from the client, so an invalid seal ends the call.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, InputRequests, InputRequiredResult, InputResponses,
    JsonObject, RequestStateCodec, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::{Called, Row};

/// A tool that asks for input.
struct Flow {
    row: Row,
    /// The names of the questions of each round.
    rounds: &'static [&'static [&'static str]],
    /// Whether a sealed state says which round was asked.
    is_sealed: bool,
    /// Its text once everything is answered.
    done: &'static str,
}

const FLOWS: &[Flow] = &[
    Flow {
        row: Row { name: "test_input_required_result_elicitation", description: "Asks the user for a name" },
        rounds: &[&["user_name"]],
        is_sealed: false,
        done: "Hello",
    },
    Flow {
        row: Row { name: "test_input_required_result_sampling", description: "Asks the client's model" },
        rounds: &[&["capital_question"]],
        is_sealed: false,
        done: "The model says",
    },
    Flow {
        row: Row { name: "test_input_required_result_list_roots", description: "Asks for the roots" },
        rounds: &[&["client_roots"]],
        is_sealed: false,
        done: "The roots are",
    },
    Flow {
        row: Row { name: "test_input_required_result_request_state", description: "Asks with a state" },
        rounds: &[&["confirm"]],
        is_sealed: true,
        done: "state-ok",
    },
    Flow {
        row: Row { name: "test_input_required_result_tampered_state", description: "Refuses a forged state" },
        rounds: &[&["confirm"]],
        is_sealed: true,
        done: "state-ok",
    },
    Flow {
        row: Row { name: "test_input_required_result_multiple_inputs", description: "Asks three things" },
        rounds: &[&["user_name", "greeting", "client_roots"]],
        is_sealed: true,
        done: "All is answered",
    },
    Flow {
        row: Row { name: "test_input_required_result_multi_round", description: "Asks twice" },
        rounds: &[&["step1"], &["step2"]],
        is_sealed: true,
        done: "Both are answered",
    },
    Flow {
        row: Row {
            name: "test_input_required_result_capabilities",
            description: "Asks only what the client says it can answer",
        },
        rounds: &[&["user_name", "greeting", "client_roots"]],
        is_sealed: false,
        done: "What could be answered is answered",
    },
    Flow {
        row: Row { name: "test_streaming_elicitation", description: "Asks on a stream" },
        rounds: &[&["streaming_elicitation"]],
        is_sealed: false,
        done: "It is answered",
    },
];

/// Every flow, and the key that seals their states.
#[derive(Clone)]
pub(super) struct Flows {
    codec: RequestStateCodec,
}

/// The tools of this group.
pub(super) fn tools() -> impl Iterator<Item = Tool> {
    FLOWS.iter().map(|flow| flow.row.tool())
}

impl Flows {
    pub(super) fn new() -> Self {
        // A public key is fine: the fixtures protect nothing.
        let key = b"the key of the conformance fixtures".to_vec();
        Self { codec: RequestStateCodec::try_new(key).expect("the key has 32 bytes") }
    }

    /// The answer of a tool of this group; `None` for another tool.
    pub(super) fn call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Called> {
        let flow = FLOWS.iter().find(|flow| flow.row.name == request.name)?;
        Some(self.step(flow, request, &capabilities(context)))
    }

    fn step(&self, flow: &Flow, request: &CallToolRequestParams, can: &ClientCapabilities) -> Called {
        let asked = self.asked(flow, request.request_state.as_deref())?;
        let answered = |round: usize| {
            let mut keys = flow.rounds[round].iter().filter(|key| is_answerable(key, can));
            keys.all(|key| answer(request.input_responses.as_ref(), key).is_some())
        };
        let next = match asked {
            None => 0,
            Some(round) if answered(round) => round + 1,
            Some(round) => round,
        };
        let Some(keys) = flow.rounds.get(next) else {
            let answers = request.input_responses.as_ref().map_or(Value::Null, |responses| json!(responses));
            return Ok(super::text(format!("{}: {answers}", flow.done)).into());
        };
        let state = flow.is_sealed.then(|| self.codec.seal_json(&next));
        let state = state.transpose().map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ask(keys, state, can).into())
    }

    /// The round this call answers, if any. Without a state it can only be the first.
    fn asked(&self, flow: &Flow, state: Option<&str>) -> Result<Option<usize>, ErrorData> {
        if !flow.is_sealed {
            return Ok(Some(0));
        }
        let round: Option<usize> = state
            .map(|state| self.codec.open_json(state))
            .transpose()
            .map_err(|_| ErrorData::invalid_params("this is no state of ours", None))?;
        Ok(round.filter(|round| *round < flow.rounds.len()))
    }
}

/// The questions of a round, as far as the client can answer them.
pub(super) fn ask(keys: &[&str], state: Option<String>, can: &ClientCapabilities) -> InputRequiredResult {
    let keys = keys.iter().filter(|key| is_answerable(key, can));
    let questions: InputRequests = keys.map(|key| ((*key).to_owned(), super::read(question(key)))).collect();
    InputRequiredResult::new(Some(questions), state)
}

/// The answer to a question. Anything but an object is no answer, and the question is asked again.
pub(super) fn answer<'a>(responses: Option<&'a InputResponses>, key: &str) -> Option<&'a JsonObject> {
    responses?.get(key)?.as_object()
}

/// The client's capabilities.
pub(super) fn capabilities(context: &RequestContext<RoleServer>) -> ClientCapabilities {
    context.client_capabilities().unwrap_or_default()
}

/// A question as the protocol writes it.
pub(super) fn question(key: &str) -> Value {
    match key {
        "user_name" => form("What is your name?", "name", "string"),
        "user_context" => form("What context should the prompt use?", "context", "string"),
        "confirm" => form("Please confirm", "ok", "boolean"),
        "step1" => form("Step 1: What is your name?", "name", "string"),
        "step2" => form("Step 2: What is your favorite color?", "color", "string"),
        "capital_question" => model("What is the capital of France?", 100),
        "greeting" => model("Generate a greeting", 50),
        "client_roots" => json!({"method": "roots/list", "params": {}}),
        _ => form("What is the value?", "value", "string"),
    }
}

/// A form with one field.
pub(super) fn form(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

fn model(prompt: &str, tokens_max: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens_max}})
}

fn is_answerable(key: &str, can: &ClientCapabilities) -> bool {
    match question(key)["method"].as_str() {
        Some("sampling/createMessage") => can.sampling.is_some(),
        Some("roots/list") => can.roots.is_some(),
        _ => can.elicitation.is_some(),
    }
}
