//! The endpoints that only read: models, providers, key, credits and generations.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::account::{Account, KeyVerdict};
use crate::catalogue::{Catalogue, Model};
use crate::ledger::Charge;
use crate::money::Usd;
use crate::query;
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
        ["providers"] => providers(account.catalogue),
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
    let (offset, limit) = (number("offset").unwrap_or(0), number("limit"));
    let wanted = parameter(query, "q").unwrap_or_default();
    let fits = |text: &str| text.to_lowercase().contains(&wanted.to_lowercase());
    let name = |model: &Model| fits(model.entry["name"].as_str().unwrap_or_default());
    let matching = catalogue.models.iter().filter(|model| fits(&model.id) || name(model));
    let matching: Vec<&Value> = matching.map(|model| &model.entry).collect();
    let page: Vec<&Value> = matching.iter().copied().skip(offset).take(limit.unwrap_or(usize::MAX)).collect();
    let end = offset.saturating_add(page.len());
    let more = limit.filter(|limit| *limit > 0 && end < matching.len());
    let next =
        more.map(|limit| format!("/api/v1/models?q={}&offset={end}&limit={limit}", query::encoded(&wanted)));
    json!({"data": page, "total_count": matching.len(), "links": {"next": next}})
}

/// The value of a query parameter.
fn parameter(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    Some(query::decoded(value))
}

/// Who serves the models, each once, in the order of the catalogue.
fn providers(catalogue: &Catalogue) -> Reply {
    let mut names: Vec<&str> = Vec::new();
    for model in &catalogue.models {
        if !names.contains(&model.provider()) {
            names.push(model.provider());
        }
    }
    let entries = names.into_iter().map(|name| {
        json!({
            "name": name,
            "slug": provider_slug(name),
            "privacy_policy_url": null,
            "terms_of_service_url": null,
            "status_page_url": null,
        })
    });
    ok(&json!({"data": entries.collect::<Vec<_>>()}))
}

/// A provider's name as its tag and its slug have it.
fn provider_slug(name: &str) -> String {
    name.to_lowercase().replace([' ', '.'], "-")
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
        "tag": provider_slug(model.provider()),
        "quantization": "unknown",
        "max_completion_tokens": model.output_tokens_max,
        "max_prompt_tokens": null,
        "supported_parameters": entry["supported_parameters"],
        "status": 0,
        "uptime_last_5m": 100,
        "uptime_last_30m": 100,
        "uptime_last_1d": 100,
        "latency_last_30m": null,
        "throughput_last_30m": null,
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
    let day = account.pace().day(&account.clock, &account.config);
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
        "free_model_daily_requests": {
            "limit": day.limit,
            "remaining": day.limit.saturating_sub(day.used),
            "used": day.used,
        },
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
    let charge = account.ledger().find(&id).filter(|charge| charge.ended_us + delay_us <= now_us).cloned();
    match charge {
        Some(charge) => ok(&generation_record(&charge, &Times::of(account, &charge))),
        None => Refusal::generation_not_found(&id).reply(),
    }
}

/// When a generation was, and how long it took until its head left and from there to its end.
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
        "created_at": rfc3339(times.created_unix_s),
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

/// `2026-10-04T11:22:33Z`, from the date that HTTP writes: `Sun, 04 Oct 2026 11:22:33 GMT`.
fn rfc3339(unix_s: u64) -> String {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let written = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_s));
    let month = MONTHS.find(&written[8..11]).map_or(0, |at| at / 3 + 1);
    format!("{}-{month:02}-{}T{}Z", &written[12..16], &written[5..7], &written[17..25])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_the_other_way_round() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(1_790_981_403), "2026-10-02T22:50:03Z");
        assert_eq!(rfc3339(1_798_761_599), "2026-12-31T23:59:59Z");
    }
}
