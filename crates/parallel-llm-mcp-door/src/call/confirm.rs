//! The user's consent in the protocol: the form that asks for it, and the reply.
//!
//! A client of the newest protocol gets the question with a token, and sends both back in a new request; an older one
//! replies while its call waits. The service defines what an approval is bound to.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult,
};
use serde_json::Value;

use parallel_llm_service::{Approvals, ConsentReply, Decision, Excess, Fingerprint};

/// The question's name in a result.
const QUESTION: &str = "confirm_spend";
/// The only field of the form. It has no default, so a client that fills in defaults approves nothing.
const FIELD: &str = "approve";

/// The fingerprint to which an approval of this call is bound.
pub(super) fn fingerprint(approvals: &Approvals, request: &CallToolRequestParams) -> Fingerprint {
    // Sorted by name, because a client may send them in another order.
    let arguments: BTreeMap<&String, &Value> = request.arguments.iter().flatten().collect();
    approvals.fingerprint(&(&request.name, arguments))
}

/// The question as a result, which the client answers in a new call. `None` if the system gives no random token.
pub(super) fn question(
    approvals: &Approvals,
    call: Fingerprint,
    excess: Excess,
) -> Option<InputRequiredResult> {
    let token = approvals.ask(call, excess)?;
    let question = InputRequest::Elicitation(ElicitRequest::new(form(excess)));
    Some(InputRequiredResult::new(Some([(QUESTION.to_owned(), question)].into()), Some(token)))
}

/// The user's decision that a call brings; `None` without one.
pub(super) fn redeem(
    approvals: &Approvals,
    call: Fingerprint,
    request: &CallToolRequestParams,
) -> Result<Option<Decision>, ErrorData> {
    let Some(token) = &request.request_state else { return Ok(None) };
    let answer = request.input_responses.as_ref().and_then(|answers| answers.get(QUESTION));
    let read = |answer: &Value| reply(serde_json::from_value(answer.clone()).ok().as_ref());
    approvals.redeem(call, token, answer.map(read)).map_err(|_| {
        let message = "this `requestState` does not belong to this call, or not any more: call the tool without it to be asked anew";
        ErrorData::invalid_params(message, None)
    })
}

/// Whether a client can show a form. One that names no kind of elicitation means forms.
pub(super) fn can_ask(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// The question to the user as a form.
pub(super) fn form(excess: Excess) -> ElicitRequestParams {
    let Excess { likely, amount, limit } = excess;
    let message = format!(
        "This call will cost about {likely}, and {amount} at most. The setting `budget_usd` allows {limit}. Spend up to {amount} on it?"
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

/// What a reply says. Only an accepted form with its field set approves; a closed one declines nothing.
pub(super) fn reply(answer: Option<&ElicitResult>) -> ConsentReply {
    let Some(answer) = answer else { return ConsentReply::Declines };
    let field = answer.content.as_ref().and_then(|content| content.get(FIELD));
    match answer.action {
        ElicitationAction::Accept if field == Some(&Value::Bool(true)) => ConsentReply::Approves,
        ElicitationAction::Cancel => ConsentReply::Dismisses,
        _ => ConsentReply::Declines,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        use ConsentReply::{Approves, Declines, Dismisses};
        let check = |answer: Value, expected: ConsentReply| {
            let read: Option<ElicitResult> = serde_json::from_value(answer.clone()).ok();
            assert_eq!(reply(read.as_ref()), expected, "{answer}");
        };
        check(json!({"action": "accept", "content": {"approve": true}}), Approves);
        check(json!({"action": "decline"}), Declines);
        check(json!({"action": "cancel"}), Dismisses);
        check(json!({"action": "accept"}), Declines);
        check(json!({"action": "accept", "content": {}}), Declines);
        check(json!({"action": "accept", "content": {"approve": false}}), Declines);
        check(json!({"action": "accept", "content": {"approve": "true"}}), Declines);
        check(json!("accept"), Declines);
    }
}
