//! What OpenRouter does to a finished reply when the headers of a request ask for it: it may come from the cache, and
//! tell how it was routed; and what an account may keep from its clients: its user id.
//!
//! It works on replies, whatever made them. Every JSON object in a reply was written by this crate, compact and with
//! all quotes in strings escaped, so a field is found by its name in quotes and the last brace ends the last object.

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;

use crate::account::Account;
use crate::cache::{CacheKey, CacheOrder, Kept, cache_key};
use crate::exchange::Exchange;
use crate::json::Object;
use crate::ledger::Bill;
use crate::refusal::USER_ID;
use crate::reply::{Head, Reply, Step};

/// The endpoints where all this happens.
const PREFIX: &str = "/api/v1/";

/// The one whose replies are kept.
const CHAT: &str = "/api/v1/chat/completions";

/// Headers that ask for metadata: the present one and the old one.
const METADATA_HEADERS: [&str; 2] = ["x-openrouter-metadata", "x-openrouter-experimental-metadata"];

/// Headers that every reply has of its own, even one from the cache.
const OWN_HEADERS: [&str; 2] = ["x-generation-id", "cf-ray"];

/// How the routers choose, by the beginning of their slug.
const STRATEGIES: [(&str, &str); 5] = [
    ("openrouter/auto", "auto"),
    ("openrouter/free", "free"),
    ("openrouter/pareto", "pareto"),
    ("openrouter/fusion", "fusion"),
    ("openrouter/bodybuilder", "bodybuilder"),
];

/// What the headers of one request ask for.
#[derive(Debug)]
pub(crate) struct Wishes {
    is_openrouter: bool,
    metadata: bool,
    /// What is wanted of the cache, and whose it is: the hash of a key.
    cache: Option<(CacheOrder, blake3::Hash)>,
}

impl Wishes {
    pub(crate) fn read(path: &str, headers: &HeaderMap) -> Self {
        let enabled = |name: &&str| headers.get(*name).is_some_and(|value| value == "enabled");
        let caller = || blake3::hash(headers.get(AUTHORIZATION).map_or(b"", HeaderValue::as_bytes));
        let order = CacheOrder::read(headers).filter(|_| path == CHAT);
        Self {
            is_openrouter: path.starts_with(PREFIX),
            metadata: path == CHAT && METADATA_HEADERS.iter().any(enabled),
            cache: order.map(|order| (order, caller())),
        }
    }

    /// The reply as it leaves; `body` is the request's.
    pub(crate) fn grant(&self, exchange: &Exchange, body: &[u8], reply: Reply) -> Reply {
        if !self.is_openrouter {
            return reply;
        }
        let account = &exchange.account;
        let routed = self.metadata.then(|| metadata(account, body, reply.bill.as_deref()));
        let mut reply = match self.cache {
            Some((order, caller)) if !is_refusal(&reply) => {
                through_cache(account, order, cache_key(&caller, body), reply)
            }
            _ => reply,
        };
        if let Some(routed) = routed {
            add_last(&mut reply, "openrouter_metadata", routed);
        }
        if !account.config.send_user_id {
            drop_user(&mut reply);
        }
        reply
    }
}

/// An error of the request or the account: the cache stands behind those checks.
fn is_refusal(reply: &Reply) -> bool {
    let Head::Status(status, _) = &reply.head else { return true };
    status.is_client_error() && *status != StatusCode::TOO_MANY_REQUESTS
}

/// The kept reply in place of this one, or this one, kept for the next.
fn through_cache(account: &Account, order: CacheOrder, key: CacheKey, reply: Reply) -> Reply {
    let Some(generation_id) = own_header(&reply, "x-generation-id") else { return reply };
    let now_us = account.clock.micros();
    let mut cache = account.cache();
    if order.clear {
        cache.forget(&key);
    }
    if let Some(kept) = cache.find(&key, now_us) {
        let age_s = kept.age_s(now_us).to_string();
        let reply = reply_again(kept, &reply, &generation_id);
        return reply
            .header("x-openrouter-cache-status", "HIT")
            .header("x-openrouter-cache-age", &age_s)
            .header("x-openrouter-cache-ttl", &kept.ttl_s.to_string())
            .header("x-openrouter-cache-source-id", &kept.generation_id);
    }
    let keepable = reply.bill.as_ref().is_some_and(|bill| !bill.breaks);
    if let (Head::Status(_, headers), true) = (&reply.head, keepable) {
        let (headers, steps) = (headers.clone(), reply.steps.clone());
        cache.keep(key, Kept { generation_id, headers, steps, since_us: now_us, ttl_s: order.ttl_s });
    }
    let reply = reply.header("x-openrouter-cache-status", "MISS");
    reply.header("x-openrouter-cache-ttl", &order.ttl_s.to_string())
}

