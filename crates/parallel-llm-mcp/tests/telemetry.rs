//! What the program tells of its work: traces and figures to a collector, figures and health over HTTP.

mod collector;
mod health;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;

use axum::http::StatusCode;
use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Sandbox};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http::client::{Reply, SOON, Wire, post};
use crate::http::program::{PANEL, call, question, sandbox_with, serve, structured};
use crate::http::sessions::{Legacy, modern_with};
use collector::{Collector, Does, attribute, list};

/// A question with a word that must be in no export.
const QUESTION: &str = "Is zanzibarquux safe?";
/// A trace that a caller is in.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Asks two models on the command line, with these settings, and exports to this address.
fn ask(sandbox: &Sandbox, collector: &str, settings: &[(&str, &str)]) -> Output {
    let models = ["-m", PANEL[0], "-m", PANEL[2], "--synthesizer", PANEL[1]];
    let call = sandbox.call(["ask", "--json", "--no-files"]).args(models).arg(QUESTION);
    let call = call.env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue%20and%20green");
    call.settings([("otlp_endpoint", collector), ("retries_max", "0")])
        .settings(settings.iter().copied())
        .run()
}

/// A span in a line, without what differs from run to run.
fn described(span: &Value) -> String {
    let mut line = format!("{} kind={} status={}", span["name"], span["kind"], span["status"]);
    for attribute in list(&span["attributes"]) {
        let name = attribute["key"].as_str().unwrap_or_default();
        let value = match name {
            "parallel_llm.run.id" | "gen_ai.response.id" | "server.port" | "parallel_llm.first_token_ms" => {
                "<it>".to_owned()
            }
            _ => attribute["value"]
                .as_object()
                .and_then(|value| value.values().next())
                .unwrap_or(&Value::Null)
                .to_string(),
        };
        let _ = write!(line, "\n  {name}: {value}");
    }
    line
}

#[test]
fn a_run_is_traced_as_the_servers_of_its_models_were_told() {
    let sandbox = sandbox_with(None).scripted(PANEL[2], Script::fault(Fault::Server500));
    let collector = Collector::that(Does::Takes);
    let output = ask(&sandbox, &collector.url(), &[]);
    assert_eq!(output.code, Some(0), "{}", output.transcript());
    let spans = collector.spans();
    let told: Vec<String> = spans.iter().map(described).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    "invoke_agent parallel-llm-mcp" kind=1 status={}
      gen_ai.operation.name: "invoke_agent"
      gen_ai.provider.name: "parallel-llm-mcp"
      gen_ai.agent.name: "parallel-llm-mcp"
      parallel_llm.run.id: <it>
      parallel_llm.run.status: "partial"
      parallel_llm.run.strategy: "synthesize"
      parallel_llm.run.seats: "2"
      parallel_llm.run.answered: "1"
      parallel_llm.cost_usd: 0.001252
      parallel_llm.cost_is_estimate: false
    "chat openai/gpt-6.1-sol" kind=3 status={}
      gen_ai.operation.name: "chat"
      gen_ai.provider.name: "openrouter"
      gen_ai.request.model: "openai/gpt-6.1-sol"
      server.address: "127.0.0.1"
      server.port: <it>
      gen_ai.response.id: <it>
      parallel_llm.run.id: <it>
      parallel_llm.call: "seat 1"
      parallel_llm.attempt: "1"
      parallel_llm.cost_usd: 0.001252
      gen_ai.response.model: "openai/gpt-6.1-sol"
      gen_ai.response.finish_reasons: {"values":[{"stringValue":"stop"}]}
      gen_ai.usage.input_tokens: "6"
      gen_ai.usage.output_tokens: "124"
      gen_ai.usage.reasoning.output_tokens: "0"
      gen_ai.usage.cache_read.input_tokens: "0"
      parallel_llm.first_token_ms: <it>
    "chat x-ai/grok-4.7" kind=3 status={"code":2}
      gen_ai.operation.name: "chat"
      gen_ai.provider.name: "openrouter"
      gen_ai.request.model: "x-ai/grok-4.7"
      server.address: "127.0.0.1"
      server.port: <it>
      error.type: "upstream"
      http.response.status_code: "500"
      parallel_llm.run.id: <it>
      parallel_llm.call: "seat 2"
      parallel_llm.attempt: "1"
      parallel_llm.cost_usd: 0.0
    "#);

    check_ids(&sandbox, &spans);
    let bodies = collector.bodies("/v1/metrics");
    let metrics = list(&bodies[0]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]);
    let names: Vec<&str> = metrics.iter().filter_map(|metric| metric["name"].as_str()).collect();
    for name in ["gen_ai.client.operation.duration", "gen_ai.client.token.usage", "parallel_llm_runs_ended"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let durations =
        metrics.iter().find(|metric| metric["name"] == "gen_ai.client.operation.duration").unwrap();
    for point in list(&durations["histogram"]["dataPoints"]) {
        let (counts, bounds) = (list(&point["bucketCounts"]), list(&point["explicitBounds"]));
        let sum: u64 = counts.iter().map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(
            (sum.to_string(), counts.len()),
            (point["count"].as_str().unwrap().to_owned(), bounds.len() + 1)
        );
    }
}

