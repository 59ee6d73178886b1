//! The HTTP server as clients and attackers see it: bytes on a connection, and the reply.
//!
//! A vulnerability found in another server is a test here, named for its advisory.

mod browsers;
pub(crate) mod client;
mod pages;
pub(crate) mod program;
pub(crate) mod sessions;
mod tenants;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::response::IntoResponse;
use axum::routing::any;
use axum::{Extension, Router};
use client::{SOON, Server, Wire, tcp};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_http::{Access, Check, Config, Door, Limits, Policy, TlsFiles, bind};
use parallel_llm_mcp_door::streamable;
use parallel_llm_service::{Grant, Principal, Scope};
use tokio::time::Instant;

/// The header with a token of this principal, which has no rate limit; see [`tokens`].
pub(crate) const ANNA: &str = "Authorization: Bearer anna\r\n";
pub(crate) const BERT: &str = "Authorization: Bearer bert\r\n";

pub(crate) fn local(access: Access) -> Config {
    Config::new(SocketAddr::from(([127, 0, 0, 1], 0)), access)
}

/// Lets in `anna`, `bert`, and `hasty` for three requests a minute.
pub(crate) fn tokens() -> Access {
    Access::Tokens(check())
}

/// Lets in everybody as the owner, and the holder of a token as that holder.
pub(crate) fn open() -> Access {
    Access::Open(check())
}

pub(crate) fn check() -> Check {
    Arc::new(|secret| {
        Box::pin(async move {
            let requests_per_minute = (secret == "hasty").then_some(3);
            if !["anna", "bert", "hasty"].contains(&secret.as_str()) {
                return Err(Failure::new(Code::TokenRefused, "the token is not known"));
            }
            let scopes = Scope::ALL.to_vec();
            let grant = Grant { name: secret, scopes, budget_day: None, requests_per_minute };
            Ok(Principal::TokenHolder(Arc::new(grant)))
        })
    })
}

/// An MCP handler that is never constructed.
#[derive(Clone)]
struct NoHandler;

impl rmcp::ServerHandler for NoHandler {}

/// One route, which replies with the length of the body.
fn length_route() -> Router {
    Router::new().route("/there", any(|body: Bytes| async move { body.len().to_string() }))
}

fn server(change: impl FnOnce(&mut Config)) -> Server {
    let mut config = local(tokens());
    change(&mut config);
    Server::start(config, |_| length_route())
}

fn limited(change: impl FnOnce(&mut Limits)) -> Server {
    server(|config| change(&mut config.limits))
}

