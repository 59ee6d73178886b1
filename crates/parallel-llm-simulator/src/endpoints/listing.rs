//! OpenRouter's read-only endpoints: models, key, credits and generations.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::dialect::{ErrorKind, openrouter_error};
use crate::replies::reply::Reply;
use crate::state::account::{Account, KeyVerdict};
use crate::state::catalogue::Catalogue;
use crate::state::clock::iso_time;
use crate::state::ledger::Charge;
use crate::state::money::{PICO_PER_USD, Usd};

/// How long clients may cache the model list.
const MODELS_CACHE: &str = "max-age=120";

/// The account's credits. Spending more is not refused; faults simulate that.
const CREDITS_PICO_USD: i64 = 1000 * PICO_PER_USD;

/// A request to a read-only endpoint.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    /// The path below `/api/v1`.
    pub(crate) path: &'a str,
    /// The query, or an empty text.
    pub(crate) query: &'a str,
    pub(crate) authorization: Option<&'a str>,
}

/// The reply to a `GET` below `/api/v1`.
pub(crate) fn reply(account: &Arc<Account>, lookup: &Lookup<'_>) -> Reply {
    let parts: Vec<&str> = lookup.path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["models"] => models(account.catalogue),
        ["key"] => with_key(account, lookup, key),
        ["credits"] => with_key(account, lookup, credits),
        ["generation"] => with_key(account, lookup, |account| generation(account, lookup.query)),
        _ => openrouter_error(ErrorKind::NotFound, ""),
    }
}

fn with_key(account: &Arc<Account>, lookup: &Lookup<'_>, reply: impl FnOnce(&Account) -> Reply) -> Reply {
    match account.judge(lookup.authorization) {
        KeyVerdict::Good => reply(account),
        KeyVerdict::Bad => openrouter_error(ErrorKind::KeyBad, ""),
        KeyVerdict::Missing => openrouter_error(ErrorKind::KeyMissing, ""),
    }
}

fn ok(body: &Value) -> Reply {
    Reply::json(StatusCode::OK, body.to_string().into())
}

fn models(catalogue: &Catalogue) -> Reply {
    Reply::json(StatusCode::OK, catalogue.body.to_vec()).header("cache-control", MODELS_CACHE)
}

fn key(account: &Account) -> Reply {
    let usage = Usd { pico: account.ledger().charged_pico() };
    ok(&json!({"data": {
        "label": "sk-or-v1-sim...key",
        "limit": null,
        "limit_remaining": null,
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
        "free_model_daily_requests": {"limit": 50, "remaining": 50, "used": 0},
        "rate_limit": {
            "requests": -1,
            "interval": "10s",
            "note": "This field is deprecated and safe to ignore.",
        },
    }}))
}

fn credits(account: &Account) -> Reply {
    let total_credits = Usd { pico: CREDITS_PICO_USD };
    let total_usage = Usd { pico: account.ledger().charged_pico() };
    ok(&json!({"data": {"total_credits": total_credits, "total_usage": total_usage}}))
}

/// The record of a generation, available `generation_delay_ms` after its end.
fn generation(account: &Account, query: &str) -> Reply {
    let id = query.split('&').find_map(|pair| pair.strip_prefix("id=")).unwrap_or_default();
    let now_us = account.clock.micros();
    let delay_us = account.config.generation_delay_ms * 1000;
    let charge = account.ledger().find(id).filter(|charge| charge.ended_us + delay_us <= now_us).cloned();
    match charge {
        Some(charge) => ok(&generation_record(&charge, &Times::of(account, &charge))),
        None => openrouter_error(ErrorKind::NoGeneration, id),
    }
}

/// When a generation began, the time until its head left, and the time from there to its end.
struct Times {
    created_unix_s: u64,
    latency_ms: Option<u64>,
    generation_ms: Option<u64>,
}

impl Times {
    fn of(account: &Account, charge: &Charge) -> Self {
        let log = account.log();
        let entry = log.find(&charge.generation_id);
        let arrived_us = entry.map_or(charge.ended_us, |entry| entry.arrived_us);
        let first_us = entry.and_then(|entry| entry.first_byte_us);
        let since_s = account.clock.micros().saturating_sub(arrived_us) / 1_000_000;
        Self {
            created_unix_s: account.clock.unix_seconds().saturating_sub(since_s),
            latency_ms: first_us.map(|first| first.saturating_sub(arrived_us) / 1000),
            generation_ms: first_us.map(|first| charge.ended_us.saturating_sub(first) / 1000),
        }
    }
}

fn generation_record(charge: &Charge, times: &Times) -> Value {
    let total_cost = Usd { pico: charge.cost_pico_usd };
    let provider_response =
        json!({"provider_name": charge.provider, "status": 200, "latency": times.latency_ms});
    json!({"data": {
        "id": charge.generation_id,
        "created_at": iso_time(times.created_unix_s),
        "model": charge.model,
        "app_id": null,
        "streamed": charge.streamed,
        "cancelled": charge.cancelled,
        "latency": times.latency_ms,
        "generation_time": times.generation_ms,
        "tokens_prompt": charge.prompt_tokens,
        "tokens_completion": charge.completion_tokens,
        "native_tokens_prompt": charge.prompt_tokens,
        "native_tokens_completion": charge.completion_tokens,
        "native_tokens_cached": 0,
        "total_cost": total_cost,
        "usage": total_cost,
        "is_byok": false,
        "finish_reason": charge.finish_reason,
        "native_finish_reason": charge.native_finish_reason,
        "provider_name": charge.provider,
        "provider_responses": [provider_response],
        "router": null,
        "request_id": null,
        "upstream_id": null,
        "api_type": "completions",
        "data_region": "global",
    }})
}