/// Checks that every request carried the ids of its own span, and that all spans belong to that of the run.
fn check_ids(sandbox: &Sandbox, spans: &[Value]) {
    let run = &spans[0];
    let chats = sandbox.chats();
    assert_eq!(chats.len(), spans.len() - 1);
    for chat in &chats {
        let is_its =
            |span: &&Value| attribute(span, "gen_ai.request.model").as_str() == chat.model.as_deref();
        let span = spans.iter().find(is_its).expect("every request has a span");
        let text = |name: &str| span[name].as_str().unwrap_or_default();
        let expected = format!("00-{}-{}-01", text("traceId"), text("spanId"));
        assert_eq!(chat.header("traceparent"), Some(expected.as_str()));
        assert_eq!((&span["parentSpanId"], &span["traceId"]), (&run["spanId"], &run["traceId"]));
        // Numbers of as many digits compare like texts.
        assert!(text("startTimeUnixNano") <= text("endTimeUnixNano"));
    }
    assert!(run.get("parentSpanId").is_none(), "{run}");
}

#[test]
fn a_run_that_goes_on_stays_in_its_trace() {
    let script = Script::fault(Fault::Server500).fail_first(1);
    let sandbox = sandbox_with(None).scripted(PANEL[2], script);
    let (first, second) = (Collector::that(Does::Takes), Collector::that(Does::Takes));
    assert_eq!(ask(&sandbox, &first.url(), &[]).code, Some(0));
    let resumed =
        sandbox.call(["runs", "resume", "@"]).settings([("otlp_endpoint", second.url().as_str())]).run();
    assert_eq!(resumed.code, Some(0), "{}", resumed.transcript());
    let (before, after) = (first.spans(), second.spans());
    assert!(after.len() > 1, "{after:?}");
    assert!(after.iter().all(|span| span["traceId"] == before[0]["traceId"]), "{after:?}");
    // A further part of a run is a span within it.
    assert_eq!(after[0]["parentSpanId"], before[0]["spanId"]);
    assert_ne!(after[0]["spanId"], before[0]["spanId"]);
}

#[test]
fn the_doctor_says_whether_the_collector_answers() {
    let sandbox = sandbox_with(None);
    let collector = Collector::that(Does::Takes);
    let found = |address: &str| {
        let output = sandbox.call(["doctor", "--json"]).settings([("otlp_endpoint", address)]).run();
        let findings = list(&output.json()["findings"]);
        let finding = findings.into_iter().find(|finding| finding["check"] == "collector");
        finding.map(|finding| (finding["state"].clone(), finding["found"].clone()))
    };
    assert_eq!(found(&collector.url()), Some((json!("ok"), json!("the collector takes traces"))));
    assert_eq!(found("http://collector.example:4318").unwrap().0, "warning");
    assert_eq!(found("off"), None);
}

#[test]
fn nothing_that_was_said_and_no_key_is_exported_unless_the_owner_says_so() {
    let sandbox = sandbox_with(None).scripted(PANEL[0], Script::answering("The wombatquux answers."));
    let exported = |content: &str| {
        let collector = Collector::that(Does::Takes);
        let output = ask(&sandbox, &collector.url(), &[("otlp_content", content)]);
        assert_eq!(output.code, Some(0), "{}", output.transcript());
        let received = collector.received();
        assert!(received.iter().all(|received| received.headers["x-team"] == "blue and green"));
        received
            .iter()
            .map(|received| String::from_utf8_lossy(&received.body).into_owned())
            .collect::<String>()
    };
    let (without, with) = (exported("off"), exported("on"));
    for word in ["zanzibarquux", "wombatquux", "blue and green", sandbox.simulator().api_key()] {
        assert!(!without.contains(word), "{word} in {without}");
    }
    assert!(with.contains("zanzibarquux") && with.contains("wombatquux"), "{with}");
    assert!(!with.contains(sandbox.simulator().api_key()));
}

