//! The user's word on a call that may cost more than the settings allow: how it is asked for, and how it is believed.
//!
//! A client of the newest protocol is handed a sealed question and comes back with the answer in a new request, so what it
//! brings is hostile until shown otherwise. What always holds: an approval is for one call of one principal with the same
//! arguments, for one amount, once, and only for a while; whatever else comes back approves nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use parallel_llm_engine::PicoUsd;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use parallel_llm_service::Principal;

/// How long a question to the user may be answered: a coffee, not a night in which prices change.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(10 * 60);
/// Questions that wait for their answer at once. Beyond it the oldest is forgotten, and can be asked again.
const OPEN_MAX: usize = 256;
/// The question's name among those a result may hold.
const QUESTION: &str = "confirm_spend";
/// The one field of the form. It has no default: a client that fills in defaults by itself approves nothing.
const FIELD: &str = "approve";

/// What the user is asked to approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Excess {
    /// The most the call can cost.
    pub(super) worst_case: PicoUsd,
    /// What it would be allowed: exactly that becomes its budget.
    pub(super) amount: PicoUsd,
    /// What it is allowed without being asked.
    pub(super) limit: PicoUsd,
}

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It may be spent.
    Approved(Excess),
    /// Not more than the settings allow.
    Declined(Excess),
}

/// A call as far as an approval is bound to it: who makes it, of which tool, with which arguments.
pub(super) struct Fingerprint([u8; blake3::OUT_LEN]);

impl Fingerprint {
    /// Of a call of this principal.
    pub(super) fn of(principal: &Principal, request: &CallToolRequestParams) -> Self {
        // In order of their names, because a client may write them anew.
        let arguments: BTreeMap<&String, &Value> = request.arguments.iter().flatten().collect();
        let mut hasher = blake3::Hasher::new();
        // Not by way of a text, which may be as long as all attachments.
        serde_json::to_writer(&mut hasher, &(principal.name(), &request.name, arguments))
            .expect("it is plain data with string keys, and hashing cannot fail");
        Self(*hasher.finalize().as_bytes())
    }
}

/// The questions of one process that wait for their answer.
pub(super) struct Confirmations {
    /// Seals what a client carries. `None` where the system gives no random key; then nobody is asked that way.
    codec: Option<RequestStateCodec>,
    /// Those open, oldest first.
    open: Mutex<VecDeque<Open>>,
}

/// A question that waits for its answer.
struct Open {
    number: u128,
    /// When it cannot be answered any more. By a clock that nobody sets back.
    until: Instant,
}

/// What a client carries from the question to the answer.
#[derive(Serialize, Deserialize)]
struct Carried {
    number: u128,
    excess: Excess,
}

impl Confirmations {
    /// None yet, under a key of this process's own.
    pub(super) fn new() -> Self {
        let codec = random::<{ RequestStateCodec::MIN_KEY_LENGTH }>();
        let codec = codec.and_then(|key| RequestStateCodec::try_new(key).ok());
        Self { codec, open: Mutex::default() }
    }

    /// The question as a result, which the client answers in a call of its own. `None` where it cannot be sealed.
    pub(super) fn ask(&self, call: &Fingerprint, excess: Excess) -> Option<InputRequiredResult> {
        let number = u128::from_le_bytes(random()?);
        let options = SealOptions::new().associated_data(&call.0);
        let carried = Carried { number, excess };
        let state = self.codec.as_ref()?.seal_json_with(&carried, &options).ok()?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == OPEN_MAX {
            open.pop_front();
        }
        open.push_back(Open { number, until: Instant::now() + ANSWER_MAX });
        drop(open);
        let question = InputRequest::Elicitation(ElicitRequest::new(form(excess)));
        Some(InputRequiredResult::new(Some([(QUESTION.to_owned(), question)].into()), Some(state)))
    }

    /// What a call brings of the user's word: `None` where it brings none. Fails where it brings a state that is not one
    /// of ours for this very call, or not any more; which of these it is, is not told.
    pub(super) fn redeem(
        &self,
        call: &Fingerprint,
        request: &CallToolRequestParams,
    ) -> Result<Option<Word>, ErrorData> {
        let Some(state) = &request.request_state else { return Ok(None) };
        let opened = |codec: &RequestStateCodec| codec.open_json_with::<Carried>(state, &call.0).ok();
        let carried = self.codec.as_ref().and_then(opened).ok_or_else(invalid)?;
        let answer = request.input_responses.as_ref().and_then(|answers| answers.get(QUESTION));
        // Without an answer the question stays open, and is asked anew.
        let Some(answer) = answer else { return Ok(None) };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|question| question.until > Instant::now());
        let at = open.iter().position(|question| question.number == carried.number).ok_or_else(invalid)?;
        open.remove(at);
        let answer: Option<ElicitResult> = serde_json::from_value(answer.clone()).ok();
        Ok(Some(word(answer.as_ref(), carried.excess)))
    }
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

