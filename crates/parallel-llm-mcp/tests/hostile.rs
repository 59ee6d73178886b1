//! Tens of thousands of bad inputs on one connection of the real program: each that is due a reply gets exactly one,
//! under its own id if it has one, and the server still works afterwards.

mod bad;
mod http;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::mcp::client::{Client, PANEL, SOON, hello};
use bad::{Bad, Generator};
use http::{Connection, Server, shown};
use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Fault, Script};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Inputs over each transport.
const INPUTS: usize = 10_000;
/// Inputs sent before their replies are read: far more than any queue in between holds.
const BATCH: usize = 400;
/// How long all inputs over one transport may take on a busy machine.
const ALL_MAX: Duration = Duration::from_secs(300);

fn sandbox() -> Sandbox {
    sandbox_with([])
}

fn sandbox_with(scripts: impl IntoIterator<Item = (&'static str, Script)>) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    scripts.into_iter().fold(sandbox, |sandbox, (model, script)| sandbox.scripted(model, script))
}

/// Sends a batch and reads exactly the replies that are due.
fn exchange(client: &mut Client, batch: &[Bad]) {
    for bad in batch {
        client.line(&bad.bytes);
    }
    let mut due = BTreeMap::<String, Vec<&Bad>>::new();
    for (bad, id) in batch.iter().flat_map(|bad| bad.replies.iter().map(move |id| (bad, id))) {
        due.entry(id.to_string()).or_default().push(bad);
    }
    let expected: usize = due.values().map(Vec::len).sum();
    let mut surplus = Vec::new();
    for _ in 0..expected {
        let Some(reply) = client.find(|_| true) else { break };
        assert!(reply["result"].is_object() != reply["error"].is_object(), "{reply}");
        let error = &reply["error"];
        let is_explained =
            error["code"].is_i64() && error["message"].as_str().is_some_and(|it| it.len() > 15);
        assert!(error.is_null() || is_explained, "{reply}");
        if due.get_mut(&reply["id"].to_string()).and_then(Vec::pop).is_none() {
            surplus.push(reply);
        }
    }
    due.retain(|_, waiting| !waiting.is_empty());
    let unanswered = due.iter().map(|(id, lost)| format!("{id}: {}", shown(&lost[0].bytes)));
    let unanswered: Vec<String> = unanswered.take(12).collect();
    assert!(unanswered.is_empty(), "unanswered: {unanswered:#?}; instead there came {surplus:#?}");
}

#[test]
fn ten_thousand_bad_lines_get_a_reply_each_and_harm_nothing() {
    let sandbox = sandbox();
    let begun = Instant::now();
    let mut client = Client::new(&sandbox, &[]);
    let all = Generator::new(7).take(INPUTS);
    all.chunks(BATCH).for_each(|batch| exchange(&mut client, batch));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.seen, Vec::<Value>::new(), "more replies than are due");
    assert_eq!(sandbox.chats().len(), 0, "nothing was asked of a model");
    client.hang_up();
    let (status, _) = client.wait();
    assert!(status.success(), "{status}");
    assert!(begun.elapsed() < ALL_MAX, "{} inputs took {:?}", all.len(), begun.elapsed());
}