/// What was said before, at once, with the id of this request and without cost.
fn reply_again(kept: &Kept, fresh: &Reply, generation_id: &str) -> Reply {
    let sent = kept.steps.iter().filter_map(|step| match step {
        Step::Send { bytes, tokens } => {
            let bytes = replaced(bytes, kept.generation_id.as_bytes(), generation_id.as_bytes());
            Some(Step::Send { bytes: without_usage(&bytes), tokens: *tokens })
        }
        _ => None,
    });
    let own = OWN_HEADERS.map(|name| (name, own_header(fresh, name).unwrap_or_default()));
    let head = Head::Status(StatusCode::OK, kept.headers.clone());
    let reply = Reply {
        head,
        wait: std::time::Duration::ZERO,
        steps: sent.collect(),
        write_split: fresh.write_split,
        bill: None,
    };
    own.into_iter().fold(reply, |reply, (name, value)| reply.header(name, &value))
}

fn own_header(reply: &Reply, name: &str) -> Option<String> {
    let Head::Status(_, headers) = &reply.head else { return None };
    let value = headers.iter().find(|(present, _)| present == name).map(|(_, value)| value);
    value.and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = position(rest, old) {
        whole.extend_from_slice(&rest[..at]);
        whole.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    whole.extend_from_slice(rest);
    whole
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Every number inside a `usage` object becomes 0.
fn without_usage(bytes: &[u8]) -> Vec<u8> {
    const USAGE: &[u8] = br#""usage":{"#;
    let mut whole = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = position(rest, USAGE) {
        let (before, usage) = rest.split_at(at + USAGE.len());
        whole.extend_from_slice(before);
        rest = zeroed(usage, &mut whole);
    }
    whole.extend_from_slice(rest);
    whole
}

/// Copies an object whose brace is open, with 0 for its numbers, and returns what follows. Its strings are keys, and
/// hold no digits.
fn zeroed<'a>(object: &'a [u8], whole: &mut Vec<u8>) -> &'a [u8] {
    let is_number = |byte: u8| byte.is_ascii_digit() || b"-+.eE".contains(&byte);
    let mut depth = 1_usize;
    let mut at = 0;
    while at < object.len() && depth > 0 {
        let byte = object[at];
        if byte.is_ascii_digit() || byte == b'-' {
            whole.push(b'0');
            at += object[at..].iter().take_while(|byte| is_number(**byte)).count();
            continue;
        }
        depth = if byte == b'{' { depth + 1 } else { depth - usize::from(byte == b'}') };
        whole.push(byte);
        at += 1;
    }
    &object[at..]
}

/// The part of a chat request that routing looks at.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    model: Option<String>,
    #[serde(default)]
    models: Vec<String>,
}

/// How the request was routed; without a bill there is nobody who answered.
fn metadata(account: &Account, body: &[u8], bill: Option<&Bill>) -> Object {
    let asked: Asked = serde_json::from_slice(body).unwrap_or_default();
    let slugs: Vec<&str> = asked.model.iter().chain(&asked.models).map(String::as_str).collect();
    let catalogue = account.catalogue;
    let served = |slug: &str| catalogue.find(slug).map(|model| catalogue.served(model));
    let answers =
        |slug: &str| served(slug).is_some_and(|model| bill.is_none_or(|bill| bill.model == model.id));
    let place = slugs.iter().position(|slug| answers(slug));
    let first = slugs.first().copied().unwrap_or_default();
    let requested = place.map_or(first, |place| slugs[place]);
    let endpoint = served(requested).map(|model| {
        Object::new()
            .with("provider", bill.map_or(model.provider(), |bill| &bill.provider))
            .with("model", &model.id)
            .with("selected", &bill.is_some())
    });
    let total = u32::from(endpoint.is_some());
    Object::new()
        .with("requested", first)
        .with("strategy", strategy(requested, place))
        .with("region", &None::<&str>)
        .with("summary", &format!("available={total}, selected={}", u32::from(bill.is_some()).min(total)))
        .with("attempt", &(place.unwrap_or(0) + 1))
        .with("is_byok", &false)
        .nest("endpoints", Object::new().with("total", &total).list("available", endpoint))
}

