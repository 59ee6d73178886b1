//! The endpoints that only read: models, key, credits and generations.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::account::{Account, KeyVerdict};
use crate::catalogue::{Catalogue, Model};
use crate::ledger::Charge;
use crate::money::Usd;
use crate::refusal::Refusal;
use crate::reply::Reply;

/// How long a client may keep the list of models.
const MODELS_CACHE: &str = "max-age=120";

/// A request to read something.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    /// Below `/api/v1`.
    pub(crate) path: &'a str,
    /// What follows `?`, or nothing.
    pub(crate) query: &'a str,
    pub(crate) authorization: Option<&'a str>,
}

/// The reply to a `GET` below `/api/v1`.
pub(crate) fn reply(account: &Arc<Account>, lookup: &Lookup<'_>) -> Reply {
    let parts: Vec<&str> = lookup.path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["models"] => models(account.catalogue, lookup.query),
        ["models", "count"] => ok(&json!({"data": {"count": account.catalogue.models.len()}})),
        ["models", "user"] => with_key(account, lookup, |account| models(account.catalogue, lookup.query)),
        ["model", lab, name] => model(account.catalogue, lab, name, |model| model.entry.clone()),
        ["models", lab, name, "endpoints"] => model(account.catalogue, lab, name, endpoints),
        ["key"] => with_key(account, lookup, key),
        ["credits"] => with_key(account, lookup, credits),
        ["generation"] => with_key(account, lookup, |account| generation(account, lookup.query)),
        _ => Refusal::not_found().reply(),
    }
}

fn with_key(account: &Arc<Account>, lookup: &Lookup<'_>, reply: impl FnOnce(&Account) -> Reply) -> Reply {
    match account.judge(lookup.authorization) {
        KeyVerdict::Good => reply(account),
        KeyVerdict::Bad => Refusal::key_unknown().reply(),
        KeyVerdict::Missing => Refusal::key_missing().reply(),
    }
}

fn ok(body: &Value) -> Reply {
    Reply::json(StatusCode::OK, body.to_string().into())
}

/// The list, whole or the part the query asks for.
fn models(catalogue: &Catalogue, query: &str) -> Reply {
    let reply = if query.is_empty() {
        Reply::json(StatusCode::OK, catalogue.body.to_vec())
    } else {
        ok(&some_models(catalogue, query))
    };
    reply.header("cache-control", MODELS_CACHE)
}

fn some_models(catalogue: &Catalogue, query: &str) -> Value {
    let number = |name| parameter(query, name).and_then(|value| value.parse::<usize>().ok());
    let wanted = parameter(query, "q").map(str::to_lowercase).unwrap_or_default();
    let name = |model: &&Model| model.entry["name"].as_str().unwrap_or_default().to_lowercase();
    let matching =
        catalogue.models.iter().filter(|model| model.id.contains(&wanted) || name(model).contains(&wanted));
    let matching: Vec<&Value> = matching.map(|model| &model.entry).collect();
    let total_count = matching.len();
    let page = matching.into_iter().skip(number("offset").unwrap_or(0));
    let page: Vec<&Value> = page.take(number("limit").unwrap_or(usize::MAX)).collect();
    json!({"data": page, "total_count": total_count, "links": {"next": null}})
}

/// One query parameter, as written.
fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn model(catalogue: &Catalogue, lab: &str, name: &str, view: impl FnOnce(&Model) -> Value) -> Reply {
    match catalogue.find(&format!("{lab}/{name}")) {
        Some(model) => ok(&json!({"data": view(model)})),
        None => Refusal::model_not_found().reply(),
    }
}

fn endpoints(model: &Model) -> Value {
    let entry = &model.entry;
    let endpoint = json!({
        "name": format!("{} | {}", model.provider(), model.id),
        "model_id": model.id,
        "model_name": entry["name"],
        "context_length": model.context_tokens,
        "pricing": entry["pricing"],
        "provider_name": model.provider(),
        "tag": model.provider().to_lowercase(),
        "quantization": "unknown",
        "max_completion_tokens": model.output_tokens_max,
        "max_prompt_tokens": null,
        "supported_parameters": entry["supported_parameters"],
        "status": 0,
        "uptime_last_30m": 100,
        "supports_implicit_caching": false,
    });
    json!({
        "id": model.id,
        "name": entry["name"],
        "created": entry["created"],
        "description": entry["description"],
        "architecture": entry["architecture"],
        "endpoints": [endpoint],
    })
}

fn key(account: &Account) -> Reply {
    let usage_pico = account.ledger().charged_pico();
    let limit_pico = account.config.key_limit_pico_usd;
    let usage = Usd { pico: usage_pico };
    ok(&json!({"data": {
        "label": "sk-or-v1-sim...key",
        "limit": limit_pico.map(|pico| Usd { pico }),
        "limit_remaining": limit_pico.map(|limit| Usd { pico: (limit - usage_pico).max(0) }),
        "limit_reset": null,
        "include_byok_in_limit": false,
        "usage": usage,
        "usage_daily": usage,
        "usage_weekly": usage,
        "usage_monthly": usage,
        "byok_usage": 0,
        "is_free_tier": false,
        "is_management_key": false,
        "is_provisioning_key": false,
        "expires_at": null,
        "free_model_daily_requests": {"limit": 1000, "remaining": 1000, "used": 0},
        "rate_limit": {
            "requests": -1,
            "interval": "10s",
            "note": "This field is deprecated and safe to ignore.",
        },
    }}))
}

fn credits(account: &Account) -> Reply {
    let total_credits = Usd { pico: account.config.balance_pico_usd };
    let total_usage = Usd { pico: account.ledger().charged_pico() };
    ok(&json!({"data": {"total_credits": total_credits, "total_usage": total_usage}}))
}

/// What a generation cost, once `generation_delay_ms` have passed since its end.
fn generation(account: &Account, query: &str) -> Reply {
    let id = parameter(query, "id").unwrap_or_default();
    let now_us = account.clock.micros();
    let delay_us = account.config.generation_delay_ms * 1000;
    let ledger = account.ledger();
    match ledger.find(id).filter(|charge| charge.ended_us + delay_us <= now_us) {
        Some(charge) => ok(&generation_record(charge)),
        None => Refusal::generation_not_found(id).reply(),
    }
}

fn generation_record(charge: &Charge) -> Value {
    let total_cost = Usd { pico: charge.cost_pico_usd };
    json!({"data": {
        "id": charge.generation_id,
        "model": charge.model,
        "provider_name": charge.provider,
        "streamed": charge.streamed,
        "cancelled": charge.cancelled,
        "tokens_prompt": charge.prompt_tokens,
        "tokens_completion": charge.completion_tokens,
        "native_tokens_prompt": charge.prompt_tokens,
        "native_tokens_completion": charge.completion_tokens,
        "total_cost": total_cost,
        "usage": total_cost,
        "is_byok": false,
    }})
}