#[test]
fn lines_over_the_limit_are_refused_under_their_id() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let much = "a".repeat(33 << 20);
    let batch: Vec<Bad> = [
        (
            format!(r#"{{"jsonrpc":"2.0","id":"first","method":"ping","params":{{"x":"{much}"}}}}"#),
            json!("first"),
        ),
        (
            format!(r#"{{"method":"ping","params":{{"x":"{much}"}},"jsonrpc":"2.0","id":"last"}}"#),
            json!("last"),
        ),
        (format!(r#"{{"method":"ping","params":{{"x":"{much}"#), Value::Null),
        (much, Value::Null),
    ]
    .into_iter()
    .map(|(line, id)| Bad { bytes: line.into_bytes(), replies: vec![id] })
    .collect();
    exchange(&mut client, &batch);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.seen, Vec::<Value>::new());
}

#[test]
fn bad_lines_before_the_handshake_do_not_prevent_it() {
    let sandbox = sandbox();
    let mut client = Client::silent(&sandbox, &[]);
    Generator::new(11).take(1_500).chunks(BATCH).for_each(|batch| exchange(&mut client, batch));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.begin("test-client")["serverInfo"]["name"], "parallel-llm-mcp");
    assert!(client.request("tools/list", json!({}))["result"].is_object());
    assert_eq!(client.seen, Vec::<Value>::new());
}

/// Long JSON values of different shapes, and whether a message with one is read.
fn shapes(bytes: usize) -> [(&'static str, String, bool); 7] {
    let fill = |piece: &str| piece.repeat(bytes / piece.len());
    let keys: Vec<String> = (0..bytes / 12).map(|number| format!("\"{number:08}\":0,")).collect();
    let keys = keys.concat();
    let deep = format!("{}0{},", "[".repeat(100), "]".repeat(100));
    [
        ("objects", format!("[{}0]", fill("{\"\":0},")), false),
        ("lists", format!("[{}0]", fill("[],")), false),
        ("keys", format!("{{{keys}\"\":0}}"), false),
        ("deep", format!("[{}0]", fill(&deep)), false),
        ("text", format!("\"{}\"", fill("a")), true),
        ("escapes", format!("\"{}\"", fill("\\u0041")), true),
        ("halves", format!("\"{}\"", fill("\\ud83d")), true),
    ]
}

/// The most memory a process ever held, in bytes.
fn peak_bytes(id: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel counts it");
    let kilobytes: usize = line.trim().trim_end_matches("kB").trim().parse().expect("it is a number");
    kilobytes * 1024
}

/// The length of each long message in the tests of memory: short enough to be read quickly without optimization, yet
/// hundreds of megabytes if every value in it were allocated.
const LONG_BYTES: usize = 512 * 1024;
/// The most memory that all of them may take above the idle process.
const ABOVE_IDLE_BYTES_MAX: usize = 64 << 20;

#[test]
fn the_memory_for_a_long_line_depends_on_its_length_only() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    client.request("tools/list", json!({}));
    let idle = peak_bytes(client.child.id());
    for (shape, value, is_read) in shapes(LONG_BYTES) {
        client.line(format!(
            r#"{{"method":"tools/call","params":{{"name":"list_models","arguments":{{"search":{value}}}}},"jsonrpc":"2.0","id":"{shape}"}}"#
        ));
        let reply = client.reply(&json!(shape));
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(message.contains("20000 JSON values"), !is_read, "{shape}: {message}");
    }
    let above = peak_bytes(client.child.id()) - idle;
    assert!(above < ABOVE_IDLE_BYTES_MAX, "{} MiB above idle", above >> 20);
}

#[test]
fn the_memory_for_a_long_body_depends_on_its_length_only() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox);
    let [mut first, mut second] = [connect(&server), connect(&server)];
    let idle = peak_bytes(server.child.id());
    for (shape, value, is_read) in shapes(LONG_BYTES) {
        let body = format!(
            r#"{{"method":"tools/call","params":{{"name":"list_models","arguments":{{"search":{value}}}}},"jsonrpc":"2.0","id":"{shape}"}}"#
        );
        let check = |connection: &mut Connection| {
            let response = connection.post(body.as_bytes());
            let reply = response.messages().into_iter().find(|message| message["id"] == shape);
            let reply = reply.unwrap_or_else(|| panic!("no reply: {response:?}"));
            assert_eq!(reply["error"].is_null(), is_read, "{shape}: {reply}");
        };
        std::thread::scope(|scope| {
            scope.spawn(|| check(&mut first));
            check(&mut second);
        });
    }
    let above = peak_bytes(server.child.id()) - idle;
    assert!(above < ABOVE_IDLE_BYTES_MAX, "{} MiB above idle", above >> 20);
}

