//! Sessions of MCP over HTTP, with a handler that only sleeps: their owners, their number, their lifetime, and calls
//! that stay silent for long.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parallel_llm_http::Access;
use parallel_llm_mcp_door::streamable::{SessionLimits, door_within};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ProgressNotificationParam,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::{Reply, SOON, Server, Wire, post};
use super::{ANNA, BERT, local, open, tokens};

/// Notes of progress that a call with a token gets at once.
const NOTES: u32 = 3;

/// Sleeps for the time that a call asks for, after some progress, and counts the calls that were cancelled.
#[derive(Clone, Default)]
struct Sleeper(Arc<AtomicUsize>);

impl ServerHandler for Sleeper {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let ms = arguments.get("ms").and_then(Value::as_u64).unwrap_or_default();
        for note in 1..=NOTES {
            let Some(token) = context.meta.get_progress_token() else { break };
            let param = ProgressNotificationParam::new(token, f64::from(note));
            context.peer.notify_progress(param).await.expect("the session is open");
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
            () = context.ct.cancelled() => {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        if request.name == "fail" {
            return Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, "no such thing", None));
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("slept")]).into())
    }
}

fn server(access: Access, limits: SessionLimits) -> (Server, Arc<AtomicUsize>) {
    let sleeper = Sleeper::default();
    let cancelled = Arc::clone(&sleeper.0);
    let start = move |end| door_within(move || sleeper.clone(), end, limits);
    (Server::start(local(access), start), cancelled)
}

fn small(sessions_max: usize) -> SessionLimits {
    SessionLimits { sessions_max, ..SessionLimits::default() }
}

/// Lets time pass.
fn pass(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::thread::park_timeout(end.saturating_duration_since(Instant::now()));
    }
}

/// A client of the versions with sessions.
pub(crate) struct Legacy<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) key: &'a str,
    pub(crate) session: String,
}

impl<'a> Legacy<'a> {
    /// Begins a session, if there is room.
    pub(crate) fn begin(address: SocketAddr, key: &'a str) -> Result<Self, Reply> {
        Self::begin_in("2025-11-25", address, key)
    }

    /// The same in this version of the protocol.
    fn begin_in(version: &str, address: SocketAddr, key: &'a str) -> Result<Self, Reply> {
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test-client", "version": "1"}});
        let mut client = Self { address, key, session: String::new() };
        let reply = client.ask("initialize", hello);
        let Some(session) = reply.header("mcp-session-id") else { return Err(reply) };
        client.session = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {version}\r\n");
        assert_eq!(client.notify("notifications/initialized", json!({})).status, 202);
        Ok(client)
    }

    pub(crate) fn connect(address: SocketAddr, key: &'a str) -> Self {
        Self::begin(address, key).unwrap_or_else(|reply| panic!("no session: {reply:?}"))
    }

    /// Sends a request and leaves the reply to be read.
    pub(crate) fn start(&self, id: u64, method: &str, params: Value) -> Wire {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method}), params)
    }

    fn send(&self, mut message: Value, params: Value) -> Wire {
        message["params"] = params;
        let mut wire = Wire::to(self.address);
        wire.write(post(
            self.address,
            "/mcp",
            &format!("{}{}", self.key, self.session),
            &message.to_string(),
        ));
        wire
    }

    pub(crate) fn ask(&self, method: &str, params: Value) -> Reply {
        self.start(1, method, params).reply().expect("an answer")
    }

    pub(crate) fn notify(&self, method: &str, params: Value) -> Reply {
        self.send(json!({"jsonrpc": "2.0", "method": method}), params).reply().expect("an answer")
    }

    /// Asks for what came after an event.
    fn resume(&self, last_event_id: &str) -> Wire {
        let Self { address, key, session } = self;
        let mut wire = Wire::to(*address);
        wire.write(format!(
            "GET /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\nLast-Event-ID: {last_event_id}\r\n{key}{session}\r\n"
        ));
        wire
    }

    /// Starts a call that reports progress, and reads its events up to the last note. Returns the ids of the events.
    fn sleep_with_progress(&self, id: u64, ms: u64) -> (Wire, Vec<String>) {
        let params =
            json!({"name": "sleep", "arguments": {"ms": ms}, "_meta": {"progressToken": format!("of-{id}")}});
        let mut wire = self.start(id, "tools/call", params);
        let mut ids = Vec::new();
        loop {
            let event = wire.event().expect("progress comes");
            ids.extend(event.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned));
            if event.contains(&format!(r#""progress":{NOTES}"#)) {
                return (wire, ids);
            }
        }
    }

    fn sleep(&self, ms: u64) -> Wire {
        self.sleep_as(7, ms)
    }

    fn sleep_as(&self, id: u64, ms: u64) -> Wire {
        self.start(id, "tools/call", json!({"name": "sleep", "arguments": {"ms": ms}}))
    }
}

