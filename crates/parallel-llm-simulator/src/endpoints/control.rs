//! The control routes below `/__sim`: read the recorded requests, set scripts.
//!
//! They need no key and are not logged. The crate's documentation lists them; their bodies are public types, so that a
//! test in another process can use them.

use hyper::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use crate::behaviour::script::Script;
use crate::behaviour::script_table::EVERY_MODEL;
use crate::dialect::{ErrorKind, openrouter_error};
use crate::replies::reply::Reply;
use crate::state::account::Account;

/// The path prefix of the control routes.
pub(crate) const PREFIX: &str = "/__sim/";

/// Sets the script of a model: `{"model":"openai/gpt-6.1-sol","script":{"fault":"stall","fail_first":1}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRequest {
    /// A slug, or `*` for every model without a script of its own.
    pub model: String,
    /// The script to set.
    pub script: Script,
}

/// The reply to a request below `/__sim`; `name` is the rest of its path.
pub(crate) fn reply(account: &Account, method: &Method, name: &str, body: &[u8]) -> Reply {
    match (method, name) {
        (&Method::GET, "requests") => json(&account.log().view()),
        (&Method::GET, "stats") => json(&account.log().stats),
        (&Method::POST, "script") => script(account, body),
        _ => openrouter_error(ErrorKind::NotFound, ""),
    }
}

fn script(account: &Account, body: &[u8]) -> Reply {
    let order = match serde_json::from_slice::<ScriptRequest>(body) {
        Ok(order) => order,
        Err(error) => return openrouter_error(ErrorKind::ControlRequest, &error.to_string()),
    };
    if order.model != EVERY_MODEL && account.catalogue.find(&order.model).is_none() {
        return openrouter_error(
            ErrorKind::ControlRequest,
            &format!("{} is not a valid model ID", order.model),
        );
    }
    account.scripts().set(&order.model, order.script);
    json(&serde_json::Map::new())
}

fn json(value: &impl Serialize) -> Reply {
    let body = serde_json::to_vec(value).expect("plain values always serialize into memory");
    Reply::json(StatusCode::OK, body)
}
