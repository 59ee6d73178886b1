//! Reads a request, records it, and passes it to the endpoint that answers it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use super::player::{PlayedBody, play};
use super::socket::Wire;
use crate::dialect::{self, ApiError, ErrorKind, Route};
use crate::endpoints::chat::{self, Call};
use crate::endpoints::control;
use crate::endpoints::listing::{self, Lookup};
use crate::endpoints::model_list;
use crate::replies::exchange::Exchange;
use crate::replies::reply::Reply;
use crate::state::account::{Account, KeyVerdict};
use crate::state::record::{RecordedRequest, without_secrets};

/// The header that selects a fault for one request, whatever the script.
const SCENARIO_HEADER: &str = "x-sim-scenario";

/// Answers one request. An error closes the connection.
pub(crate) async fn answer(
    account: Arc<Account>,
    wire: Arc<Wire>,
    request: Request<Incoming>,
) -> io::Result<Response<PlayedBody>> {
    let (head, body) = request.into_parts();
    let (method, uri, version) = (head.method, head.uri, head.version);
    if let Some(name) = uri.path().strip_prefix(control::PREFIX) {
        let body = read(body, account.config.body_bytes_max).await?.unwrap_or_default();
        let reply = control::reply(&account, &method, name, &body);
        return play(reply, Exchange::unlogged(&account), wire).await;
    }
    let caller = Caller::read(&head.headers);
    let mut exchange = Exchange::open(&account, recorded(&account, version, &method, &uri, &head.headers));
    let body = read(body, account.config.body_bytes_max).await?;
    exchange.body(body.clone().unwrap_or_default());
    let reply = dispatch(&mut exchange, &method, &uri, caller, body);
    play(reply, exchange, wire).await
}

/// Records a client that followed a redirect, and replies `{}`.
pub(crate) async fn redirect_target(
    account: Arc<Account>,
    wire: Arc<Wire>,
    request: Request<Incoming>,
) -> io::Result<Response<PlayedBody>> {
    let (head, body) = request.into_parts();
    let request = recorded(&account, head.version, &head.method, &head.uri, &head.headers);
    let sequence = account.redirect_log().open(request);
    let body = read(body, account.config.body_bytes_max).await?;
    account.redirect_log().keep_body(sequence, body.unwrap_or_default());
    play(Reply::json(StatusCode::OK, b"{}".to_vec()), Exchange::unlogged(&account), wire).await
}

/// The headers of a request, and the scenario they select.
struct Caller {
    headers: HeaderMap,
    scenario: Option<String>,
}

impl Caller {
    fn read(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self { scenario: text(SCENARIO_HEADER), headers: headers.clone() }
    }
}

fn dispatch(
    exchange: &mut Exchange,
    method: &Method,
    uri: &Uri,
    caller: Caller,
    body: Option<Bytes>,
) -> Reply {
    let query = uri.query().unwrap_or_default();
    match (method, dialect::route(uri.path())) {
        (&Method::POST, Some(Route::Chat(dialect, rest))) => {
            let Caller { headers, scenario, .. } = caller;
            let (rest, query) = (rest.to_owned(), query.to_owned());
            return chat::reply(exchange, &Call { dialect, rest, query, headers, scenario, body });
        }
        (&Method::GET, Some(Route::Models(dialect))) => {
            let admitted = dialect::check_key(dialect, &exchange.account, &caller.headers, query);
            return match admitted {
                Ok(()) => model_list::list(exchange.account.catalogue, dialect),
                Err(kind) => {
                    let mut error = ApiError::new(kind);
                    dialect::sent_key(dialect, &caller.headers).clone_into(&mut error.details.key);
                    dialect::error_reply(dialect, &error)
                }
            };
        }
        (_, Some(Route::Chat(dialect, _) | Route::Models(dialect) | Route::Unknown(dialect)))
            if !dialect.is_openrouter() =>
        {
            return dialect::error_reply(dialect, &ApiError::new(ErrorKind::NotFound));
        }
        _ => {}
    }
    match uri.path().strip_prefix("/api/v1/") {
        Some(path) if method == Method::GET => {
            let authorization = caller.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
            listing::reply(&exchange.account, &Lookup { path, query, authorization })
        }
        _ => dialect::openrouter_error(ErrorKind::NotFound, ""),
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

fn recorded(
    account: &Account,
    version: Version,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> RecordedRequest {
    let arrived_us = account.clock.micros();
    let request = RecordedRequest::arrived(method, without_key(account, uri), version, arrived_us);
    RecordedRequest {
        headers: without_secrets(headers, |value| account.judge(Some(value)).word()),
        ..request
    }
}

/// The path and query, with every key replaced by its verdict.
fn without_key(account: &Account, uri: &Uri) -> String {
    let hide = |path: String, key: &String| path.replace(key.as_str(), KeyVerdict::Good.word());
    let hidden = |text: &str| account.config.api_keys.iter().fold(text.to_owned(), hide);
    let Some(query) = uri.query() else { return hidden(uri.path()) };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if dialect::KEY_PARAMETERS.contains(&name) => {
            format!("{name}={}", account.judge(Some(value)).word())
        }
        _ => hidden(pair),
    };
    let query: Vec<String> = query.split('&').map(pair).collect();
    format!("{}?{}", hidden(uri.path()), query.join("&"))
}
