//! The real program over HTTP: who is let in, which calls are cancelled upstream, and how it ends.

use std::net::SocketAddr;

use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Running, Sandbox};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::{Reply, SOON, Wire, post};
use super::sessions::{Legacy, modern};

/// The panel of most tests: three labs of the simulator.
pub(crate) const PANEL: [&str; 3] = ["openai/gpt-6.1-sol", "google/gemini-4-argon", "x-ai/grok-4.7"];

pub(crate) fn sandbox_with(script: Option<&Script>) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let Some(script) = script else { return sandbox };
    PANEL.into_iter().fold(sandbox, |sandbox, model| sandbox.scripted(model, script.clone()))
}

pub(crate) fn question() -> Value {
    json!({"prompt": "Which is safer, and why?", "models": PANEL, "synthesizer": PANEL[1]})
}

/// Starts the program and waits until its log names its address.
pub(crate) fn serve<'a>(
    sandbox: &'a Sandbox,
    flags: &[&str],
    settings: &[(&str, &str)],
) -> (Running<'a>, SocketAddr) {
    let log = sandbox.home().join("log");
    let log_file = log.display().to_string();
    // The log of an earlier start names an old address.
    let _ = std::fs::remove_file(&log);
    let call = sandbox.call(["serve", "--http", "127.0.0.1:0"]).args(flags);
    let running = call.settings(settings.iter().copied()).settings([("log_file", log_file.as_str())]).start();
    let address = || {
        let text = std::fs::read_to_string(&log).ok()?;
        let (_, rest) = text.split_once("MCP is served at http://")?;
        rest.split_once("/mcp")?.0.parse().ok()
    };
    sandbox.until("it listens", || address().is_some());
    (running, address().expect("it listens"))
}

fn ask(address: SocketAddr, bytes: String) -> Reply {
    let mut wire = Wire::to(address);
    wire.write(bytes);
    wire.reply().expect("an answer")
}

/// Calls a tool and waits for its reply.
pub(crate) fn call(address: SocketAddr, tool: &str, arguments: &Value) -> Value {
    ask(address, modern(address, tool, arguments)).json()
}

/// The structured content of a reply.
pub(crate) fn structured(message: &Value) -> &Value {
    &message["result"]["structuredContent"]
}

#[test]
fn a_question_is_answered_with_and_without_sessions() {
    let sandbox = sandbox_with(None);
    let (running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let modern = ask(address, modern(address, "process_prompt", &question()));
    let client = Legacy::connect(address, "");
    let older = client.ask("tools/call", json!({"name": "process_prompt", "arguments": question()}));
    for reply in [modern, older] {
        assert_eq!(structured(&reply.json())["status"], "complete", "{reply:?}");
        // A client shows its model the beginning of the content.
        assert!(reply.text().contains(r#""structuredContent":{"answer":""#), "{reply:?}");
    }
    running.signal("TERM");
    let output = running.wait();
    assert_eq!((output.code, output.text()), (Some(0), ""));
}

/// The newest version of the protocol has no handshake: `initialize` is an unknown method in it, with valid parameters
/// or not.
#[test]
fn initialize_is_an_unknown_method_in_the_newest_version() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let valid = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let mut both = valid.clone();
    both["_meta"] = meta.clone();
    for params in [json!({"_meta": meta}), valid.clone(), both] {
        let message =
            json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}).to_string();
        let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: initialize\r\n";
        let reply = ask(address, post(address, "/mcp", headers, &message));
        assert_eq!((reply.status, reply.json()["id"].clone()), (404, json!("i")), "{reply:?}");
        let error = &reply.json()["error"];
        assert_eq!(error["code"], -32601, "{error}");
        let offered = error["message"].as_str().unwrap().split_once("there are").unwrap().1.to_owned();
        assert!(!offered.contains("initialize") && !offered.contains("ping"), "{offered}");
    }
    // Without the metadata of that version it is the handshake of older versions, whatever version it requests.
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": valid}).to_string();
    let reply = ask(address, post(address, "/mcp", "", &message));
    assert_eq!((reply.status, reply.json()["result"]["protocolVersion"].clone()), (200, json!("2025-11-25")));
}