/// CVE-2025-66414, CVE-2025-66416, CVE-2026-42559 and the like: DNS rebinding, a page whose name resolves to this
/// machine. CVE-2026-33252: a page of another origin that posts. Every combination is sent; the expected status is that
/// of its first fault.
#[test]
fn every_combination_of_host_origin_token_method_and_type_has_its_status() {
    let server = server(|config| config.origins = vec!["https://friend.example".to_owned()]);
    let port = server.address.port();
    let hosts = [
        (format!("Host: 127.0.0.1:{port}\r\n"), None),
        (format!("Host: LOCALHOST:{port}\r\n"), None),
        (format!("Host: [::1]:{port}\r\n"), None),
        (format!("Host: evil.example:{port}\r\n"), Some(403)),
        ("Host: 127.0.0.1:1\r\n".to_owned(), Some(403)),
        ("Host: 127.0.0.1\r\n".to_owned(), Some(403)),
        (format!("Host: localhost.evil.example:{port}\r\n"), Some(403)),
        (format!("Host: user@127.0.0.1:{port}\r\n"), Some(400)),
        (format!("Host: 127.0.0.1:+{port}\r\n"), Some(400)),
        (format!("Host: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n"), Some(400)),
        (String::new(), Some(400)),
    ];
    let origins = [
        (String::new(), None),
        (format!("Origin: http://127.0.0.1:{port}\r\n"), None),
        ("Origin: https://friend.example\r\n".to_owned(), None),
        (format!("Origin: https://127.0.0.1:{port}\r\n"), Some(403)),
        ("Origin: http://evil.example\r\n".to_owned(), Some(403)),
        ("Origin: null\r\n".to_owned(), Some(403)),
        ("Sec-Fetch-Site: cross-site\r\n".to_owned(), Some(403)),
        ("Sec-Fetch-Site: same-site\r\n".to_owned(), Some(403)),
        ("Sec-Fetch-Site: same-origin\r\n".to_owned(), None),
    ];
    let keys = [("", Some(401)), (ANNA, None)];
    let requests = [
        ("GET", "", None),
        ("DELETE", "", None),
        ("PUT", "", Some(405)),
        ("OPTIONS", "", Some(405)),
        ("POST", "Content-Type: application/json\r\n", None),
        ("POST", "Content-Type: text/plain\r\n", Some(415)),
    ];
    let paths = [("/there", 200), ("//there", 404)];
    let mut counts = BTreeMap::new();
    let mut wrong = String::new();
    for (host, host_wrong) in &hosts {
        for (origin, origin_wrong) in &origins {
            for (key, key_wrong) in keys {
                for (method, kind, request_wrong) in requests {
                    for (path, found) in paths {
                        let faults = [*host_wrong, *origin_wrong, key_wrong, request_wrong];
                        let expected = faults.into_iter().flatten().next().unwrap_or(found);
                        let length = if method == "POST" { "Content-Length: 2\r\n\r\n{}" } else { "\r\n" };
                        let request =
                            format!("{method} {path} HTTP/1.1\r\n{host}{origin}{key}{kind}{length}");
                        let reply = server.send(&request);
                        *counts.entry(reply.status).or_insert(0) += 1;
                        if reply.status != expected {
                            writeln!(wrong, "{} and not {expected}: {request:?}", reply.status).unwrap();
                        }
                        if reply.status != 200 {
                            assert!(!reply.code().is_empty(), "{request}");
                        }
                    }
                }
            }
        }
    }
    assert_eq!(wrong, "");
    assert_eq!(counts.values().sum::<usize>(), 11 * 9 * 2 * 6 * 2);
    assert_eq!(counts.keys().copied().collect::<Vec<u16>>(), [200, 400, 401, 403, 404, 405, 415]);
}