fn strategy(slug: &str, place: Option<usize>) -> &'static str {
    let router = || STRATEGIES.iter().find(|(beginning, _)| slug.starts_with(beginning));
    match place {
        Some(place) if place > 0 => "fallback",
        _ if slug.starts_with('~') && slug.ends_with("-latest") => "latest",
        _ if slug.starts_with('~') => "alias",
        _ => router().map_or("direct", |(_, strategy)| strategy),
    }
}

/// Adds a field to the last object of a reply that has one and ends by itself.
fn add_last(reply: &mut Reply, key: &str, value: Object) {
    let breaks = reply.bill.as_ref().is_some_and(|bill| bill.breaks);
    let Head::Status(_, headers) = &reply.head else { return };
    let is_json = |value: &HeaderValue| value == "application/json" || value == "text/event-stream";
    if breaks || !headers.iter().any(|(name, value)| *name == CONTENT_TYPE && is_json(value)) {
        return;
    }
    let Some(Step::Send { bytes, .. }) = reply.steps.last_mut() else { return };
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'}') else { return };
    let field = Object::new().nest(key, value).bytes();
    let comma = if bytes[..end].ends_with(b"{") { &b""[..] } else { b"," };
    let inner = field[1..field.len() - 1].iter();
    bytes.splice(end..end, comma.iter().chain(inner).copied());
}

/// Leaves out the account's id wherever a body names it.
fn drop_user(reply: &mut Reply) {
    let field = format!(r#","user_id":"{USER_ID}""#);
    for step in &mut reply.steps {
        if let Step::Send { bytes, .. } = step {
            *bytes = replaced(bytes, field.as_bytes(), b"");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_usage_object_become_zero_and_no_others() {
        let cases = [
            (
                r#"{"n":1,"usage":{"a":12,"b":{"c":-1.5e-7,"d":false}},"m":2}"#,
                r#"{"n":1,"usage":{"a":0,"b":{"c":0,"d":false}},"m":2}"#,
            ),
            (r#"{"usage":{"a":1}}{"usage":{"a":2}} 7"#, r#"{"usage":{"a":0}}{"usage":{"a":0}} 7"#),
            (r#"{"text":"\"usage\":{5}","n":1}"#, r#"{"text":"\"usage\":{5}","n":1}"#),
            (r#"{"usage":null,"n":1}"#, r#"{"usage":null,"n":1}"#),
        ];
        for (before, after) in cases {
            assert_eq!(String::from_utf8(without_usage(before.as_bytes())).unwrap(), after);
        }
    }

    #[test]
    fn a_field_goes_into_the_last_object() {
        let cases = [
            ("{}", r#"{"x":{"n":1}}"#),
            (r#"{"a":{"b":2}}"#, r#"{"a":{"b":2},"x":{"n":1}}"#),
            (
                "data: {}\n\ndata: {\"a\":1}\r\rdata: [DONE]\n\n",
                "data: {}\n\ndata: {\"a\":1,\"x\":{\"n\":1}}\r\rdata: [DONE]\n\n",
            ),
            ("[]", "[]"),
        ];
        for (before, after) in cases {
            let mut reply = Reply::json(StatusCode::OK, before.into());
            add_last(&mut reply, "x", Object::new().with("n", &1));
            let [Step::Send { bytes, .. }] = reply.steps.as_slice() else { panic!("one step") };
            assert_eq!(str::from_utf8(bytes).unwrap(), after);
        }
    }
}