#[test]
fn the_check_command_is_not_available_over_http() {
    let sandbox = sandbox_with(None);
    let settings = [("check_command", "/bin/sh -c 'exit 0'"), ("strategy", "auto")];
    let (_running, address) = serve(&sandbox, &["--no-auth"], &settings);
    let mut checked = question();
    checked["strategy"] = json!("best-of-n@by=check");
    let refused = ask(address, modern(address, "process_prompt", &checked)).json();
    let error = structured(&refused);
    assert_eq!(error["code"], "scope_missing", "{refused}");
    assert_eq!(
        error["message"],
        "`best-of-n@by=check` runs the owner's check command, which is not available over HTTP"
    );
    assert_eq!(sandbox.chats().len(), 0);
    let report = ask(address, modern(address, "process_prompt", &question())).json();
    let of_run = json!({"run_id": structured(&report)["run_id"], "part": "report"});
    let report = ask(address, modern(address, "get_run", &of_run)).json();
    assert_eq!(structured(&report)["strategy"], "synthesize", "{report}");
}

#[test]
fn without_no_auth_a_token_is_required() {
    let sandbox = sandbox_with(None);
    let (running, address) = serve(&sandbox, &[], &[]);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for key in ["", "Authorization: Bearer 00000000\r\n"] {
        let refused = ask(address, post(address, "/mcp", key, list));
        assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"), "{key}");
    }
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn an_unsafe_address_is_refused_with_a_command_to_type() {
    let sandbox = sandbox_with(None);
    let refusal = |flags: &[&str], settings: &[(&str, &str)]| {
        let output = sandbox.call(["serve", "--http"]).args(flags).settings(settings.iter().copied()).run();
        output.transcript()
    };
    insta::assert_snapshot!(refusal(&["0.0.0.0:8930"], &[]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: `0.0.0.0:8930` can be reached from other machines, and without TLS tokens can be read on the way
      next: type `PARALLEL_LLM_HTTP_HOSTS=llm.example.com parallel-llm-mcp serve --http 0.0.0.0:8930 --tls-cert FILE --tls-key FILE` (put the name that clients call the server by for `llm.example.com` and your own files for `FILE`), where a proxy speaks TLS, `PARALLEL_LLM_HTTP_HOSTS=llm.example.com parallel-llm-mcp serve --http 0.0.0.0:8930 --behind-proxy` (put the name that clients call the server by for `llm.example.com`), or for this machine alone, `parallel-llm-mcp serve --http 127.0.0.1:8930`
    ");
    insta::assert_snapshot!(refusal(&["0.0.0.0:8930", "--no-auth"], &[]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: `0.0.0.0:8930` can be reached from other machines, so it cannot be open to everyone
      next: make a token with `parallel-llm-mcp keys create NAME`, then type `PARALLEL_LLM_HTTP_HOSTS=llm.example.com parallel-llm-mcp serve --http 0.0.0.0:8930 --tls-cert FILE --tls-key FILE` without `--no-auth` (put the name that clients call the server by for `llm.example.com` and your own files for `FILE`)
    ");
    insta::assert_snapshot!(refusal(&["127.0.0.1:8930", "--behind-proxy"], &[]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: the names that clients call the server by are not known, so none would be let in
      next: type `PARALLEL_LLM_HTTP_HOSTS=llm.example.com parallel-llm-mcp serve --http 127.0.0.1:8930 --behind-proxy` (put the name that clients call the server by for `llm.example.com`)
    ");
    insta::assert_snapshot!(refusal(&["127.0.0.1:0", "--tls-cert", "cert.pem"], &[]), @r"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: of `tls_cert` and `tls_key` only one is set
      next: set both, or neither
    ");
    insta::assert_snapshot!(refusal(&["127.0.0.1:0"], &[("http_hosts", "https://llm.example.com")]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: `http_hosts` cannot have `https://llm.example.com`
      next: write it like `llm.example.com`
    ");
}

#[test]
fn closing_the_stream_cancels_the_calls_upstream() {
    let sandbox = sandbox_with(Some(&Script::fault(Fault::Stall)));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("drain_ms", "2000")]);
    let mut wire = Wire::to(address);
    wire.write(modern(address, "process_prompt", &question()));
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    let begun = Instant::now();
    drop(wire);
    // The third provider bills on after its connection is closed, so its reply is read for a while.
    sandbox.until("the simulator sees it", || sandbox.simulator().stats().client_cancelled >= 2);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn cancelling_a_call_of_a_session_cancels_the_calls_upstream() {
    let sandbox = sandbox_with(Some(&Script::fault(Fault::Stall)));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("drain_ms", "2000")]);
    let client = Legacy::connect(address, "");
    let call = json!({"name": "process_prompt", "arguments": question()});
    let mut waiting = client.start(7, "tools/call", call);
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    let begun = Instant::now();
    assert_eq!(client.notify("notifications/cancelled", json!({"requestId": 7})).status, 202);
    sandbox.until("the simulator sees it", || sandbox.simulator().stats().client_cancelled >= 2);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(waiting.message().map(|reply| reply["error"]["code"].clone()), Some(json!(-32800)));
    assert_eq!(waiting.message(), None, "the stream has ended");
}

/// The library ends a call five seconds after its session has ended.
#[test]
fn a_session_that_ends_does_not_end_its_run() {
    let slow = Script::behaving(Behaviour { ttft_ms: Latency::of(6_500), ..Behaviour::instant() });
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp")).scripted(PANEL[0], slow);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("wait", "all")]);
    let client = Legacy::connect(address, "");
    let call = json!({"name": "process_prompt", "arguments": question()});
    let mut waiting = client.start(7, "tools/call", call);
    let is_slow = || sandbox.simulator().stats().in_flight == 1 && sandbox.chats().len() == 3;
    sandbox.until("only the slow one is waited for", is_slow);
    let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: {address}\r\n{}\r\n", client.session);
    assert_eq!(ask(address, delete).status, 204);
    assert_eq!(waiting.message(), None, "no reply after the end of the session");

    let folder = std::fs::read_dir(sandbox.data_dir().join("runs")).unwrap().flatten().next().unwrap();
    let run = json!({"run_id": folder.file_name().into_string().unwrap(), "wait_s": 50});
    let other = Legacy::connect(address, "");
    let found = other.ask("tools/call", json!({"name": "get_run", "arguments": run})).json();
    assert_eq!(structured(&found)["status"], "complete", "{found}");
}

#[test]
fn many_runs_and_a_client_that_does_not_read_delay_no_other_call() {
    let slow = Script::behaving(Behaviour { ttft_ms: Latency::of(3_000), ..Behaviour::instant() });
    let sandbox = sandbox_with(Some(&slow));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("wait", "all")]);
    let client = Legacy::connect(address, "");
    let ask = |number: u64| {
        let mut arguments = question();
        arguments["prompt"] = format!("Question {number}?").into();
        let meta = json!({"progressToken": number});
        client.start(
            number,
            "tools/call",
            json!({"name": "process_prompt", "arguments": arguments, "_meta": meta}),
        )
    };
    // The first stream is never read.
    let mut waiting: Vec<Wire> = (100..120).map(ask).collect();
    let stalled = waiting.remove(0);
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight >= 60);
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(client.ask("ping", json!({})).json()["result"], json!({}));
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
    for mut wire in waiting {
        let answer = std::iter::from_fn(|| wire.message()).find(|message| message.get("result").is_some());
        assert_eq!(structured(&answer.expect("an answer"))["status"], "complete");
    }
    let runs = sandbox.data_dir().join("runs");
    let is_written = |path: std::path::PathBuf| path.join("final_best.md").is_file();
    sandbox.until("the run of the unread stream has ended, too", || {
        std::fs::read_dir(&runs).is_ok_and(|runs| {
            runs.filter(|run| run.as_ref().is_ok_and(|run| is_written(run.path()))).count() == 20
        })
    });
    drop(stalled);
}

#[test]
fn a_signal_answers_calls_in_progress_and_a_second_one_ends_at_once() {
    let sandbox = sandbox_with(Some(&Script::fault(Fault::Stall)));
    let (running, address) = serve(&sandbox, &["--no-auth"], &[("drain_ms", "2000")]);
    let client = Legacy::connect(address, "");
    let mut listening = Wire::to(address);
    let session = &client.session;
    listening
        .write(format!("GET /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n{session}\r\n"));
    assert_eq!(listening.reply_head().unwrap().status, 200);
    let mut legacy =
        client.start(7, "tools/call", json!({"name": "process_prompt", "arguments": question()}));
    let mut newer = Wire::to(address);
    newer.write(modern(address, "process_prompt", &question()));
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight >= 3);
    let begun = Instant::now();
    running.signal("TERM");
    for wire in [&mut legacy, &mut newer] {
        let answer = std::iter::from_fn(|| wire.message()).find(|message| message.get("result").is_some());
        assert_eq!(structured(&answer.expect("an answer"))["status"], "running");
    }
    assert_eq!(running.wait().code, Some(0));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());

    sandbox.until("the first server's calls are gone", || sandbox.simulator().stats().in_flight == 0);
    let (running, address) = serve(&sandbox, &["--no-auth"], &[("drain_ms", "60000")]);
    let mut waiting = Wire::to(address);
    waiting.write(modern(address, "process_prompt", &question()));
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight >= 3);
    running.signal("INT");
    let says_so = || {
        let mut wire = Wire::to(address);
        wire.write(format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\n\r\n"));
        wire.reply().is_some_and(|reply| reply.status == 503)
    };
    sandbox.until("it says that it is stopping", says_so);
    let begun = Instant::now();
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let late = waiting.reply().map(|reply| reply.body).unwrap_or_default();
    assert!(late.is_empty(), "{}", String::from_utf8_lossy(&late));
}

/// The log of a server from its start until it names its address, without times and port numbers.
fn startup_log(sandbox: &Sandbox, flags: &[&str], settings: &[(&str, &str)]) -> String {
    let log = sandbox.home().join("begun.log");
    let _ = std::fs::remove_file(&log);
    let log_file = log.display().to_string();
    let call = sandbox.call(["serve", "--http"]).args(flags).settings(settings.iter().copied());
    let running = call.settings([("log_file", log_file.as_str())]).start();
    let log_text = || std::fs::read_to_string(&log).unwrap_or_default();
    sandbox.until("it listens", || log_text().contains("the page is served at"));
    let served = log_text();
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let ports = served.split(':').filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u16>().ok().filter(|port| *port > 1024).map(|_| digits)
    });
    let masked = ports
        .collect::<std::collections::BTreeSet<_>>()
        .iter()
        .fold(served.clone(), |text, port| text.replace(&format!(":{port}"), ":PORT"));
    let lines = masked.lines().filter_map(|line| line.split_once(' ').map(|(_, rest)| rest.trim_start()));
    lines.collect::<Vec<_>>().join("\n").replace(&sandbox.home().display().to_string(), "<home>")
}