#[test]
fn no_route_answers_without_a_token_and_a_token_is_one_header() {
    let server = server(|_| ());
    let refused = [
        "GET /there",
        "GET /nowhere",
        "GET /",
        "POST /mcp",
        "DELETE /there",
        "BREW /there",
        "GET /there?access_token=anna",
        "GET /there?Authorization=Bearer%20anna",
    ];
    let keys = [
        "",
        "Authorization: anna\r\n",
        "Authorization: Basic YW5uYTphbm5h\r\n",
        "Authorization: Bearer anna\r\nAuthorization: Bearer anna\r\n",
        "Authorization: Bearer anna, Bearer bert\r\n",
        "Cookie: token=anna\r\n",
        "X-Api-Key: anna\r\n",
    ];
    for target in refused {
        for key in keys {
            let reply = server.send(server.head(target, key));
            assert_eq!((reply.status, reply.code().as_str()), (401, "token_refused"), "{target} {key}");
            let error = if key.starts_with("Auth") { r#" error="invalid_token","# } else { "" };
            let challenge = format!(r#"Bearer realm="parallel-llm-mcp",{error} scope="ask read""#);
            assert_eq!(reply.header("www-authenticate"), Some(challenge.as_str()), "{target} {key}");
        }
    }
    assert_eq!(server.send(server.head("GET /there", "authorization: bearer anna\r\n")).status, 200);
    let twice = server.send(server.head("GET /there", &ANNA.repeat(2))).json()["error"].clone();
    assert_eq!(twice["message"], "the request has more than one `Authorization`");
    assert_eq!(twice["next"], "send `Authorization: Bearer TOKEN` once, and no other `Authorization`");
}

/// GHSA-hv2w-8mjj-jw22: a server that let every page read its replies.
#[test]
fn every_reply_has_the_security_headers_and_none_allows_other_origins() {
    let server = server(|_| ());
    let preflight = "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
    let own = format!("Origin: http://{}\r\nAccess-Control-Request-Method: POST\r\n{ANNA}", server.address);
    let replies = [
        (200, server.send(server.head("GET /there", ANNA))),
        (404, server.send(server.head("GET /nowhere", ANNA))),
        (401, server.send(server.head("GET /there", ""))),
        (403, server.send(server.head("OPTIONS /there", preflight))),
        (405, server.send(server.head("OPTIONS /there", &own))),
        (415, server.send(server.head("POST /there", ANNA))),
    ];
    for (status, reply) in replies {
        assert_eq!(reply.status, status);
        let shown = |name| reply.header(name).unwrap_or_else(|| panic!("no {name}: {reply:?}"));
        assert_eq!(shown("x-content-type-options"), "nosniff");
        assert_eq!(shown("referrer-policy"), "no-referrer");
        assert_eq!(shown("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
        assert_eq!(shown("cross-origin-resource-policy"), "same-origin");
        assert_eq!(shown("cache-control"), "no-store");
        assert!(!reply.headers.iter().any(|(name, _)| name.starts_with("access-control")), "{reply:?}");
    }
}

/// The route of a page sets its own policy; an error on the way to it has the policy of the API.
#[test]
fn a_page_sets_its_own_policy_and_other_routes_keep_the_strict_one() {
    let page = || Policy::Page {
        content_security: HeaderValue::from_static(
            "default-src 'none'; img-src 'self'; frame-ancestors 'none'",
        ),
        cache: HeaderValue::from_static("max-age=60"),
    };
    let own = |body: &'static str| any(async move || Policy::Api.on(body.into_response()));
    let routes = Router::new().route("/page", any(async || "a page")).route("/page/data", own("data"));
    let server = Server::start(local(tokens()), move |_| page().over(routes).merge(length_route()));
    let policy = |path: &str, key: &str| {
        let reply = server.send(server.head(&format!("GET {path}"), key));
        let shown = |name| reply.header(name).unwrap_or_default().to_owned();
        assert_eq!(shown("x-content-type-options"), "nosniff", "{path}");
        // Under `no-referrer` a browser would post the forms of a page with `Origin: null`.
        let referrer = if path == "/page" && reply.status == 200 { "same-origin" } else { "no-referrer" };
        assert_eq!(shown("referrer-policy"), referrer, "{path}");
        (reply.status, shown("content-security-policy"), shown("cache-control"))
    };
    let nothing =
        |status| (status, "default-src 'none'; frame-ancestors 'none'".to_owned(), "no-store".to_owned());
    let shown = "default-src 'none'; img-src 'self'; frame-ancestors 'none'".to_owned();
    assert_eq!(policy("/page", ANNA), (200, shown, "max-age=60".to_owned()));
    for (path, key, status) in
        [("/page/data", ANNA, 200), ("/there", ANNA, 200), ("/page", "", 401), ("/page/nowhere", ANNA, 404)]
    {
        assert_eq!(policy(path, key), nothing(status), "{path}");
    }
}

/// The pages of a listed origin are cross-site requests for a browser, which sends a preflight before them.
#[test]
fn a_page_of_a_listed_origin_may_send_a_preflight_and_read_the_reply() {
    let config = Config { origins: vec!["https://friend.example".to_owned()], ..local(tokens()) };
    let mcp = |end| streamable::door(|| -> NoHandler { unreachable!("no test calls it") }, end);
    let server = Server::start(config, move |end| Door { routes: length_route(), ..mcp(end) });
    let friend = "Origin: https://friend.example\r\nSec-Fetch-Site: cross-site\r\n";
    let cors_headers = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization,content-type,mcp-protocol-version\r\n";
    let preflight = server.send(server.head("OPTIONS /there", &format!("{friend}{cors_headers}")));
    let shown = |reply: &client::Reply| -> Vec<String> {
        let lines =
            reply.headers.iter().filter(|(name, _)| name.starts_with("access-control") || name == "vary");
        lines.map(|(name, value)| format!("{name}: {value}")).collect()
    };
    assert_eq!((preflight.status, preflight.text().as_str()), (204, ""));
    insta::assert_snapshot!(shown(&preflight).join("\n"), @r"
    access-control-allow-methods: GET, POST, DELETE
    access-control-allow-headers: authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name
    access-control-max-age: 600
    access-control-allow-origin: https://friend.example
    access-control-expose-headers: mcp-session-id, www-authenticate, retry-after
    vary: Origin
    ");
    let json = "Content-Type: application/json\r\nContent-Length: 2\r\n";
    let post = |headers: &str| server.send(server.head("POST /there", &format!("{headers}{json}")) + "{}");
    for (reply, status) in [(post(&format!("{friend}{ANNA}")), 200), (post(friend), 401)] {
        assert_eq!(reply.status, status);
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&reply).join("\n"), @r"
            access-control-allow-origin: https://friend.example
            access-control-expose-headers: mcp-session-id, www-authenticate, retry-after
            vary: Origin
            ");
        }
    }
    // No other origin is allowed: neither by preflight, nor beside the listed one, nor by another scheme or name.
    for stranger in [
        "Origin: https://evil.example\r\n".to_owned(),
        "Origin: null\r\n".to_owned(),
        "Origin: http://friend.example\r\n".to_owned(),
        "Origin: https://friend.example.evil.example\r\n".to_owned(),
        format!("Origin: https://evil.example\r\n{friend}"),
        format!("Origin: http://127.0.0.1:{}\r\n{friend}", server.address.port()),
        "Sec-Fetch-Site: cross-site\r\n".to_owned(),
    ] {
        let preflight = server.send(server.head("OPTIONS /there", &format!("{stranger}{cors_headers}")));
        for reply in [preflight, post(&format!("{stranger}{ANNA}"))] {
            assert_eq!((reply.status, shown(&reply)), (403, Vec::new()), "{stranger}");
        }
    }
    let elsewhere = format!("OPTIONS /there HTTP/1.1\r\nHost: evil.example\r\n{friend}{cors_headers}\r\n");
    assert_eq!(server.send(elsewhere).status, 403);
}

#[test]
fn without_required_tokens_a_token_that_is_sent_is_still_checked() {
    let who = |_| {
        let name = |Extension(principal): Extension<Principal>| async move {
            principal.name().unwrap_or("the owner").to_owned()
        };
        Router::new().route("/who", any(name))
    };
    let server = Server::start(local(open()), who);
    let get = |key: &str| server.send(server.head("GET /who", key));
    assert_eq!(get("").text(), "the owner");
    assert_eq!(get(ANNA).text(), "anna");
    for key in
        ["Authorization: Bearer stranger\r\n", "Authorization: Bearer \r\n", "Authorization: Basic YQ==\r\n"]
    {
        let refused = get(key);
        assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"), "{key}");
        assert!(refused.text().contains("leave `Authorization` out"), "{}", refused.text());
    }
}

/// Slowloris: connections that are opened and kept open with very few bytes.
#[test]
fn a_head_that_does_not_end_times_out() {
    let server = limited(|limits| {
        limits.head_max = Duration::from_millis(300);
        limits.connections_max = 1;
    });
    for begun in ["", "GET /there HTTP/1.1\r\nHost: "] {
        let mut wire = Wire::to(server.address);
        wire.write(begun);
        let waited = Instant::now();
        let reply = wire.reply();
        assert!(reply.is_none_or(|reply| reply.status == 408), "{begun}");
        assert!(waited.elapsed() >= Duration::from_millis(290), "{:?}", waited.elapsed());
    }
    // The only connection slot is free again.
    assert_eq!(server.send(server.head("GET /there", ANNA)).status, 200);
}

#[test]
fn a_head_over_its_size_or_its_number_of_lines_is_refused() {
    let server = server(|_| ());
    let long = format!("{ANNA}X-Long: {}\r\n", "a".repeat(300_000));
    assert_eq!(server.send(server.head("GET /there", &long)).status, 431);
    // Exact to the byte: the connection reads in blocks, and the last block may end beyond the limit.
    let of_bytes = |bytes: usize| {
        let head =
            |filling: usize| server.head("GET /there", &format!("{ANNA}X-Long: {}\r\n", "a".repeat(filling)));
        server.send(head(bytes - head(0).len()))
    };
    assert_eq!(of_bytes(64 * 1024).status, 200);
    for bytes in [64 * 1024 + 1, 70_000, 100_000, 130_000] {
        assert_eq!(of_bytes(bytes).status, 431, "{bytes}");
    }
    assert_eq!(of_bytes(64 * 1024 + 1).code(), "usage");
    let many = format!("{ANNA}{}", "X-Many: a\r\n".repeat(120));
    assert_eq!(server.send(server.head("GET /there", &many)).status, 431);
}

/// Slowloris with a body.
#[test]
fn a_body_that_is_too_slow_times_out() {
    let slow = "Content-Type: application/json\r\nContent-Length: 100\r\n";
    let server = limited(|limits| limits.body_idle_max = Duration::from_millis(300));
    let reply = server.send(server.head("POST /there", &format!("{ANNA}{slow}")) + "{");
    assert_eq!((reply.status, reply.code().as_str()), (408, "usage"));

    // A byte now and then does not help.
    let server = limited(|limits| limits.body_max = Duration::from_millis(600));
    let mut wire = Wire::to(server.address);
    wire.write(server.head("POST /there", &format!("{ANNA}{slow}")));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(700) {
        wire.write(" ");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert_eq!(wire.reply().map(|reply| reply.status), Some(408));
}

#[test]
fn a_body_over_its_size_is_refused_in_every_framing() {
    let server = limited(|limits| limits.body_bytes_max = 1000);
    let json = format!("{ANNA}Content-Type: application/json\r\n");
    let with_length = |length: usize| {
        let head = server.head("POST /there", &format!("{json}Content-Length: {length}\r\n"));
        server.send(head + &" ".repeat(length))
    };
    let in_chunks = |count: usize| {
        let head = server.head("POST /there", &format!("{json}Transfer-Encoding: chunked\r\n"));
        let piece = format!("64\r\n{}\r\n", " ".repeat(100));
        server.send(head + &piece.repeat(count) + "0\r\n\r\n")
    };
    assert_eq!((with_length(1000).text().as_str(), in_chunks(10).text().as_str()), ("1000", "1000"));
    assert_eq!((with_length(1001).status, with_length(1001).code().as_str()), (413, "usage"));
    assert_eq!(in_chunks(11).status, 413);
    for (length, status) in [("99999999999999", 413), ("18446744073709551615", 431)] {
        let endless = server.head("POST /there", &format!("{json}Content-Length: {length}\r\n"));
        assert_eq!(server.send(endless).status, status, "{length}");
    }
    let compressed =
        server.head("POST /there", &format!("{json}Content-Encoding: gzip\r\nContent-Length: 2\r\n"));
    assert_eq!(server.send(compressed + "{}").status, 415);
}

#[test]
fn all_bodies_together_over_their_size_are_refused() {
    let server = limited(|limits| limits.bodies_bytes_max = 4096);
    let head = |length: usize| {
        let headers = format!("{ANNA}Content-Type: application/json\r\nContent-Length: {length}\r\n");
        server.head("POST /there", &headers)
    };
    let mut first = Wire::to(server.address);
    first.write(head(3000) + &" ".repeat(2900));
    // The first body may not have been read when the second arrives, so this is repeated until one is refused.
    let refused = std::iter::repeat_with(|| server.send(head(2000) + &" ".repeat(2000)))
        .take(1000)
        .find(|reply| reply.status != 200)
        .expect("there is no room for both");
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    assert_eq!(refused.header("retry-after"), Some("2"));
    first.write(" ".repeat(100));
    assert_eq!(first.reply().unwrap().text(), "3000");
    assert_eq!(server.send(head(2000) + &" ".repeat(2000)).status, 200);
}

/// A reply may begin long before its end: its headers come early, and its events one by one.
#[test]
fn a_body_counts_until_its_reply_has_been_read() {
    let mut config = local(tokens());
    config.limits.bodies_bytes_max = 4096;
    let server = Server::start(config, |_| endless());
    let posted = |target: &str| {
        let mut wire = Wire::to(server.address);
        let headers = format!("{ANNA}Content-Type: application/json\r\nContent-Length: 3000\r\n");
        wire.write(server.head(target, &headers) + &" ".repeat(3000));
        let status = wire.reply_head().unwrap().status;
        (wire, status)
    };
    let (answering, status) = posted("POST /endless");
    assert_eq!((status, posted("POST /there").1), (200, 503));
    drop(answering);
    let begun = Instant::now();
    while posted("POST /there").1 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "no room after the end of the reply");
    }
}

#[test]
fn a_body_also_counts_by_its_json_values() {
    let server = limited(|limits| limits.bodies_bytes_max = 1 << 20);
    for (body, status) in
        [(format!("\"{}\"", "[,:{".repeat(50_000)), 200), (format!("[{}0]", "{},".repeat(5_000)), 503)]
    {
        assert_eq!(server.post("/there", ANNA, &body).status, status, "{} bytes", body.len());
    }
}

/// A server that closes with unread bytes resets the connection, and the client loses the reply.
#[test]
fn a_client_that_sends_too_much_can_read_why_it_is_refused() {
    let server = limited(|limits| limits.body_bytes_max = 1000);
    let body = vec![b' '; 32 << 20];
    for (framing, body) in [
        (format!("Content-Length: {}\r\n", body.len()), body.clone()),
        (
            "Transfer-Encoding: chunked\r\n".to_owned(),
            [b"2000000\r\n", body.as_slice(), b"\r\n0\r\n\r\n"].concat(),
        ),
    ] {
        for (key, status) in [(ANNA, 413), ("Authorization: Bearer nobody\r\n", 401)] {
            let mut stream = tcp(server.address);
            let headers = format!("{key}Content-Type: application/json\r\n{framing}");
            stream.write_all(server.head("POST /there", &headers).as_bytes()).unwrap();
            stream.write_all(&body).unwrap_or_else(|error| panic!("{status} after {framing:?}: {error}"));
            let mut wire = Wire::over(Box::new(stream));
            assert_eq!(wire.reply().map(|reply| reply.status), Some(status), "{framing:?}");
        }
    }
    // A body without an end is not read for ever.
    let mut endless = tcp(server.address);
    let headers = format!("{ANNA}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n");
    endless.write_all(server.head("POST /there", &headers).as_bytes()).unwrap();
    let piece = [b"100000\r\n", vec![b' '; 1 << 20].as_slice(), b"\r\n"].concat();
    let taken = (0..2_000).take_while(|_| endless.write_all(&piece).is_ok()).count();
    assert!(taken < 400, "{taken} MiB were taken");
}

/// Requests that two readers parse differently: a request hidden in another one is never served.
#[test]
fn no_request_is_smuggled_in_a_body() {
    let hidden_requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hidden_requests);
    let routes = move |_| {
        let hidden = any(move || async move {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        length_route().route("/hidden", hidden)
    };
    let server = Server::start(local(open()), routes);
    let hidden = server.head("GET /hidden", "");
    let json = "Content-Type: application/json\r\n";
    let shapes = [
        ("Content-Length: 5\r\nContent-Length: 6\r\n", 400),
        ("Content-Length: +5\r\n", 400),
        ("Content-Length: 5, 6\r\n", 400),
        ("Transfer-Encoding: chunked, identity\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("Transfer-Encoding:\r\n chunked\r\n", 400),
        // Chunked, as the standard requires; the length beside it is ignored, and the connection ends.
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 200),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 200),
    ];
    for (shape, status) in shapes {
        let mut wire = Wire::to(server.address);
        let head = server.head("POST /there", &format!("{json}{shape}"));
        wire.write(head + "0\r\n\r\n" + &hidden);
        assert_eq!(wire.reply().map(|reply| reply.status), Some(status), "{shape:?}");
        assert!(wire.reply().is_none(), "a second answer to {shape:?}");
    }
    assert_eq!(hidden_requests.load(Ordering::SeqCst), 0);
    let absolute = format!("GET http://{0}/hidden HTTP/1.1\r\nHost: {0}\r\n\r\n", server.address);
    assert_eq!(server.send(absolute).status, 400);
    assert_eq!(server.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", server.address)).status, 400);
    assert_eq!(server.send(hidden).status, 200, "the route exists");
}

#[test]
fn a_token_over_its_rate_is_refused() {
    let server = server(|_| ());
    let hasty = || server.send(server.head("GET /there", "Authorization: Bearer hasty\r\n"));
    assert_eq!([hasty().status, hasty().status, hasty().status], [200; 3]);
    let refused = hasty();
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(server.send(server.head("GET /there", ANNA)).status, 200, "other tokens have their own rate");
}

/// Routes, one of which replies with an endless stream.
fn endless() -> Router {
    let stream =
        || async { Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>()) };
    length_route().route("/endless", any(stream))
}

/// A request in progress until it is dropped.
fn hold(server: &Server, key: &str) -> Wire {
    let mut wire = Wire::to(server.address);
    wire.write(server.head("GET /endless", key));
    assert_eq!(wire.reply_head().expect("an answer").status, 200);
    wire
}

#[test]
fn one_principal_has_at_most_half_of_the_request_slots() {
    let mut config = local(tokens());
    config.limits.requests_max = 4;
    let server = Server::start(config, |_| endless());
    let get = |key: &str| server.send(server.head("GET /there", key));
    let (first, _second) = (hold(&server, ANNA), hold(&server, ANNA));
    let refused = get(ANNA);
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    assert_eq!(refused.header("retry-after"), Some("2"));
    assert_eq!(get(BERT).status, 200, "others have their own");
    drop(first);
    let begun = Instant::now();
    while get(ANNA).status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "no slot after the end of a request");
    }
}