/// A request of the version without sessions.
pub(crate) fn modern(address: SocketAddr, tool: &str, arguments: &Value) -> String {
    modern_with("", address, tool, arguments)
}

/// The same with further headers, each with a line end.
pub(crate) fn modern_with(more: &str, address: SocketAddr, tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers =
        format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n{more}");
    post(address, "/mcp", &headers, &message.to_string())
}

/// CVE-2026-52869: everybody who knew the id of a session could use it.
#[test]
fn a_session_does_not_exist_for_another_principal() {
    let (server, _) = server(tokens(), small(10));
    let anna = Legacy::connect(server.address, ANNA);
    let session = &anna.session;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for (key, expected) in [(BERT, 404), (ANNA, 200)] {
        assert_eq!(server.post("/mcp", &format!("{key}{session}"), &list).status, expected, "POST {key}");
        let mut wire = Wire::to(server.address);
        wire.write(server.head("GET /mcp", &format!("{key}{session}Accept: text/event-stream\r\n")));
        assert_eq!(wire.reply_head().unwrap().status, expected, "GET {key}");
    }
    let delete =
        |key: &str, session: &str| server.send(server.head("DELETE /mcp", &format!("{key}{session}")));
    assert_eq!((delete(BERT, session).status, delete(BERT, session).code().as_str()), (404, "usage"));
    assert_eq!(
        server.post("/mcp", &format!("{ANNA}{session}"), &list).status,
        200,
        "the session still exists"
    );
    assert_eq!(delete(ANNA, &format!("{session}{session}")).status, 404, "one session at a time");
    assert_eq!(delete(ANNA, session).status, 204);
    assert_eq!(delete(ANNA, session).status, 404);
    assert_eq!(server.post("/mcp", &format!("{ANNA}{session}"), &list).status, 404);
}

/// CVE-2026-63128: a table of sessions that grew without bound.
#[test]
fn sessions_are_bounded_and_the_longest_idle_one_makes_room() {
    let (server, _) = server(tokens(), small(2));
    let is_there = |client: &Legacy<'_>| client.ask("tools/list", json!({})).status == 200;
    let first = Legacy::connect(server.address, ANNA);
    let second = Legacy::connect(server.address, ANNA);
    assert!(is_there(&first), "the second has now been idle longest");
    let third = Legacy::connect(server.address, BERT);
    assert_eq!([is_there(&first), is_there(&second), is_there(&third)], [true, false, true]);

    // Calls in flight keep their sessions, even if nobody reads the reply any more.
    let mut sleeping = third.sleep(3_000);
    assert_eq!(sleeping.reply_head().unwrap().status, 200);
    let mut leaving = first.sleep(3_000);
    assert_eq!(leaving.reply_head().unwrap().status, 200);
    drop(leaving);
    let refused = Legacy::begin(server.address, ANNA).err().expect("there is no room");
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    assert_eq!(refused.header("retry-after"), Some("5"));
    assert_eq!(sleeping.message().unwrap()["result"]["content"][0]["text"], "slept");
    let begun = Instant::now();
    while Legacy::begin(server.address, ANNA).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "no room after the end of the calls");
    }
}

#[test]
fn one_principal_has_a_limit_of_its_own_for_sessions() {
    let limits = SessionLimits { sessions_of_one_max: 2, ..small(10) };
    let (server, _) = server(tokens(), limits);
    let bert = Legacy::connect(server.address, BERT);
    let annas: Vec<Legacy<'_>> = (0..4).map(|_| Legacy::connect(server.address, ANNA)).collect();
    let there = |client: &Legacy<'_>| client.ask("tools/list", json!({})).status;
    assert_eq!(annas.iter().map(there).collect::<Vec<u16>>(), [404, 404, 200, 200]);
    assert_eq!(there(&bert), 200);
}

/// The library ends a session that has been idle for a while, together with its calls.
#[test]
fn a_session_with_a_call_in_flight_is_not_idle() {
    let limits = SessionLimits { idle_max: Duration::from_millis(300), ..small(10) };
    let (server, cancelled) = server(open(), limits);
    let client = Legacy::connect(server.address, "");
    let mut sleeping = client.sleep(1_500);
    pass(Duration::from_millis(500));
    assert_eq!(client.ask("ping", json!({})).status, 200, "the call keeps the session");
    assert_eq!(sleeping.message().unwrap()["result"]["content"][0]["text"], "slept");
    assert_eq!(cancelled.load(Ordering::SeqCst), 0);
    pass(Duration::from_millis(400));
    assert_eq!(client.ask("tools/list", json!({})).status, 404, "without a call the session is idle");
}