/// What an answer says to the question. Only a form that was accepted with its field set is a yes.
pub(super) fn word(answer: Option<&ElicitResult>, excess: Excess) -> Word {
    let accepted = answer.filter(|answer| answer.action == ElicitationAction::Accept);
    let field = accepted.and_then(|answer| answer.content.as_ref()?.get(FIELD));
    if field == Some(&Value::Bool(true)) { Word::Approved(excess) } else { Word::Declined(excess) }
}

fn invalid() -> ErrorData {
    let message = "this `requestState` does not belong to this call, or not any more: call the tool without it to be asked anew";
    ErrorData::invalid_params(message, None)
}

fn random<const BYTES: usize>() -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use parallel_llm_service::Grant;

    const EXCESS: Excess = Excess {
        worst_case: PicoUsd::from_usd(5),
        amount: PicoUsd::from_usd(5),
        limit: PicoUsd::from_usd(3),
    };

    fn call(prompt: &str) -> CallToolRequestParams {
        let arguments = json!({"prompt": prompt, "models": ["a/b"]});
        CallToolRequestParams::new("process_prompt").with_arguments(arguments.as_object().unwrap().clone())
    }

    fn answered(prompt: &str, state: &str, answer: &Value) -> CallToolRequestParams {
        let mut call = call(prompt).with_input_responses([(QUESTION.to_owned(), answer.clone())].into());
        call.request_state = Some(state.to_owned());
        call
    }

    fn holder() -> Principal {
        let grant =
            Grant { name: "h".to_owned(), scopes: Vec::new(), budget_day: None, requests_per_minute: None };
        Principal::TokenHolder(Arc::new(grant))
    }

    #[test]
    fn an_approval_is_for_one_call_once() {
        let desk = Confirmations::new();
        let yes = json!({"action": "accept", "content": {"approve": true}});
        let fingerprint = Fingerprint::of(&Principal::Owner, &call("p"));
        let state = desk.ask(&fingerprint, EXCESS).unwrap().request_state.unwrap();
        let redeem = |principal: &Principal, request: &CallToolRequestParams| {
            desk.redeem(&Fingerprint::of(principal, request), request).map_err(|error| error.code.0)
        };
        assert_eq!(redeem(&Principal::Owner, &call("p")), Ok(None));
        assert_eq!(redeem(&Principal::Owner, &answered("q", &state, &yes)), Err(-32602), "another question");
        assert_eq!(redeem(&holder(), &answered("p", &state, &yes)), Err(-32602), "another principal");
        let mut flipped = state.clone().into_bytes();
        flipped[10] ^= 1;
        let flipped = String::from_utf8(flipped).unwrap();
        assert_eq!(redeem(&Principal::Owner, &answered("p", &flipped, &yes)), Err(-32602), "tampered with");
        let theirs = Confirmations::new().ask(&fingerprint, EXCESS).unwrap().request_state.unwrap();
        assert_eq!(
            redeem(&Principal::Owner, &answered("p", &theirs, &yes)),
            Err(-32602),
            "another process's"
        );
        let first = redeem(&Principal::Owner, &answered("p", &state, &yes));
        assert_eq!(first, Ok(Some(Word::Approved(EXCESS))));
        assert_eq!(redeem(&Principal::Owner, &answered("p", &state, &yes)), Err(-32602), "a second time");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_can_be_answered_for_ten_minutes_and_no_longer() {
        let desk = Confirmations::new();
        let fingerprint = Fingerprint::of(&Principal::Owner, &call("p"));
        let yes = json!({"action": "accept", "content": {"approve": true}});
        let answered_after_ms = async |ms| {
            let state = desk.ask(&fingerprint, EXCESS).unwrap().request_state.unwrap();
            tokio::time::advance(Duration::from_millis(ms)).await;
            let said = desk.redeem(&fingerprint, &answered("p", &state, &yes));
            said.map_err(|error| error.code.0)
        };
        assert_eq!(answered_after_ms(599_990).await, Ok(Some(Word::Approved(EXCESS))));
        assert_eq!(answered_after_ms(600_010).await, Err(-32602));
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        let desk = Confirmations::new();
        for no in [
            json!({"action": "decline"}),
            json!({"action": "cancel"}),
            json!({"action": "accept"}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept", "content": {"approve": false}}),
            json!({"action": "accept", "content": {"approve": "true"}}),
            json!("accept"),
        ] {
            let fingerprint = Fingerprint::of(&Principal::Owner, &call("p"));
            let state = desk.ask(&fingerprint, EXCESS).unwrap().request_state.unwrap();
            let said = desk.redeem(&fingerprint, &answered("p", &state, &no));
            assert_eq!(said.unwrap(), Some(Word::Declined(EXCESS)), "{no}");
        }
    }

    #[test]
    fn the_oldest_open_question_is_forgotten() {
        let desk = Confirmations::new();
        let fingerprint = Fingerprint::of(&Principal::Owner, &call("p"));
        let first = desk.ask(&fingerprint, EXCESS).unwrap().request_state.unwrap();
        for _ in 0..OPEN_MAX {
            desk.ask(&fingerprint, EXCESS).unwrap();
        }
        let no = json!({"action": "decline"});
        assert!(desk.redeem(&fingerprint, &answered("p", &first, &no)).is_err());
    }
}