#[test]
fn concurrent_requests_and_connections_are_bounded() {
    let mut config = local(open());
    (config.limits.requests_max, config.limits.connections_max) = (2, 3);
    let mut server = Server::start(config, |_| endless());
    let (first, mut second) = (hold(&server, ""), hold(&server, ""));
    let mut third = Wire::to(server.address);
    third.write(server.head("GET /there", ""));
    let refused = third.reply().unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    // The third connection is idle, so it makes room.
    let mut fourth = Wire::to(server.address);
    fourth.write(server.head("GET /there", ""));
    assert_eq!(fourth.reply().unwrap().status, 503);
    assert!(third.reply().is_none());
    drop(first);
    let begun = Instant::now();
    while server.send(server.head("GET /there", "")).status != 200 {
        assert!(begun.elapsed() < SOON, "no slot after the end of a request");
    }
    // An endless stream does not delay the end of the server.
    let begun = Instant::now();
    server.end();
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(second.event(), None);
}

#[test]
fn a_connection_waits_for_a_free_slot() {
    let mut config = local(open());
    config.limits.connections_max = 2;
    let server = Server::start(config, |_| endless());
    let (first, _second) = (hold(&server, ""), hold(&server, ""));
    let mut third = Wire::to(server.address);
    third.write(server.head("GET /there", ""));
    drop(first);
    assert_eq!(third.reply().unwrap().status, 200);
}