#[test]
fn at_its_start_a_server_logs_its_address_and_its_problems() {
    let sandbox = sandbox_with(None);
    insta::assert_snapshot!(startup_log(&sandbox, &["127.0.0.1:0"], &[]), @"
    INFO the log is also written to `<home>/begun.log`
    WARN no token is in force, so programs are answered 401: make a token with `parallel-llm-mcp keys create NAME`
    INFO MCP is served at http://127.0.0.1:PORT/mcp
    INFO the OpenAI-compatible endpoint is served at http://127.0.0.1:PORT/v1
    INFO the page is served at http://127.0.0.1:PORT/
    ");
    insta::assert_snapshot!(startup_log(&sandbox, &["127.0.0.1:0", "--no-auth"], &[]), @"
    INFO the log is also written to `<home>/begun.log`
    INFO MCP is served at http://127.0.0.1:PORT/mcp
    INFO the OpenAI-compatible endpoint is served at http://127.0.0.1:PORT/v1
    INFO the page is served at http://127.0.0.1:PORT/
    ");
    assert_eq!(sandbox.call(["keys", "create", "laptop"]).run().code, Some(0));
    insta::assert_snapshot!(
        startup_log(&sandbox, &["0.0.0.0:0", "--behind-proxy"], &[("http_hosts", "llm.example.com,b.example:8443")]),
        @"
    INFO the log is also written to `<home>/begun.log`
    WARN `0.0.0.0:0` can be reached from other machines without the proxy, and then tokens and answers can be read on the way: let only the proxy reach it, or listen on `127.0.0.1:0`
    INFO MCP is served at https://llm.example.com/mcp and https://b.example:PORT/mcp
    INFO the OpenAI-compatible endpoint is served at https://llm.example.com/v1 and https://b.example:PORT/v1
    INFO the page is served at https://llm.example.com/ and https://b.example:PORT/
    "
    );
    insta::assert_snapshot!(
        startup_log(&sandbox, &["127.0.0.1:0", "--behind-proxy"], &[("http_hosts", "llm.example.com")]),
        @"
    INFO the log is also written to `<home>/begun.log`
    INFO MCP is served at http://127.0.0.1:PORT/mcp and https://llm.example.com/mcp
    INFO the OpenAI-compatible endpoint is served at http://127.0.0.1:PORT/v1 and https://llm.example.com/v1
    INFO the page is served at http://127.0.0.1:PORT/ and https://llm.example.com/
    "
    );
    // A path below a file is no folder, even for root.
    sandbox.write("taken", "a file");
    let taken = sandbox.home().join("taken/data").display().to_string();
    insta::assert_snapshot!(startup_log(&sandbox, &["127.0.0.1:0", "--no-auth"], &[("data_dir", &taken)]), @"
    INFO the log is also written to `<home>/begun.log`
    WARN the data folder `<home>/taken/data` cannot be written (not a directory): nothing is remembered, so every question is refused whose `store` is not `none`; correct its permissions, or choose another with `PARALLEL_LLM_DATA_DIR`
    INFO MCP is served at http://127.0.0.1:PORT/mcp
    INFO the OpenAI-compatible endpoint is served at http://127.0.0.1:PORT/v1
    INFO the page is served at http://127.0.0.1:PORT/
    ");
}

/// A log file is read by more people than the terminal, and kept for longer.
#[test]
fn a_link_to_sign_in_with_is_printed_until_it_is_used_and_never_logged() {
    let sandbox = sandbox_with(None);
    let (running, address) = serve(&sandbox, &[], &[]);
    let links = || {
        let stderr = running.stderr_so_far();
        let begins = format!("sign in once with http://{address}/sign-in?code=");
        let codes = stderr.lines().filter_map(|line| line.strip_prefix(begins.as_str()).map(str::to_owned));
        codes.collect::<Vec<String>>()
    };
    sandbox.until("a link is printed", || links().len() == 1);
    let redeem = |code: &str| {
        let body = format!("code={code}");
        let head = format!(
            "POST /sign-in HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let reply = ask(address, head + &body);
        reply.header("set-cookie").and_then(|set| set.split_once(';')).map(|(pair, _)| pair.to_owned())
    };
    let cookie = redeem(&links()[0]).expect("the link is good");
    sandbox.until("the next link is printed", || links().len() == 2);
    assert_eq!(redeem(&links()[0]), None, "it was used");
    let page = format!("GET /models HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n");
    assert_eq!(ask(address, page).status, 200);
    let secrets = [links(), vec![cookie.split_once('=').expect("a value").1.to_owned()]].concat();
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let log = std::fs::read_to_string(sandbox.home().join("log")).expect("there is a log");
    assert!(secrets.iter().all(|secret| secret.len() == 64 && !log.contains(secret)), "{log}");

    let (running, address) = serve(&sandbox, &["--no-auth"], &[]);
    // The links of a server would have been printed before its first answer.
    assert_eq!(ask(address, format!("GET /models HTTP/1.1\r\nHost: {address}\r\n\r\n")).status, 200);
    running.signal("TERM");
    let stderr = running.wait().stderr;
    assert!(!stderr.contains("sign in"), "{stderr}");
}

/// A browser that notes what it is told to open, and what that file holds.
#[cfg(unix)]
fn noting_browser(sandbox: &Sandbox) -> String {
    use std::os::unix::fs::PermissionsExt;

    let bin = sandbox.home().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let browser = bin.join("xdg-open");
    std::fs::write(&browser, "#!/bin/sh\ncat \"$1\" > \"$HOME/opened\"\n").expect("a program");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    format!("{}:/usr/bin:/bin", bin.display())
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_opens_in_the_browser_for_as_long_as_the_command_lasts() {
    let sandbox = sandbox_with(None);
    let path = noting_browser(&sandbox);
    let running = sandbox.call(["ask", "--quiet", "--open", "hi"]).env("PATH", &path).start();
    let opened = || std::fs::read_to_string(sandbox.home().join("opened")).unwrap_or_default();
    sandbox.until("the browser is started", || opened().ends_with("</a>\n"));
    let opened = opened();
    let link = opened.split("url=").nth(1).and_then(|rest| rest.split('"').next()).expect("a link");
    let link = link.strip_prefix("http://").expect("plain on this machine").replace("&amp;", "&");
    let (address, rest) = link.split_once("/sign-in?").expect("a page to sign in");
    let address: SocketAddr = address.parse().expect("an address");
    assert!(address.ip().is_loopback());
    let code = rest.split('&').next().expect("a code");
    let arguments = String::from_utf8_lossy(&running.command_line()).into_owned();
    assert!(!arguments.contains(&code[5..]), "the code is in no list of processes");
    let head = format!(
        "POST /sign-in HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        code.len()
    );
    let reply = ask(address, head + code);
    let cookie = reply.header("set-cookie").and_then(|set| set.split(';').next()).expect("a session");
    let page = |target: &str| {
        ask(address, format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n"))
    };
    sandbox.until("the answer is printed", || !running.stdout_so_far().is_empty());
    assert_eq!(page("/runs/@").status, 303, "the newest run has an address of its own");
    assert_eq!(page("/runs.json").status, 200);
    assert_eq!(page("/mcp").status, 404, "no other door is open");
    running.signal("INT");
    let output = running.wait();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let left = std::fs::read_dir(sandbox.data_dir()).expect("the data folder").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("open-")), "{left:?}");
}

#[test]
fn the_commands_that_a_refusal_suggests_start_a_server() {
    let sandbox = sandbox_with(None);
    let made = rcgen::generate_simple_self_signed(["llm.example.com".to_owned()]).unwrap();
    let certificate = sandbox.write("cert.pem", made.cert.pem()).display().to_string();
    let key = sandbox.write("key.pem", made.signing_key.serialize_pem()).display().to_string();
    let refused = sandbox.call(["serve", "--http", "0.0.0.0:0", "--no-auth"]).run().transcript();
    let refused = refused + &sandbox.call(["serve", "--http", "0.0.0.0:0"]).run().transcript();
    let quoted = refused.split('`').filter(|quoted| quoted.contains("parallel-llm-mcp serve"));
    let commands: Vec<String> = quoted.map(str::to_owned).collect();
    assert_eq!(commands.len(), 4, "{refused}");
    for command in commands {
        let command = command
            .replace("--tls-cert FILE", &format!("--tls-cert {certificate}"))
            .replace("--tls-key FILE", &format!("--tls-key {key}"));
        let (before, flags) = command.split_once("parallel-llm-mcp serve --http ").expect("a command");
        let hosts = before.trim().strip_prefix("PARALLEL_LLM_HTTP_HOSTS=").unwrap_or_default();
        let settings: &[(&str, &str)] = if hosts.is_empty() { &[] } else { &[("http_hosts", hosts)] };
        let flags: Vec<&str> = flags.split(' ').collect();
        let startup = startup_log(&sandbox, &flags, settings);
        let expected =
            if flags[0].starts_with("127.") { "http://127.0.0.1:" } else { "https://llm.example.com" };
        assert!(startup.contains(&format!("MCP is served at {expected}")), "{command}: {startup}");
    }
}