/// Fills the pipe and the program's own queue, for a client that reads nothing, with replies and then errors.
fn fill_output(client: &mut Client, refusals: usize) {
    client.send("initialize", hello("test-client"));
    client.notify("notifications/initialized", json!({}));
    for _ in 0..100 {
        client.send("tools/list", json!({}));
    }
    client.line(vec!["no message"; refusals].join("\n"));
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_the_process_alive() {
    let sandbox = sandbox();
    let drain = [("PARALLEL_LLM_DRAIN_MS", "1000")];
    // One line that is no message, then the end of stdin.
    let mut client = Client::deaf(&sandbox, &drain);
    fill_output(&mut client, 1);
    client.hang_up();
    let (status, took) = client.wait();
    assert!(status.success() && took < SOON, "{status} after {took:?}");
    // More than the program queues for a client, then a signal.
    let mut client = Client::deaf(&sandbox, &drain);
    fill_output(&mut client, 9_000);
    client.signal("TERM");
    let (status, took) = client.wait();
    assert!(status.success() && took < SOON, "{status} after {took:?}");
}

/// Clients close stdin, send SIGTERM after two seconds, and SIGKILL two seconds later.
#[test]
fn a_signal_after_the_end_of_stdin_ends_the_process_quickly() {
    let sandbox = sandbox_with(PANEL.map(|model| (model, Script::fault(Fault::Stall))));
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "20000")]);
    client.start("process_prompt", json!({"prompt": "Why?", "models": PANEL}));
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    client.hang_up();
    let log = || std::fs::read_to_string(sandbox.home().join("stderr")).unwrap_or_default();
    // It drains, as it does without a signal.
    std::thread::park_timeout(Duration::from_secs(1));
    assert!(client.child.try_wait().unwrap().is_none(), "{}", log());
    client.signal("TERM");
    let (status, took) = client.wait();
    assert!(status.success(), "{status}");
    // Less than a second on an idle machine; in any case half of the drain time.
    assert!(took < SOON, "{took:?}");
    let runs = sandbox.call(["runs", "show", "@", "--json"]).run().json();
    assert_eq!(runs["status"], "interrupted", "{runs}");
    for seat in runs["answers"].as_array().unwrap() {
        assert_eq!(seat["status"], "unknown", "{seat}");
        assert!(seat["generation_id"].is_string(), "{seat}");
    }
}

/// A connection with a session.
fn connect(server: &Server) -> Connection {
    let mut connection = Connection::new(server.address);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello("test-client")});
    let response = connection.post(hello.to_string().as_bytes());
    let session = response.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {response:?}"));
    connection.session = Some(session.to_owned());
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(connection.post(begun.to_string().as_bytes()).status, 202);
    connection
}

/// A description of what is wrong with the response to this input, if anything is.
fn fault(bad: &Bad, response: &http::Response) -> Option<String> {
    let is_answered = match bad.replies.first() {
        None => response.status < 500,
        Some(id) => {
            let messages = response.messages();
            let replies = messages.iter().filter(|message| message.get("method").is_none());
            response.status < 500
                && replies.clone().count() == 1
                && replies.clone().all(|reply| reply["id"] == *id)
        }
    };
    (!is_answered).then(|| format!("{}: {response:?}", shown(&bad.bytes)))
}