#[test]
fn the_newest_part_of_a_long_question_is_exported_as_json() {
    let sandbox = sandbox_with(None);
    let collector = Collector::that(Does::Takes);
    let earlier = format!("An earlier question. {}", "Long. ".repeat(4_000));
    for prompt in [earlier.as_str(), "And then?"] {
        let call = sandbox.call(["ask", "--fresh", "--no-files", "-m", PANEL[0]]);
        let call = if prompt == earlier { call } else { call.args(["-c"]) };
        let call = call.arg(prompt).settings([("otlp_endpoint", collector.url().as_str())]);
        assert_eq!(call.settings([("otlp_content", "on")]).run().code, Some(0));
    }
    let sent = collector
        .spans()
        .into_iter()
        .filter_map(|span| attribute(&span, "gen_ai.input.messages").as_str().map(str::to_owned));
    let sizes = sent.map(|text| {
        let messages: Value = serde_json::from_str(&text).expect("it is JSON");
        let chars = |part: &Value| part["content"].as_str().unwrap_or_default().chars().count();
        let of = |message: &Value| list(&message["parts"]).iter().map(chars).sum::<usize>();
        list(&messages).iter().map(of).collect::<Vec<_>>()
    });
    // Each has the most characters that are exported, and the newest message is whole.
    insta::assert_debug_snapshot!(sizes.collect::<Vec<_>>(), @"
    [
        [
            16384,
        ],
        [
            15895,
            480,
            9,
        ],
    ]
    ");
}

/// A server has figures before its first run, and the ones that are looked at are those of `/metrics`.
#[test]
fn a_server_exports_its_figures_without_any_run_and_as_they_are() {
    let sandbox = sandbox_with(None).scripted(PANEL[0], Script::fault(Fault::BadGateway));
    let gauge = |collector: &Collector, name: &str| {
        let bodies = collector.bodies("/v1/metrics");
        let last = bodies.last().expect("figures were sent");
        let metrics = list(&last["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]);
        let metric = metrics.into_iter().find(|metric| metric["name"] == name).expect("it is among them");
        list(&metric["gauge"]["dataPoints"])
            .iter()
            .map(|point| point["asDouble"].as_f64().unwrap())
            .sum::<f64>()
    };
    for (asked, is_open) in [(0, false), (6, true)] {
        let collector = Collector::that(Does::Takes);
        let settings = [("otlp_endpoint", collector.url()), ("retries_max", "0".to_owned())];
        let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
        let (running, address) = serve(&sandbox, &["--no-auth"], &settings);
        for number in 0..asked {
            call(address, "process_prompt", &json!({"prompt": format!("{number}?"), "models": [PANEL[0]]}));
        }
        running.signal("TERM");
        assert_eq!(running.wait().code, Some(0));
        let circuits = gauge(&collector, "parallel_llm_circuits_open");
        assert_eq!(circuits > 0.5, is_open, "{circuits} circuits after {asked} questions");
    }
}

#[test]
fn a_collector_that_is_dead_refuses_or_hangs_costs_no_answer_and_little_time() {
    let sandbox = sandbox_with(None);
    let check = |address: &str| {
        let begun = Instant::now();
        let output = ask(&sandbox, address, &[]);
        assert_eq!(output.code, Some(0), "{address}");
        assert!(!output.stderr.contains("export"), "{address}: {}", output.stderr);
        assert_eq!(output.json()["status"], "complete");
        assert!(begun.elapsed() < SOON, "{address}: {:?}", begun.elapsed());
    };
    check(&format!("http://{}", Collector::nowhere()));
    for does in
        [Does::Hangs, Does::Refuses(StatusCode::SERVICE_UNAVAILABLE), Does::Refuses(StatusCode::BAD_REQUEST)]
    {
        let collector = Collector::that(does);
        check(&collector.url());
        assert!(!collector.received().is_empty(), "{does:?}");
    }
    // An address that may not be used turns the export off, and stops nothing.
    check("http://collector.example:4318");
}

#[test]
fn a_command_continues_the_trace_that_it_is_called_in() {
    let sandbox = sandbox_with(None);
    let trace = PARENT.split('-').nth(1).unwrap();
    let parents = |variables: &[(&str, &str)], settings: &[(&str, &str)]| {
        let before = sandbox.chats().len();
        let call = sandbox
            .call(["ask", "--fresh", "--no-files", "-m", PANEL[0], "Why?"])
            .settings(settings.iter().copied());
        let call = variables.iter().fold(call, |call, (name, value)| call.env(name, value));
        assert_eq!(call.run().code, Some(0));
        let chats = sandbox.chats().split_off(before);
        let header = |name: &str| chats[0].header(name).map(str::to_owned);
        (header("traceparent"), header("tracestate"))
    };
    assert_eq!(parents(&[], &[]), (None, None), "nobody asked for a trace");
    assert_eq!(parents(&[("TRACEPARENT", "00-junk")], &[]), (None, None));
    assert_eq!(parents(&[("TRACEPARENT", PARENT)], &[("trace_calls", "off")]), (None, None));
    let (parent, state) = parents(&[("TRACEPARENT", PARENT), ("TRACESTATE", "a=1")], &[]);
    let parent = parent.unwrap();
    assert!(parent.starts_with(&format!("00-{trace}-")) && parent != PARENT, "{parent}");
    assert_eq!(state.as_deref(), Some("a=1"));
}

#[test]
fn the_trace_of_a_caller_goes_on_from_every_transport_of_the_protocol() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let trace = |number: usize| format!("00-{:032x}-b7ad6b7169203331-01", 0xabc + number);
    let ask = |number: usize| json!({"prompt": format!("Question {number}?"), "models": [PANEL[0]]});
    let told = |number: usize| {
        let asked = |body: &Value| body.to_string().contains(&format!("Question {number}?"));
        let chats = sandbox.chats().into_iter().filter(|chat| asked(&chat.body));
        chats
            .filter_map(|chat| chat.header("traceparent").map(|parent| parent[..35].to_owned()))
            .collect::<Vec<_>>()
    };
    let expected = |number: usize| vec![trace(number)[..35].to_owned()];

    let mut wire = Wire::to(address);
    wire.write(modern_with(&format!("traceparent: {}\r\n", trace(1)), address, "process_prompt", &ask(1)));
    assert_eq!(wire.reply().unwrap().status, 200);
    assert_eq!(told(1), expected(1));

    let client = Legacy::connect(address, "");
    let params = json!({"name": "process_prompt", "arguments": ask(2), "_meta": {"traceparent": trace(2)}});
    assert_eq!(client.ask("tools/call", params).status, 200);
    assert_eq!(told(2), expected(2));

    let params = json!({"name": "process_prompt", "arguments": ask(3), "_meta": {"traceparent": "00-junk"}});
    assert_eq!(client.ask("tools/call", params).status, 200);
    assert_eq!(told(3), Vec::<String>::new());
}

fn get(address: SocketAddr, path: &str, headers: &str) -> Reply {
    try_get(address, path, headers).expect("an answer")
}

/// The same where the server may close the connection instead, because it has just begun to stop.
fn try_get(address: SocketAddr, path: &str, headers: &str) -> Option<Reply> {
    let mut wire = Wire::to(address);
    wire.write(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n"));
    wire.reply()
}

/// The figures without buckets, sums of times, descriptions, and the circuits of providers that are not asked.
fn figures(text: &str) -> String {
    let left_out = ["_bucket{", "_seconds_sum", "# ", "route=\"/metrics\""];
    let is_of_others = |line: &str| line.contains("circuits_open") && !line.contains("openrouter");
    let is_stable = |line: &&str| !left_out.iter().any(|part| line.contains(part)) && !is_of_others(line);
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let lines: Vec<&str> = text.lines().filter(is_stable).collect();
    lines.join("\n").replace(&version, "version=\"<version>\"")
}

#[test]
fn the_figures_count_a_known_run() {
    let sandbox = sandbox_with(None).scripted(PANEL[2], Script::fault(Fault::Server500));
    let panel = PANEL.join(" ");
    let settings = [("panel", panel.as_str()), ("synthesizer", PANEL[1]), ("retries_max", "0")];
    let (_running, address) = serve(&sandbox, &["--no-auth"], &settings);
    let answered = call(address, "process_prompt", &question());
    assert_eq!(structured(&answered)["status"], "partial", "{answered}");
    sandbox.until("the run is closed", || {
        get(address, "/metrics", "").text().contains("parallel_llm_runs_ended_total{status=\"partial\"} 1")
    });
    assert_eq!(get(address, "/runs/01M7WGEKRDFZ7B8XMTVYJPZNPZ", "").status, 404);
    let reply = get(address, "/metrics", "");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4"));
    // How often this test has looked is no fact of the program.
    let lines = figures(&reply.text());
    let lines =
        lines.lines().filter(|line| !line.contains("route=\"/metrics\"")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(lines, @r#"
    gen_ai_client_operation_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="google/gemini-4-argon"} 2
    gen_ai_client_operation_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="openai/gpt-6.1-sol"} 1
    gen_ai_client_operation_duration_seconds_count{error_type="upstream",gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="x-ai/grok-4.7"} 1
    gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="google/gemini-4-argon",gen_ai_token_type="input"} 791
    gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="google/gemini-4-argon",gen_ai_token_type="input"} 2
    gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="google/gemini-4-argon",gen_ai_token_type="output"} 450
    gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="google/gemini-4-argon",gen_ai_token_type="output"} 2
    gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="openai/gpt-6.1-sol",gen_ai_token_type="input"} 6
    gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="openai/gpt-6.1-sol",gen_ai_token_type="input"} 1
    gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="openai/gpt-6.1-sol",gen_ai_token_type="output"} 112
    gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_provider_name="openrouter",gen_ai_request_model="openai/gpt-6.1-sol",gen_ai_token_type="output"} 1
    parallel_llm_answers_total{kind="whole",model="google/gemini-4-argon",provider="openrouter"} 2
    parallel_llm_answers_total{kind="whole",model="openai/gpt-6.1-sol",provider="openrouter"} 1
    parallel_llm_build_info{version="<version>"} 1
    parallel_llm_calls_in_flight 0
    parallel_llm_calls_sent_total{model="google/gemini-4-argon",provider="openrouter"} 2
    parallel_llm_calls_sent_total{model="openai/gpt-6.1-sol",provider="openrouter"} 1
    parallel_llm_calls_sent_total{model="x-ai/grok-4.7",provider="openrouter"} 1
    parallel_llm_circuits_open{provider="openrouter"} 0
    parallel_llm_cost_usd_total{kind="reported",provider="openrouter"} 0.007214
    parallel_llm_failures_total{code="upstream",model="x-ai/grok-4.7",provider="openrouter"} 1
    parallel_llm_first_token_seconds_count{provider="openrouter"} 3
    parallel_llm_http_requests_total{method="GET",route="/runs/{run}",status="404"} 1
    parallel_llm_http_requests_total{method="POST",route="/mcp",status="200"} 1
    parallel_llm_run_answer_seconds_count{status="partial"} 1
    parallel_llm_runs_begun_total{how="new"} 1
    parallel_llm_runs_ended_total{status="partial"} 1
    parallel_llm_runs_in_flight 0
    parallel_llm_spans_dropped_total 0
    parallel_llm_store_commit_queue 0
    parallel_llm_store_spill_files 0
    parallel_llm_tokens_total{direction="input",model="google/gemini-4-argon",provider="openrouter"} 791
    parallel_llm_tokens_total{direction="input",model="openai/gpt-6.1-sol",provider="openrouter"} 6
    parallel_llm_tokens_total{direction="output",model="google/gemini-4-argon",provider="openrouter"} 450
    parallel_llm_tokens_total{direction="output",model="openai/gpt-6.1-sol",provider="openrouter"} 112
    "#);
}

