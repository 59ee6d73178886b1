//! The user's consent as the protocol has it: the form that asks for it, and what comes back.
//!
//! A client of the newest protocol is handed the question with a word, and comes back with both in a new request; an older
//! one answers while its call waits. What an approval is bound to is the service's.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult,
};
use serde_json::Value;

use parallel_llm_service::{Approvals, Decision, Excess, Fingerprint};

/// The question's name among those a result may hold.
const QUESTION: &str = "confirm_spend";
/// The one field of the form. It has no default: a client that fills in defaults by itself approves nothing.
const FIELD: &str = "approve";

/// What an approval of this call is bound to.
pub(super) fn fingerprint(approvals: &Approvals, request: &CallToolRequestParams) -> Fingerprint {
    // In order of their names, because a client may write them anew.
    let arguments: BTreeMap<&String, &Value> = request.arguments.iter().flatten().collect();
    approvals.fingerprint(&(&request.name, arguments))
}

/// The question as a result, which the client answers in a call of its own. `None` where the system gives no random word.
pub(super) fn question(
    approvals: &Approvals,
    call: Fingerprint,
    excess: Excess,
) -> Option<InputRequiredResult> {
    let word = approvals.ask(call, excess)?;
    let question = InputRequest::Elicitation(ElicitRequest::new(form(excess)));
    Some(InputRequiredResult::new(Some([(QUESTION.to_owned(), question)].into()), Some(word)))
}

/// What a call brings of its user's decision: `None` where it brings none.
pub(super) fn redeem(
    approvals: &Approvals,
    call: Fingerprint,
    request: &CallToolRequestParams,
) -> Result<Option<Decision>, ErrorData> {
    let Some(word) = &request.request_state else { return Ok(None) };
    let answer = request.input_responses.as_ref().and_then(|answers| answers.get(QUESTION));
    let read = |answer: &Value| approves(serde_json::from_value(answer.clone()).ok().as_ref());
    approvals.redeem(call, word, answer.map(read)).map_err(|_| {
        let message = "this `requestState` does not belong to this call, or not any more: call the tool without it to be asked anew";
        ErrorData::invalid_params(message, None)
    })
}

/// Whether a client can show its user a form. One that names no kind of question means forms.
pub(super) fn can_ask(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// The question to the user.
pub(super) fn form(excess: Excess) -> ElicitRequestParams {
    let Excess { worst_case, amount, limit } = excess;
    let wish =
        if amount > worst_case { format!(", and a budget of {amount} is asked for") } else { String::new() };
    let message = format!(
        "This call may cost up to {worst_case}{wish}. The setting `budget_usd` allows {limit}. Spend up to {amount} on it?"
    );
    let approve = |field: rmcp::model::BooleanSchema| {
        field.title(format!("Spend up to {amount}")).description("For this call only.")
    };
    let requested_schema = ElicitationSchema::builder()
        .required_bool_property(FIELD, approve)
        .build()
        .expect("the one field it requires is there");
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }
}

/// Whether an answer approves. Only a form that was accepted with its field set is a yes.
pub(super) fn approves(answer: Option<&ElicitResult>) -> bool {
    let accepted = answer.filter(|answer| answer.action == ElicitationAction::Accept);
    let field = accepted.and_then(|answer| answer.content.as_ref()?.get(FIELD));
    field == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        let check = |answer: Value, expected: bool| {
            let read: Option<ElicitResult> = serde_json::from_value(answer.clone()).ok();
            assert_eq!(approves(read.as_ref()), expected, "{answer}");
        };
        check(json!({"action": "accept", "content": {"approve": true}}), true);
        check(json!({"action": "decline"}), false);
        check(json!({"action": "cancel"}), false);
        check(json!({"action": "accept"}), false);
        check(json!({"action": "accept", "content": {}}), false);
        check(json!({"action": "accept", "content": {"approve": false}}), false);
        check(json!({"action": "accept", "content": {"approve": "true"}}), false);
        check(json!("accept"), false);
    }
}
