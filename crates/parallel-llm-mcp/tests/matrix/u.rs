//! Faults of one provider while two others are well.

use std::net::Ipv4Addr;
use std::time::Duration;

use parallel_llm_testkit::simulator::{Behaviour, Fault, Script};
use parallel_llm_testkit::{Sandbox, each, seats, synthesis};
use serde_json::Value;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::frames::{self, ServerFault};
use super::wire::{self, Act, END, EVENTS, HELLO, Wire, answer, send, whole};
use super::{HANGING, ONE, SYNTHESIZER, TWO, ask, assert_invariants, output_of, sandbox, word};

/// The model of the raw server.
const RAW: &str = "wire:raw/model";
/// Short timers, yet long enough for two healthy answers on a busy machine, and a single retry.
const SHORT_TIMERS: [(&str, &str); 2] = [("first_text_timeout_ms", "2500"), ("retries_max", "1")];

/// Asks a panel of three, whose second seat is the provider `wire`: its fault must not affect the others, and the
/// invariants must hold. Returns the report.
fn beside_others(sandbox: &Sandbox, settings: &[(&str, &str)]) -> Value {
    let call = wire::with_key(
        sandbox,
        ask(sandbox, &[ONE, RAW, TWO]).settings(SHORT_TIMERS).settings(settings.iter().copied()),
    );
    let output = output_of(call);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = output.json();
    for healthy in [ONE, TWO] {
        assert_eq!(sandbox.asked(healthy), 1);
        assert!(seats(&report).contains(&format!("{healthy} answered x1")), "{}", seats(&report));
    }
    assert!(synthesis(&report).ends_with(&format!(" fused by {SYNTHESIZER}")), "{}", synthesis(&report));
    assert_invariants(sandbox);
    report
}

/// The result of the seat of `wire`.
fn seat(report: &Value) -> String {
    let line = seats(report).lines().nth(1).unwrap_or_default().to_owned();
    let line = line.trim_start_matches(&format!("2 {RAW} ")).to_owned();
    let message = word(&report["answers"][1]["error"], "message");
    if message.is_empty() { line } else { masked(&format!("{line}: {message}")) }
}

/// Removes ports and times of day.
fn masked(line: &str) -> String {
    let line = line.split_once(": verification time").map_or(line, |(before, _)| before);
    let mut parts = line.split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |masked, part| {
        masked + "<wire>" + part.trim_start_matches(|letter: char| letter.is_ascii_digit())
    })
}

/// Meets a raw server that performs these acts for each request, counted from 1. The report must count every request
/// that the server received.
fn meet(acts: impl Fn(usize) -> Vec<Act> + Send + Sync + 'static) -> Value {
    let (sandbox, server) = (sandbox(), Wire::start(acts));
    server.join(&sandbox);
    let report = beside_others(&sandbox, &[]);
    assert_eq!(report["answers"][1]["attempts"], server.requests().len(), "{}", seats(&report));
    report
}

/// Like [`meet`], for several servers at once: the result of the seat of each.
fn meet_each(cases: &[Vec<Act>]) -> String {
    let lines = each(cases, |acts| {
        let acts = acts.clone();
        seat(&meet(move |_| acts.clone()))
    });
    lines.join("\n")
}

#[test]
fn u02_connect_black_hole() {
    let sandbox = sandbox();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    // A listener with a full queue drops further connections, as a firewall does.
    let (listener, _queue): (TcpListener, Vec<TcpStream>) = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket can be made");
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a local port is free");
        let listener = socket.listen(1).expect("it listens");
        let address = listener.local_addr().expect("the listener is bound");
        let mut queue = Vec::new();
        while let Ok(Ok(stream)) =
            tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await
        {
            queue.push(stream);
            assert!(queue.len() < 100, "the queue has no end");
        }
        (listener, queue)
    });
    let port = listener.local_addr().expect("the listener is bound").port();
    wire::provide(&sandbox, &format!("http://127.0.0.1:{port}/v1"));
    let report = beside_others(&sandbox, &[("connect_timeout_ms", "300")]);
    insta::assert_snapshot!(seat(&report), @"failed timeout x2: no connection to wire at <wire> within the timer `connect` of 300 ms");
}