#[test]
fn idle_connections_keep_no_client_out() {
    let mut config = local(tokens());
    (config.limits.connections_max, config.limits.head_max) = (8, Duration::from_secs(60));
    let server = Server::start(config, |_| endless());
    let mut asking = hold(&server, ANNA);
    let mut silent: Vec<TcpStream> = (0..20).map(|_| tcp(server.address)).collect();
    for (number, stream) in silent.iter_mut().enumerate() {
        // Some send half a request, others a request that is refused.
        let sent = match number % 3 {
            0 => String::new(),
            1 => "GET /there HTTP/1.1\r\nHos".to_owned(),
            _ => server.head("GET /there", ""),
        };
        let _ = stream.write_all(sent.as_bytes());
    }
    let begun = Instant::now();
    for _ in 0..8 {
        assert_eq!(server.send(server.head("GET /there", ANNA)).status, 200);
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    drop(server);
    assert_eq!(asking.event(), None, "the request in progress lasts until the server ends");
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    /// The bytes of each piece.
    const PIECE: usize = 8 * 1024;
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let flood = move |_| {
        let stream = move || async move {
            let pieces = futures_util::stream::repeat_with(move || {
                counted.fetch_add(PIECE, Ordering::SeqCst);
                Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; PIECE]))
            });
            Body::from_stream(pieces)
        };
        length_route().route("/flood", any(stream))
    };
    let mut config = local(open());
    (config.limits.stall_max, config.limits.connections_max) = (Duration::from_millis(500), 2);
    let server = Server::start(config, flood);
    let [mut unread, mut other] = [Wire::to(server.address), Wire::to(server.address)];
    for wire in [&mut unread, &mut other] {
        wire.write(server.head("GET /flood", ""));
        assert_eq!(wire.reply_head().unwrap().status, 200);
    }
    // Both slots are taken, so a reply means that one of them was freed.
    assert_eq!(server.send(server.head("GET /there", "")).status, 200);
    // As much as the system buffers for two connections, and little of ours.
    let made = made.load(Ordering::SeqCst);
    assert!(made < 32 << 20, "{made} bytes were made for clients that do not read");
}