/// The library forgets a call if a second one has the same id.
#[test]
fn an_id_in_flight_is_refused_and_its_first_call_is_answered() {
    let (server, _) = server(open(), small(10));
    let client = Legacy::connect(server.address, "");
    let mut first = client.sleep(1_000);
    assert_eq!(first.reply_head().unwrap().status, 200);
    let refused = client.sleep(0).reply().unwrap();
    let message = "a request with id 7 is still in flight: give each request an id of its own";
    let expected = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32600, "message": message}});
    assert_eq!((refused.status, refused.json()), (400, expected));
    let elsewhere = Legacy::connect(server.address, "");
    for mut wire in [first, elsewhere.sleep(0)] {
        assert_eq!(wire.message().unwrap()["result"]["content"][0]["text"], "slept");
    }
    for _ in 0..50 {
        let again = client.sleep(0).reply().unwrap();
        assert_eq!(again.status, 200, "an id is free as soon as its call is answered: {again:?}");
    }
}

#[test]
fn calls_in_flight_are_bounded_for_a_session_and_a_principal() {
    let limits = SessionLimits { calls_max: 2, calls_of_one_max: 3, ..small(10) };
    let (server, _) = server(tokens(), limits);
    let [anna, also_anna] = [(); 2].map(|()| Legacy::connect(server.address, ANNA));
    let bert = Legacy::connect(server.address, BERT);
    let busy = |id: u64, calls: u64| {
        let message = format!("{calls} requests are in flight: try again when one is answered");
        (429, json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}}))
    };
    let refused = |client: &Legacy<'_>, id: u64| {
        let refused = client.sleep_as(id, 0).reply().unwrap();
        assert_eq!(refused.header("retry-after"), (refused.status == 429).then_some("5"));
        (refused.status, refused.json())
    };
    let mut held = vec![anna.sleep_as(1, 60_000), anna.sleep_as(2, 60_000)];
    for wire in &mut held {
        assert_eq!(wire.reply_head().unwrap().status, 200);
    }
    assert_eq!(refused(&anna, 3), busy(3, 2));
    held.push(also_anna.sleep_as(1, 60_000));
    assert_eq!(held[2].reply_head().unwrap().status, 200);
    assert_eq!(refused(&also_anna, 3), busy(3, 3));
    assert_eq!(bert.sleep(0).message().unwrap()["result"]["content"][0]["text"], "slept");
    // A cancelled call is no longer in flight.
    assert_eq!(anna.notify("notifications/cancelled", json!({"requestId": 2})).status, 202);
    let begun = Instant::now();
    while refused(&anna, 4).0 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "no room after a call was cancelled");
    }
}