#[test]
fn u06_tls_that_cannot_be_trusted() {
    let cases =
        [ServerFault::Expired, ServerFault::OtherHost, ServerFault::Untrusted, ServerFault::OldProtocol];
    let lines = each(&cases, |case| {
        let (sandbox, server) = (sandbox(), frames::Server::start(*case));
        let trusted = server.join(&sandbox);
        let report = beside_others(&sandbox, &[("ca_file", &trusted)]);
        assert_eq!(server.requests(), 0, "{case:?}: neither a request nor the key was sent");
        format!("{case:?}: {}", seat(&report))
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Expired: failed connection x1: the certificate of wire at <wire> is not trusted: invalid peer certificate: certificate expired
    OtherHost: failed connection x1: the certificate of wire at <wire> is not trusted: invalid peer certificate: certificate not valid for name "127.0.0.1"; certificate is only valid for DnsName("provider.invalid")
    Untrusted: failed connection x1: the certificate of wire at <wire> is not trusted: invalid peer certificate: UnknownIssuer
    OldProtocol: failed connection x2: wire at <wire> cannot be reached: received fatal alert: ProtocolVersion
    "#);
}

#[test]
fn u08_reset_before_headers() {
    let report = meet(|number| if number == 1 { vec![Act::Reset] } else { answer() });
    insta::assert_snapshot!(seat(&report), @"answered x2 5 bytes");
}

#[test]
fn u09_reset_after_headers_before_content() {
    let accepted = EVENTS.replace("Connection", "X-Generation-Id: gen-7\r\nConnection");
    let first = vec![send(accepted), send(": working\n\n"), Act::Wait(100), Act::Reset];
    let report = meet(move |number| if number == 1 { first.clone() } else { answer() });
    insta::assert_snapshot!(seat(&report), @"answered x2 5 bytes");
    assert_eq!(report["answers"][1]["cost_usd"], Value::Null, "the cost of the broken attempt is unknown");
    assert_eq!(report["cost_is_estimate"], true);
}

#[test]
fn u11_stall_before_content() {
    let report = meet(|_| vec![send(EVENTS), Act::Listen]);
    insta::assert_snapshot!(seat(&report), @"failed timeout x2: no text or reasoning came within 2.5 s");
}

#[test]
fn u17_content_after_done() {
    let report = meet(|_| {
        vec![send(EVENTS), send(HELLO), send(END), send(HELLO.replace("Hello", " again")), send(END)]
    });
    insta::assert_snapshot!(seat(&report), @"answered x1 5 bytes");
    assert_eq!(report["answers"][1]["text"], "Hello");
}

#[test]
fn u20_absurd_retry_after() {
    let waits =
        ["86400", "-1", "NaN", "1000000000000000000000000000000", "", "0.0000000001", "soon, very soon"];
    let lines = each(&waits, |wait| {
        let sandbox = sandbox().scripted(HANGING, Script::fault(Fault::RateUpstreamC).retry_after(wait));
        let output = output_of(ask(&sandbox, &[ONE, HANGING, TWO]).settings(SHORT_TIMERS));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_invariants(&sandbox);
        let line = seats(&output.json()).lines().nth(1).unwrap_or_default().to_owned();
        format!("{wait:?}: {line}")
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    "86400": 2 x-ai/grok-4.7 failed rate_limited x1
    "-1": 2 x-ai/grok-4.7 failed rate_limited x2
    "NaN": 2 x-ai/grok-4.7 failed rate_limited x2
    "1000000000000000000000000000000": 2 x-ai/grok-4.7 failed rate_limited x2
    "": 2 x-ai/grok-4.7 failed rate_limited x2
    "0.0000000001": 2 x-ai/grok-4.7 failed rate_limited x2
    "soon, very soon": 2 x-ai/grok-4.7 failed rate_limited x2
    "#);
}

#[test]
fn u34_answer_cut_by_its_length() {
    let sandbox = sandbox().scripted(HANGING, Script::fault(Fault::TruncatedLength));
    let output = output_of(ask(&sandbox, &[ONE, HANGING, TWO]));
    let report = output.json();
    let seat = &report["answers"][1];
    assert_eq!((word(seat, "status"), &seat["truncated"]), ("answered", &true.into()));
    assert_eq!((word(seat, "finish"), &seat["error"]), ("length", &Value::Null));
    assert_invariants(&sandbox);
}

#[test]
fn u37_json_cut_at_the_end() {
    let cut = "data: {\"choices\":[{\"index\":0,\"delta\":{\"cont";
    let body = "{\"id\":\"gen-7\",\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Hel";
    insta::assert_snapshot!(
        meet_each(&[vec![send(EVENTS), send(HELLO), send(cut)], vec![whole("200 OK", "Content-Type: application/json\r\n", body)]]),
        @r#"
        cut incomplete x1 5 bytes: wire: the stream ended in the middle of the answer
        failed protocol x1: wire answered with something that is no API reply: {"id":"gen-7","choices":[{"message":{"role":"assistant","content":"Hel
        "#
    );
}

#[test]
fn u38_body_of_another_kind() {
    let page = whole("200 OK", "Content-Type: text/html\r\n", "<!doctype html><title>Log in</title>");
    let json = r#"{"id":"gen-7","choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}"#;
    let json = whole("200 OK", "Content-Type: text/plain\r\n", json);
    let stream = send([&EVENTS.replace("text/event-stream", "application/json"), HELLO, END].concat());
    insta::assert_snapshot!(meet_each(&[vec![page], vec![json], vec![stream]]), @"
    failed protocol x1: wire answered with something that is no API reply: a web page
    answered x1 5 bytes
    answered x1 5 bytes
    ");
}

#[test]
fn u40_events_twice_and_out_of_order() {
    let choice = |index: u8, text: &str| {
        format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let events =
        [choice(1, "No"), choice(0, "Ho"), choice(1, "no"), choice(0, "ho"), choice(0, "ho")].concat();
    let report = meet(move |_| vec![send(EVENTS), send(&events), send(END)]);
    assert_eq!(
        report["answers"][1]["text"], "Hohoho",
        "only the first choice counts, and repetitions are kept"
    );
}

#[test]
fn u43_lengths_that_lie() {
    let body = [HELLO, END].concat();
    let head = |headers: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{headers}\r\n");
    let chunk = format!("{:x}\r\n{body}\r\n", body.len());
    let short = format!("Content-Length: {}\r\n", HELLO.len() + 40);
    let long = format!("Content-Length: {}\r\n", HELLO.len());
    let both = "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n";
    insta::assert_snapshot!(
        meet_each(&[
            vec![send(head(&short)), send(HELLO)],
            vec![send(head(&long)), send(&body)],
            vec![send(head("Content-Length: 5\r\nContent-Length: 7\r\n")), send(&body)],
            vec![send(head(both)), send(&chunk), send("0\r\n\r\n")],
            vec![send(head("Transfer-Encoding: chunked\r\n")), send("zz\r\n")],
            vec![send(head("Transfer-Encoding: chunked\r\n")), send("ffffffffffffffffff\r\n")],
        ]),
        @"
        cut connection x1 5 bytes: wire at <wire> broke the connection: end of file before message length reached
        cut incomplete x1 5 bytes: wire: the stream ended in the middle of the answer
        failed protocol x1: the reply of wire at <wire> cannot be read: invalid content-length parsed
        answered x1 5 bytes
        failed protocol x1: the reply of wire at <wire> cannot be read: Invalid chunk size line: missing size digit
        failed protocol x1: the reply of wire at <wire> cannot be read: invalid chunk size: overflow
        "
    );
}

#[test]
fn u45_a_flood_of_tiny_events() {
    const EVENTS_SENT: usize = 50_000;
    let tiny = HELLO.replace("Hello", "x");
    let report = meet(move |_| {
        vec![send(EVENTS), Act::Repeat(tiny.repeat(1_000).into_bytes(), EVENTS_SENT / 1_000), send(END)]
    });
    insta::assert_snapshot!(seat(&report), @"answered x1 50000 bytes");
}

#[test]
fn u46_http2_that_breaks_off() {
    let cases = [ServerFault::GoAway, ServerFault::RefusedStream, ServerFault::EmptyFrames];
    let lines = each(&cases, |case| {
        let (sandbox, server) = (sandbox(), frames::Server::start(*case));
        let trusted = server.join(&sandbox);
        let report = beside_others(&sandbox, &[("ca_file", &trusted)]);
        assert_eq!(report["answers"][1]["attempts"], server.requests(), "{case:?}: every request is counted");
        format!("{case:?}: {}", seat(&report))
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    GoAway: failed connection x2: wire at <wire> broke the connection: connection error received: not a result of an error
    RefusedStream: failed connection x2: wire at <wire> broke the connection: stream error received: refused stream before processing any application logic
    EmptyFrames: failed connection x2: wire at <wire> broke the connection: connection error detected: detected excessive load generating behavior (b"too_many_data_frames")
    "#);
}

#[test]
fn u48_redirect_to_the_same_host() {
    let statuses = ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"];
    let location = "Location: http://127.0.0.1/v1/chat/completions\r\n";
    insta::assert_snapshot!(meet_each(&statuses.map(|status| vec![whole(status, location, "")])), @"
    failed redirect x1: wire answered 301 and points to 127.0.0.1
    failed redirect x1: wire answered 302 and points to 127.0.0.1
    failed redirect x1: wire answered 307 and points to 127.0.0.1
    failed redirect x1: wire answered 308 and points to 127.0.0.1
    ");
}

#[test]
fn u49_endless_headers() {
    let many = "x-flood: 1\r\n".repeat(10_000);
    let long = format!("x-flood: {}\r\n", "x".repeat(10 << 20));
    let head = |headers: &str| vec![send(format!("HTTP/1.1 200 OK\r\n{headers}\r\n"))];
    insta::assert_snapshot!(meet_each(&[head(&many), head(&long)]), @"
    failed protocol x1: the reply of wire at <wire> cannot be read: message head is too large
    failed protocol x1: the reply of wire at <wire> cannot be read: message head is too large
    ");
}

#[test]
fn u54_pictures_and_scripts_in_an_answer() {
    let sandbox = sandbox();
    let address = sandbox.simulator().address();
    let text =
        format!("![x](http://{address}/pixel.png) <img src='http://{address}/pixel.png'><script>1</script>");
    sandbox.simulator().script(ONE, Script::answering(&text));
    let output = output_of(sandbox.call(["ask", "-m", ONE, "Which is safer?"]));
    assert_eq!((output.code, output.text()), (Some(0), format!("{text}\n").as_str()), "verbatim");
    let is_of_the_answer = |path: &str| !path.ends_with("/chat/completions") && !path.ends_with("/models");
    let requests = sandbox.simulator().requests();
    let fetched: Vec<_> = requests.into_iter().filter(|request| is_of_the_answer(&request.path)).collect();
    assert_eq!(fetched, [], "nothing in an answer is fetched");
    assert_invariants(&sandbox);
}

#[test]
fn u56_proxies_and_dead_addresses() {
    // A host name that resolves to a dead address first, and then to a live one.
    let (sandbox, server) = (sandbox(), Wire::start(|_| answer()));
    wire::provide(&sandbox, &format!("http://localhost:{}/v1", server.port()));
    // A proxy, even a broken one, is not used for this machine.
    let dead = "http://127.0.0.1:1";
    let models = [ONE, RAW];
    let call =
        wire::with_key(&sandbox, ask(&sandbox, &models)).env("HTTPS_PROXY", dead).env("HTTP_PROXY", dead);
    let output = output_of(call.env("ALL_PROXY", dead));
    assert_eq!(synthesis(&output.json()), format!("complete fused by {SYNTHESIZER}"), "{}", output.stderr);
    // A provider elsewhere is reached only through the proxy, which learns no more than its host name.
    let proxy = Wire::start(|_| vec![whole("502 Bad Gateway", "", "")]);
    wire::provide(&sandbox, "https://provider.invalid/v1");
    let settings = [("retries_max", "0"), ("budget_usd", "none")];
    let call = wire::with_key(&sandbox, ask(&sandbox, &[ONE, RAW])).settings(settings);
    let output = output_of(call.env("HTTPS_PROXY", &format!("http://127.0.0.1:{}", proxy.port())));
    insta::assert_snapshot!(seat(&output.json()), @"failed connection x1: wire at provider.invalid cannot be reached: tunnel error: unsuccessful");
    // The list of models, and the call.
    let asked = proxy.requests();
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert!(request.starts_with("CONNECT provider.invalid:443 HTTP/1.1\r\n"), "{request}");
        assert!(!request.contains(sandbox.simulator().api_key()), "the proxy does not get the key");
    }
    assert_invariants(&sandbox);
}

#[test]
fn u57_no_more_descriptors() {
    // Enough descriptors for the program and a few connections, but far fewer than seats.
    const SEATS: usize = 64;
    let outcomes = each(&["ulimit -n 24", "ulimit -n 40"], |limit| {
        let sandbox = sandbox();
        let call =
            ask(&sandbox, &[&format!("{ONE}*{SEATS}")]).settings(SHORT_TIMERS).args(["--budget", "100"]);
        let output = output_of(call.under(limit));
        assert_invariants(&sandbox);
        let after = output_of(ask(&sandbox, &[TWO]));
        assert_eq!(after.code, Some(0), "{limit}: {}", after.stderr);
        let report = output.json();
        let answered = seats(&report).lines().filter(|line| line.contains(" answered ")).count();
        assert!((1..=SEATS).contains(&answered), "{limit}: {}", seats(&report));
        // Seats without a descriptor were retried or failed.
        let has_failed = |line: &&str| !line.contains(" answered x1 ");
        (output.code, seats(&report).lines().any(|line| has_failed(&line)))
    });
    assert_eq!(outcomes, [(Some(0), true); 2]);
}

#[test]
fn too_few_descriptors_for_a_run_are_said_before_anything_else() {
    let sandbox = sandbox();
    for limit in ["ulimit -n 5", "ulimit -n 8", "ulimit -n 23"] {
        let output = output_of(ask(&sandbox, &[ONE]).under(limit));
        let error = &output.json()["error"];
        assert_eq!((output.code, &error["code"]), (Some(7), &"storage".into()), "{limit}: {error}");
        assert!(error["next"].to_string().contains("ulimit -n 1024"), "{error}");
    }
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn u58_another_model_than_asked() {
    let behaviour = Behaviour { dated_slug: true, ..Behaviour::instant() };
    let sandbox = sandbox().scripted(ONE, Script::behaving(behaviour));
    let report = output_of(ask(&sandbox, &[ONE, TWO])).json();
    insta::assert_snapshot!(report["answers"][0]["served_model"], @r#""openai/gpt-6.1-sol-20260929""#);
    assert_invariants(&sandbox);
}
