//! Reads one request, notes it, and chooses who answers it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::{Method, Request, Response, StatusCode, Uri};

use crate::account::{Account, KeyVerdict};
use crate::chat::{self, Call};
use crate::control;
use crate::draft::Dialect;
use crate::exchange::Exchange;
use crate::gzip;
use crate::listing::{self, Lookup};
use crate::player::{PlayedBody, play};
use crate::record::{Entry, without_secrets};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::socket::Wire;

/// Selects a fault for one request, whatever the script says.
const SCENARIO_HEADER: &str = "x-sim-scenario";

/// Headers that some dialects use for the key.
const KEY_HEADERS: [&str; 2] = ["api-key", "x-api-key"];

/// Answers one request. An error closes the connection.
pub(crate) async fn answer(
    account: Arc<Account>,
    wire: Arc<Wire>,
    request: Request<Incoming>,
) -> io::Result<Response<PlayedBody>> {
    let (head, body) = request.into_parts();
    let (method, uri) = (head.method, head.uri);
    if let Some(name) = uri.path().strip_prefix(control::PREFIX) {
        let body = read(body, account.config.body_bytes_max).await?.unwrap_or_default();
        let reply = control::reply(&account, &method, name, &body);
        return play(reply, Exchange::unlogged(&account), wire).await;
    }
    let caller = Caller::read(&head.headers);
    let verdict = account.judge(caller.authorization.as_deref());
    let entry = entry(&account, &method, &uri, without_secrets(head.headers, verdict.word()));
    let mut exchange = Exchange::open(&account, entry);
    let body = read(body, account.config.body_bytes_max).await?;
    exchange.body(body.clone().unwrap_or_default());
    let accepts_gzip = account.config.gzip && caller.accepts_gzip;
    let reply = dispatch(&mut exchange, &method, &uri, caller, body);
    let reply = if accepts_gzip { gzip::compress(reply) } else { reply };
    play(reply, exchange, wire).await
}

/// Notes who came here by following a redirect, and answers politely.
pub(crate) async fn trap(
    account: Arc<Account>,
    wire: Arc<Wire>,
    request: Request<Incoming>,
) -> io::Result<Response<PlayedBody>> {
    let (head, body) = request.into_parts();
    let verdict = account.judge(Caller::read(&head.headers).authorization.as_deref());
    let entry = entry(&account, &head.method, &head.uri, without_secrets(head.headers, verdict.word()));
    let sequence = account.trap_log().open(entry);
    let body = read(body, account.config.body_bytes_max).await?;
    account.trap_log().keep_body(sequence, body.unwrap_or_default());
    play(Reply::json(StatusCode::OK, b"{}".to_vec()), Exchange::unlogged(&account), wire).await
}

/// What the headers say about who asks for what.
struct Caller {
    authorization: Option<String>,
    scenario: Option<String>,
    accepts_gzip: bool,
}

impl Caller {
    fn read(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let bare_key = || KEY_HEADERS.into_iter().find_map(text);
        Self {
            authorization: text(AUTHORIZATION.as_str()).or_else(bare_key),
            scenario: text(SCENARIO_HEADER),
            accepts_gzip: text("accept-encoding").is_some_and(|encodings| encodings.contains("gzip")),
        }
    }
}

fn dispatch(
    exchange: &mut Exchange,
    method: &Method,
    uri: &Uri,
    caller: Caller,
    body: Option<Bytes>,
) -> Reply {
    let dialect = match uri.path() {
        "/api/v1/chat/completions" => Some(Dialect::OpenRouter),
        "/v1/chat/completions" => Some(Dialect::OpenAi),
        _ => None,
    };
    if let (&Method::POST, Some(dialect)) = (method, dialect) {
        let Caller { authorization, scenario, .. } = caller;
        return chat::reply(exchange, &Call { dialect, authorization, scenario, body });
    }
    match uri.path().strip_prefix("/api/v1/") {
        Some(path) if method == Method::GET => {
            let query = uri.query().unwrap_or_default();
            let authorization = caller.authorization.as_deref();
            listing::reply(&exchange.account, &Lookup { path, query, authorization })
        }
        _ => Refusal::not_found().reply(),
    }
}

/// The whole body; `None` if it is too long. Fails when the client hangs up.
async fn read(body: Incoming, bytes_max: usize) -> io::Result<Option<Bytes>> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Ok(None);
    }
    match Limited::new(body, bytes_max).collect().await {
        Ok(whole) => Ok(Some(whole.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}

fn entry(account: &Account, method: &Method, uri: &Uri, headers: HeaderMap) -> Entry {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let hide = |path: String, key: &String| path.replace(key.as_str(), KeyVerdict::Good.word());
    Entry {
        method: method.to_string(),
        path: account.config.api_keys.iter().fold(path.to_owned(), hide),
        headers,
        body: Bytes::new(),
        model: None,
        arrived_us: account.clock.micros(),
        first_byte_us: None,
        last_byte_us: None,
        client_cancelled: false,
        status: None,
        generation_id: None,
        provider: None,
    }
}
