//! The test control below `/__sim`: read what was asked, change what will be answered.
//!
//! It needs no key and is not in the log. Its routes stand in the crate's documentation; their shapes are public types
//! of this crate, so that a test in another process can read them.

use hyper::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::dialect::{ErrorKind, openrouter_error};
use crate::reply::Reply;
use crate::script::Script;
use crate::script_table::EVERY_MODEL;

/// Where the control lives.
pub(crate) const PREFIX: &str = "/__sim/";

/// Puts a script on for a model: `{"model":"openai/gpt-6.1-sol","script":{"fault":"stall","fail_first":1}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRequest {
    /// A slug, or `*` for every model without a script of its own.
    pub model: String,
    /// What it is to do.
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