#[test]
fn a_post_in_progress_is_answered_before_the_server_ends() {
    let slow = |_| {
        let answer = || async {
            tokio::time::sleep(Duration::from_millis(600)).await;
            "done"
        };
        length_route().route("/slow", any(answer))
    };
    let mut server = Server::start(local(open()), slow);
    let mut wire = Wire::to(server.address);
    wire.write(client::post(server.address, "/slow", "", "{}"));
    let mut idle = Wire::to(server.address);
    idle.write(server.head("GET /there", ""));
    assert_eq!(idle.reply().unwrap().status, 200);
    server.end();
    assert_eq!(wire.reply().unwrap().text(), "done");
    assert!(idle.reply().is_none() && TcpStream::connect(server.address).is_err());
}

/// CVE-2026-108760: a server that listened on every address, whatever its configuration.
#[test]
fn the_server_listens_only_on_the_configured_address() {
    let server = server(|_| ());
    assert!(server.address.ip().is_loopback());
    // All of 127/8 is this machine, so a server on 0.0.0.0 would reply there too.
    let other = SocketAddr::from(([127, 0, 0, 2], server.address.port()));
    assert!(TcpStream::connect(other).is_err());
}

#[test]
fn with_a_certificate_the_server_speaks_only_https() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles { certificate: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let server = server(|config| config.tls = Some(files.clone()));

    let mut trusted = rustls::RootCertStore::empty();
    trusted.add(made.cert.der().clone()).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        rustls::ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(trusted).with_no_client_auth());
    let send = |origin: &str| {
        let name = "localhost".try_into().unwrap();
        let session = rustls::ClientConnection::new(Arc::clone(&config), name).unwrap();
        let mut wire = Wire::over(Box::new(rustls::StreamOwned::new(session, tcp(server.address))));
        wire.write(server.head("GET /there", &format!("{ANNA}Origin: {origin}://{}\r\n", server.address)));
        wire.reply().unwrap().status
    };
    assert_eq!((send("https"), send("http")), (200, 403));

    let mut plain = tcp(server.address);
    plain.write_all(server.head("GET /there", ANNA).as_bytes()).unwrap();
    let mut received = Vec::new();
    // A TLS alert or a reset, but no HTTP.
    let _ = plain.read_to_end(&mut received);
    assert!(!received.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&received));
}