#[test]
fn ten_thousand_bad_bodies_get_a_response_each_and_harm_nothing() {
    let sandbox = sandbox();
    let begun = Instant::now();
    let mut server = Server::start(&sandbox);
    let all = Generator::new(13).take(INPUTS);
    std::thread::scope(|scope| {
        for part in all.chunks(all.len().div_ceil(4)) {
            let mut connection = connect(&server);
            scope.spawn(move || {
                let faults = part.iter().filter_map(|bad| fault(bad, &connection.post(&bad.bytes)));
                let faults: Vec<String> = faults.collect();
                assert!(
                    faults.is_empty(),
                    "{} faults, such as {:#?}",
                    faults.len(),
                    &faults[..faults.len().min(12)]
                );
            });
        }
    });
    // Without a session each also gets a response, whatever it says.
    let mut without_session = Connection::new(server.address);
    for bad in Generator::new(17).take(1_500) {
        let response = without_session.post(&bad.bytes);
        assert!(response.status < 500, "{}: {response:?}", shown(&bad.bytes));
    }
    let ping = connect(&server).post(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(ping.messages(), [json!({"jsonrpc": "2.0", "id": 1, "result": {}})], "{ping:?}");
    assert!(server.child.try_wait().unwrap().is_none(), "the server has ended");
    assert_eq!(sandbox.chats().len(), 0, "nothing was asked of a model");
    assert!(begun.elapsed() < ALL_MAX, "{} inputs took {:?}", all.len(), begun.elapsed());
}

#[test]
fn no_input_of_the_fuzz_corpus_causes_a_panic() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/line");
    let inputs = std::fs::read_dir(&folder).expect("the target has a corpus");
    let paths: Vec<_> = inputs.map(|input| input.expect("a corpus can be listed").path()).collect();
    assert!(!paths.is_empty());
    for path in paths {
        let line = std::fs::read(&path).expect("an input can be read");
        // Also cut anywhere, because a line may be read in parts.
        (0..=line.len()).for_each(|end| parallel_llm_mcp_door::fuzz::line(&line[..end]));
    }
}

/// Requests for a long run that a client sends before it reads anything.
const FETCHES: usize = 1_500;
/// What their replies may take above the process that has read the run once: the 64 MiB that are kept for a client, up to four
/// times while they are in the making and before the allocator has returned them.
const UNREAD_ABOVE_BYTES_MAX: usize = 256 << 20;

/// The processor time that a process has taken, in the kernel's ticks.
fn ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("the process runs");
    let fields = stat.rsplit_once(") ").expect("the name ends there").1.split(' ');
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Waits until a process has done all it can.
fn settle(id: u32) {
    let (begun, mut before) = (Instant::now(), 0);
    while before != ticks(id) && begun.elapsed() < ALL_MAX {
        before = ticks(id);
        std::thread::park_timeout(Duration::from_secs(1));
    }
}

#[test]
fn replies_that_nobody_reads_take_bounded_memory_and_none_is_missing() {
    let long = "Each of these words is part of the answer. ".repeat(2_000);
    let sandbox = sandbox_with(PANEL.map(|model| (model, Script::answering(&long))));
    let mut client = Client::new(&sandbox, &[]);
    let question = json!({"prompt": "What is there to say?", "models": PANEL, "strategy": "panel"});
    let run_id = client.call("process_prompt", question)["structuredContent"]["run_id"].clone();
    let run_id = run_id.as_str().expect("it names the run").to_owned();
    let get = |part: &str| json!({"name": "get_run", "arguments": {"run_id": run_id, "part": part}});
    client.request("tools/call", get("answer:1"));
    let idle = peak_bytes(client.child.id());

    let mut deaf = Client::deaf(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "1000")]);
    deaf.send("initialize", hello("test-client"));
    deaf.notify("notifications/initialized", json!({}));
    let uri = json!({"uri": format!("parallel-llm://runs/{run_id}/answer:2")});
    let ids: Vec<i64> = (0..FETCHES)
        .map(|number| match number % 3 {
            0 => deaf.send("tools/call", get("answer:1")),
            1 => deaf.send("tools/call", get("report")),
            _ => deaf.send("resources/read", uri.clone()),
        })
        .collect();
    settle(deaf.child.id());

    let replies = deaf.read_late(1 + FETCHES);
    let above = peak_bytes(deaf.child.id()).saturating_sub(idle);
    assert!(above < UNREAD_ABOVE_BYTES_MAX, "{} MiB above the process that has read it once", above >> 20);
    let left_out = replies.iter().filter(|reply| reply["error"]["code"] == -32000).count();
    let whole = replies.iter().filter(|reply| reply["result"].is_object()).count();
    assert!(
        left_out > 0 && whole > 300 && left_out + whole == 1 + FETCHES,
        "{whole} whole, {left_out} left out"
    );
    let mut answered: Vec<i64> = replies.iter().filter_map(|reply| reply["id"].as_i64()).collect();
    answered.sort_unstable();
    assert_eq!(&answered[1..], ids, "each request has one reply");
}