#[test]
fn a_hundred_odd_models_make_no_label() {
    let sandbox = sandbox_with(None);
    let settings = [("strategy", "panel"), ("budget_usd", "none"), ("wait", "all")];
    let (_running, address) = serve(&sandbox, &["--no-auth"], &settings);
    let models = parallel_llm_provider::embedded_catalogue();
    let names = models.models().iter().map(|model| model.id.clone()).filter(|name| !name.starts_with('~'));
    let names: Vec<String> = names.take(100).collect();
    for half in names.chunks(50) {
        let asked = json!({"prompt": "Why?", "models": half});
        let answered = call(address, "process_prompt", &asked);
        assert!(structured(&answered)["answer"].is_string(), "{answered}");
    }
    let text = get(address, "/metrics", "").text();
    let labels: BTreeSet<&str> =
        text.split("model=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(labels.len() <= 12 && labels.contains("other"), "{labels:?}");
    // A path and a method that a caller invents are no labels either.
    for path in ["/x1", "/x2?y=z", "/runs/odd", "/metrics/x"] {
        get(address, path, "");
    }
    let mut wire = Wire::to(address);
    wire.write(post(address, "/mcp", "", "{}").replacen("POST", "BREW", 1));
    wire.reply();
    let text = get(address, "/metrics", "").text();
    assert!(text.contains(r#"route="other""#) && text.contains(r#"method="other""#), "{text}");
    for invented in ["x1", "BREW", "odd"] {
        assert!(!text.contains(invented), "{invented} in {text}");
    }
}