#[tokio::test]
async fn an_unusable_certificate_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(path("cert"), made.cert.pem()).unwrap();
    std::fs::write(path("key"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(path("other"), other.signing_key.serialize_pem()).unwrap();
    std::fs::write(path("text"), "no PEM").unwrap();
    let cases = [
        ("gone", "key", "`tls_cert` in `gone` cannot be used: No such file or directory (os error 2)"),
        ("text", "key", "`tls_cert` in `text` cannot be used: it holds no certificate"),
        ("key", "key", "`tls_cert` in `key` cannot be used: it holds no certificate"),
        ("cert", "cert", "`tls_key` in `cert` cannot be used: it holds no key in PEM"),
        ("cert", "other", "`tls_key` in `other` cannot be used: keys may not be consistent: KeyMismatch"),
        ("", "key", "`tls_cert` in `` cannot be used: it is not a file"),
    ];
    for (certificate, key, expected) in cases {
        let mut config = local(tokens());
        config.tls = Some(TlsFiles { certificate: path(certificate), key: path(key) });
        let failure = bind(config).await.err().expect("it cannot be used");
        let message = failure.message.replace(&format!("{}/", folder.path().display()), "");
        assert_eq!((failure.code, message.as_str()), (Code::SettingsInvalid, expected));
    }
}