/// The library sends nothing before the first message of a handler, and clients give up waiting for headers after a
/// minute.
#[test]
fn a_silent_call_gets_its_headers_early() {
    let (server, cancelled) = server(open(), small(10));
    let call = |tool: &str, ms: u64| {
        let mut wire = Wire::to(server.address);
        wire.write(modern(server.address, tool, &json!({"ms": ms})));
        wire
    };
    let begun = Instant::now();
    let (mut silent, mut failing, mut leaving) =
        (call("sleep", 3_500), call("fail", 3_000), call("sleep", 60_000));
    for wire in [&mut silent, &mut failing, &mut leaving] {
        let head = wire.reply_head().unwrap();
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!(head.header("x-accel-buffering"), Some("no"));
        assert_eq!(wire.event().as_deref(), Some(": the call goes on"));
    }
    assert!((Duration::from_secs(2)..SOON).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    drop(leaving);
    assert_eq!(failing.message().unwrap()["error"]["message"], "no such thing");
    assert_eq!(failing.message(), None);
    assert_eq!(silent.message().unwrap()["result"]["content"][0]["text"], "slept");
    assert_eq!(silent.message(), None);
    assert_eq!(cancelled.load(Ordering::SeqCst), 1, "a closed connection cancels its call");
    // A quick call keeps its own headers, and a quick error its status.
    assert_eq!(call("fail", 0).reply().unwrap().status, 404);
    assert_eq!(call("sleep", 0).reply().unwrap().json()["result"]["content"][0]["text"], "slept");
}

#[test]
fn requests_outside_the_protocol_get_the_usual_error_format() {
    let (server, _) = server(open(), small(10));
    let cases = [
        (server.send(server.head("GET /mcp", "")), 406),
        (server.send(server.head("GET /mcp", "Accept: text/event-stream\r\n")), 400),
        (server.send(server.head("DELETE /mcp", "")), 400),
        (server.send(server.head("DELETE /mcp", "Mcp-Session-Id: none\r\n")), 404),
        (server.post("/mcp", "", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), 400),
    ];
    for (reply, status) in cases {
        assert_eq!((reply.status, reply.code().as_str()), (status, "usage"), "{reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    // Invalid JSON gets the error of the protocol.
    let reply = server.post("/mcp", "", "no JSON");
    assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (400, json!(-32700)), "{reply:?}");
}

/// The library replies to a method of older versions with its bare name, and repeats a wrong header in full.
#[test]
fn errors_of_the_library_become_short_sentences() {
    let (server, _) = server(open(), small(10));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
    });
    let error_of = |header: &str, method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {header}\r\n");
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let reply = server.post("/mcp", &headers, &message.to_string());
        (reply.status, reply.json()["id"].clone(), reply.json()["error"].clone())
    };
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("subscriptions/listen", json!({"notifications": {}})),
    ] {
        let message = format!("there is no method `{method}` in this version of the protocol");
        let expected = (404, json!(7), json!({"code": -32601, "message": message}));
        assert_eq!(error_of(method, method, params), expected);
    }
    let (status, id, error) = error_of(&"a".repeat(50_000), "tools/list", json!({}));
    assert_eq!((status, id, &error["code"]), (400, json!(7), &json!(-32020)));
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("Mcp-Method header `aaa") && message.chars().count() <= 300, "{message}");
}

/// Clients that resume streams ask for the rest of one that ends without an answer, again and again.
#[test]
fn the_stream_of_a_cancelled_call_ends_with_an_answer_also_if_it_is_resumed() {
    let (server, cancelled) = server(open(), small(10));
    let client = Legacy::connect(server.address, "");
    let (mut listening, ids) = client.sleep_with_progress(7, 60_000);
    let (leaving, lost) = client.sleep_with_progress(8, 60_000);
    drop(leaving);
    let cancel = |id: u64| client.notify("notifications/cancelled", json!({"requestId": id})).status;
    assert_eq!([cancel(7), cancel(8)], [202, 202]);
    let told = |id: u64| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32800, "message": "the client cancelled this call"}});
    assert_eq!(listening.message(), Some(told(7)));
    assert_eq!(listening.message(), None, "the stream has ended");
    for (id, events) in [(7, &ids), (8, &lost)] {
        let mut resumed = client.resume(events.last().unwrap());
        assert_eq!((resumed.message(), resumed.message()), (Some(told(id)), None), "{id}");
    }
    assert_eq!(cancelled.load(Ordering::SeqCst), 2);
}

#[test]
fn a_client_that_resumes_a_stream_gets_later_events_only() {
    let (server, _) = server(open(), small(10));
    let client = Legacy::connect(server.address, "");
    let (leaving, ids) = client.sleep_with_progress(7, 4_000);
    drop(leaving);
    let mut resumed = client.resume(&ids[ids.len() - 2]);
    assert_eq!(resumed.message().unwrap()["params"]["progress"], f64::from(NOTES), "the one after it");
    assert_eq!(resumed.message().unwrap()["result"]["content"][0]["text"], "slept");
    // It was answered, and is kept no longer; an empty stream would be resumed for ever.
    for unknown in [ids[0].as_str(), "0/999", "x"] {
        let refused = client.resume(unknown).reply().unwrap();
        assert_eq!((refused.status, refused.code().as_str()), (400, "usage"), "{unknown}");
    }
    assert_eq!(client.ask("tools/list", json!({})).status, 200, "the session goes on");
}

/// An event without a message is noise for clients of versions that do not know it.
#[test]
fn only_a_version_that_knows_priming_events_gets_them() {
    let (server, _) = server(open(), small(10));
    for (version, knows) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let client = Legacy::begin_in(version, server.address, "").unwrap();
        let text = client.sleep(0).reply().unwrap().text();
        let events: Vec<&str> = text.split("\n\n").filter(|event| !event.is_empty()).collect();
        let has_message = |event: &&str| event.lines().any(|line| line.starts_with("data: {"));
        let empty = events.iter().filter(|event| !has_message(event)).count();
        assert_eq!(empty, usize::from(knows), "{version}: {text}");
        assert_eq!(text.contains("retry: 3000"), knows, "{version}: {text}");
    }
}
