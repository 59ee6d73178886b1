//! The MCP server on pipes as clients use it: the real program in a clean environment, against the simulator.

pub(crate) mod client;
mod versions;

use std::io::{BufRead, BufReader};
use std::time::Duration;

use client::{Client, PANEL, SOON, hello, structured, text};
use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use serde_json::{Value, json};
use tokio::time::Instant;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// A sandbox in which these models have these scripts.
fn sandbox_with(scripts: impl IntoIterator<Item = (&'static str, Script)>) -> Sandbox {
    scripts.into_iter().fold(sandbox(), |sandbox, (model, script)| sandbox.scripted(model, script))
}

/// A model whose first text comes after this many milliseconds.
fn slow(ms: u64) -> Script {
    Script::behaving(Behaviour { ttft_ms: Latency::of(ms), ..Behaviour::instant() })
}

fn question() -> Value {
    json!({"prompt": "Which is safer, and why?", "models": PANEL, "synthesizer": PANEL[1]})
}

/// A run that has all its answers is fused before the seats of later runs are asked.
#[test]
fn earlier_runs_are_fused_before_later_runs_are_asked() {
    const QUESTIONS: usize = 6;
    let sandbox = sandbox_with([(PANEL[0], slow(50))]);
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_CALLS_PER_KEY_MAX", "1")]);
    let ids: Vec<i64> = (0..QUESTIONS)
        .map(|number| {
            let (prompt, models) = (format!("Question {number}?"), &PANEL[..2]);
            let question = json!({"prompt": prompt, "models": models, "synthesizer": PANEL[2]});
            let id = client.start("process_prompt", question);
            sandbox.until("the run has started", || runs_started(&sandbox) > number);
            id
        })
        .collect();
    for id in ids {
        assert_eq!(structured(&client.result(id))["status"], "complete");
    }
    let fused = sandbox.chats().iter().position(|chat| chat.body["model"] == PANEL[2]);
    let fused = fused.expect("the first run was fused");
    assert!(fused <= QUESTIONS, "{fused} calls were made before any run was fused");
}

/// The number of runs that have a folder.
fn runs_started(sandbox: &Sandbox) -> usize {
    std::fs::read_dir(sandbox.data_dir().join("runs")).map_or(0, Iterator::count)
}

#[test]
fn a_question_gets_a_fused_answer_with_progress() {
    let sandbox = sandbox_with([(PANEL[0], slow(700))]);
    let mut client = Client::new(&sandbox, &[]);
    let id = client.start("process_prompt", question());
    let result = client.result(id);
    assert_eq!(result["isError"], false, "{result}");
    let report = structured(&result);
    assert_eq!(
        (&report["status"], &report["synthesis"]["kind"]),
        (&json!("complete"), &json!("fused")),
        "{report}"
    );
    let answer = report["answer"].as_str().unwrap();
    let run_id = report["run_id"].as_str().unwrap();
    assert!(text(&result).starts_with(answer) && text(&result).contains(run_id), "{}", text(&result));
    assert!(text(&result).contains("3 of 3 answered"), "{}", text(&result));
    let folder = sandbox.data_dir().join("runs").join(run_id);
    assert_eq!(std::fs::read_to_string(folder.join("final_best.md")).unwrap(), answer);

    let progress = client.progress(id);
    let numbers: Vec<f64> = progress.iter().map(|note| note["progress"].as_f64().unwrap()).collect();
    assert!(numbers.len() >= 2 && numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
    let message = progress.last().unwrap()["message"].as_str().unwrap();
    assert!(message.contains("of 3 answered") && progress.last().unwrap()["total"] == 4.0, "{progress:?}");
}

#[test]
fn the_server_names_itself_and_describes_its_tools_briefly() {
    let sandbox = sandbox();
    let mut client = Client::silent(&sandbox, &[]);
    let server = client.begin("test-client");
    assert_eq!(server["serverInfo"]["name"], "parallel-llm-mcp");
    assert_eq!(server["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(server["instructions"].as_str().unwrap().contains("third-party"));
    let tools = client.request("tools/list", json!({}));
    let all = tools["result"]["tools"].as_array().unwrap();
    // Programs read the output schemas; a model sees the rest.
    let mut shown = all.clone();
    for tool in shown.iter_mut().filter_map(Value::as_object_mut) {
        tool.remove("outputSchema");
    }
    let sizes = [shown, all.clone()].map(|tools| Value::from(tools).to_string().len());
    assert!(sizes[0] <= 5_000 && sizes[1] <= 16_000, "{sizes:?} bytes");
    let preset = &all[0]["inputSchema"]["properties"]["preset"]["description"];
    assert_eq!(preset, "A named panel or flow: budget, default, max, quick.");
    assert_eq!(client.request("tools/list", json!({}))["result"], tools["result"]);
    let names: Vec<&Value> = all.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["process_prompt", "get_run", "resume_run", "list_models"]);
}

#[test]
fn every_bad_line_gets_one_reply_and_the_next_call_works() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":4,"method":"ping","params":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let long =
        format!(r#"{{"method":"ping","params":{{"x":"{}"}},"jsonrpc":"2.0","id":13}}"#, "a".repeat(33 << 20));
    let cases: [(&[u8], Value, i64); 14] = [
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/ca"#, json!(1), -32700),
        (b"hello", Value::Null, -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xff\xfe\"}", json!(2), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"pi\0ng\"}", json!(3), -32700),
        (deep.as_bytes(), json!(4), -32700),
        (br#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, Value::Null, -32600),
        (br#"{"jsonrpc":"1.0","id":6,"method":"ping"}"#, json!(6), -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":7.5,"method":"ping"}"#, json!(7.5), -32600),
        (br#"{"jsonrpc":"2.0","id":8,"Method":"ping"}"#, json!(8), -32600),
        (br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}"#, json!(9), -32602),
        (
            br#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"proces_prompt"}}"#,
            json!(10),
            -32602,
        ),
        (br#"{"jsonrpc":"2.0","id":"11","method":"tools/lst"}"#, json!("11"), -32601),
        (long.as_bytes(), json!(13), -32600),
    ];
    for (line, id, code) in cases {
        client.line("");
        client.line(line);
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        let error = client.reply(&id)["error"].clone();
        assert_eq!(error["code"], code, "{shown}: {error}");
        assert!(error["message"].as_str().unwrap().len() > 20, "{shown}: {error}");
        assert_eq!(client.request("ping", json!({}))["result"], json!({}), "after {shown}");
    }
    assert_eq!(client.seen, Vec::<Value>::new(), "more than one reply");
}

#[test]
fn an_unpaired_surrogate_is_replaced() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let models = json!([PANEL[0]]);
    client.line(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"process_prompt","arguments":{{"prompt":"cut \ud83d here","models":{models}}}}}}}"#
    ));
    assert_eq!(client.result(1)["isError"], false);
    assert!(sandbox.chats()[0].body.to_string().contains("cut \u{fffd} here"));
}

#[test]
fn a_prompt_of_ten_megabytes_is_read_and_refused_for_its_length() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let result = client.call("process_prompt", json!({"prompt": "a ".repeat(5 << 20)}));
    assert_eq!(
        (&result["isError"], &structured(&result)["code"]),
        (&json!(true), &json!("prompt_too_long")),
        "{result}"
    );
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn cancelling_a_call_cancels_its_requests_upstream() {
    let sandbox = sandbox_with(PANEL.map(|model| (model, Script::fault(Fault::Stall))));
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "2000")]);
    let id = client.start("process_prompt", question());
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    let begun = Instant::now();
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    // The third provider bills on after its connection is closed, so its reply is read for a while.
    sandbox.until("the simulator sees it", || sandbox.simulator().stats().client_cancelled == 2);
    sandbox.until("the last reply is no longer read", || sandbox.simulator().stats().client_cancelled == 3);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    client.request("ping", json!({}));
    assert!(client.seen.iter().all(|message| message["id"] != id), "no reply to a cancelled call");
}

#[test]
fn a_call_is_answered_before_the_client_timeout_and_its_run_continues() {
    let sandbox = sandbox_with([(PANEL[2], slow(9_000))]);
    let mut client =
        Client::new(&sandbox, &[("PARALLEL_LLM_CLIENT_WALL_MS", "5000"), ("PARALLEL_LLM_WAIT", "all")]);
    let early = client.call("process_prompt", question());
    let report = structured(&early);
    assert_eq!((&report["status"], &early["isError"]), (&json!("running"), &json!(false)), "{report}");
    let run_id = report["run_id"].as_str().unwrap();
    assert!(report["answer"].is_null() && report["texts"][0]["text"].is_string(), "{report}");
    assert!(text(&early).contains("2 of 3 answered") && text(&early).contains("get_run"), "{}", text(&early));
    let next = (&report["next"]["tool"], &report["next"]["arguments"]);
    assert_eq!(next, (&json!("get_run"), &json!({"run_id": run_id, "wait_s": 50})), "{report}");
    let whole = client.report(&early);
    assert!(
        whole["elapsed_ms"].as_u64() >= Some(1_000),
        "its age counts to now, not to its newest event: {whole}"
    );
    let mut rest = client.call("get_run", json!({"run_id": run_id, "wait_s": 50}));
    while structured(&rest)["status"] == "running" {
        rest = client.call("get_run", json!({"run_id": run_id, "wait_s": 50}));
    }
    assert_eq!(structured(&rest)["status"], "complete", "{rest}");
    assert!(structured(&rest)["answer"].is_string());
    assert_eq!(sandbox.asked(PANEL[2]), 1);
}

#[test]
fn a_run_in_progress_cannot_be_resumed() {
    let sandbox = sandbox_with([(PANEL[2], Script::fault(Fault::Stall))]);
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_WAIT", "quorum:2")]);
    let first = client.call("process_prompt", question());
    let run_id = structured(&first)["run_id"].clone();
    assert!(structured(&first)["answer"].is_string(), "{first}");
    for arguments in [json!({"run_id": run_id}), json!({"run_id": run_id, "models": [PANEL[0]]})] {
        let refused = client.call("resume_run", arguments);
        let error = structured(&refused);
        assert_eq!((&error["code"], &error["run_id"]), (&json!("busy"), &run_id), "{error}");
        assert_eq!(refused["isError"], true);
    }
}

#[test]
fn long_parts_are_fetched_page_by_page() {
    let long = "wörd ".repeat(10_000);
    let sandbox = sandbox_with([(PANEL[0], Script::answering(&long))]);
    let mut client = Client::new(&sandbox, &[]);
    let result = client.call("process_prompt", question());
    let mut report = client.report(&result);
    let run_id = &structured(&result)["run_id"];
    assert_eq!(
        (&report["answers"][0]["text"], &report["answers"][0]["text_bytes"]),
        (&Value::Null, &json!(60_000))
    );
    assert_eq!(report["next"]["arguments"], json!({"run_id": run_id, "part": "answer:1"}));
    report["answer"] = Value::Null;
    assert!(report.to_string().len() <= 10_000, "{} bytes", report.to_string().len());
    let (mut fetched, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let page = client.call("get_run", json!({"run_id": run_id, "part": "answer:1", "offset": offset}));
        fetched.push_str(structured(&page)["text"].as_str().unwrap());
        offset = structured(&page)["next_offset"].clone();
    }
    assert!(fetched == long);
    let mut part = |part: &str| {
        let page = client.call("get_run", json!({"run_id": run_id, "part": part}));
        structured(&page)["text"].as_str().unwrap_or_else(|| panic!("{page}")).to_owned()
    };
    assert_eq!(part("prompt"), "Which is safer, and why?");
    assert!(part("plan").contains("\"seats\""));
    assert!(part("events").starts_with("{\"seq\":1,"));
    assert!(part("answer").len() > 20);
    let wrong = client.call("get_run", json!({"run_id": run_id, "part": "answers"}));
    assert_eq!((&structured(&wrong)["code"], &wrong["isError"]), (&json!("usage"), &json!(true)));
}

#[test]
fn invalid_calls_are_explained_with_a_remedy() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    for (tool, arguments, code, expected) in [
        (
            "get_run",
            json!({"run_id": "01JD0M3Z8K5Q2W7V9X4B6N1C0A"}),
            "run_not_found",
            "01JD0M3Z8K5Q2W7V9X4B6N1C0A",
        ),
        ("process_prompt", json!({"prompt": "  "}), "prompt_empty", "give a prompt as `prompt`"),
        ("process_prompt", json!({}), "usage", "`prompt` is missing"),
        ("process_prompt", json!({"promt": "p"}), "usage", "did you mean `prompt`?"),
        ("process_prompt", json!({"prompt": "p", "models": 5}), "usage", "for example [\""),
        (
            "process_prompt",
            json!({"prompt": "p", "idempotency_key": ""}),
            "usage",
            "for example \"ticket-4711\"",
        ),
        ("process_prompt", json!({"prompt": "p", "models": []}), "panel_size", "1 and 64"),
        ("process_prompt", json!({"prompt": "p", "budget_usd": 0.000_001}), "budget", "budget"),
    ] {
        let result = client.call(tool, arguments.clone());
        assert_eq!(
            (&result["isError"], &structured(&result)["code"]),
            (&json!(true), &json!(code)),
            "{arguments}: {result}"
        );
        assert!(text(&result).contains(expected), "{arguments}: {}", text(&result));
        assert!(
            structured(&result)["next"].is_string() && structured(&result)["retryable"].is_boolean(),
            "{result}"
        );
    }
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn remedies_name_the_tools() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let mut run_of = |store: &str| {
        let result =
            client.call("process_prompt", json!({"prompt": "Why?", "models": PANEL, "store": store}));
        structured(&result)["run_id"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    };
    let (full, metadata) = (run_of("full"), run_of("metadata"));
    let paid = sandbox.chats().len();
    for (tool, arguments, expected) in [
        (
            "resume_run",
            json!({"run_id": full}),
            "look at the run with get_run, or ask more models with resume_run and `models`",
        ),
        (
            "resume_run",
            json!({"run_id": "0"}),
            "give more of the id, or look for the run with the `run_id` that process_prompt gave",
        ),
        (
            "resume_run",
            json!({"run_id": "none"}),
            "look for the run with the `run_id` that process_prompt gave",
        ),
        ("get_run", json!({"run_id": "none"}), "look for the run with the `run_id` that process_prompt gave"),
        (
            "resume_run",
            json!({"run_id": metadata, "synthesizer": PANEL[0]}),
            "ask again and have texts kept with `\"store\":\"full\"`",
        ),
    ] {
        let result = client.call(tool, arguments.clone());
        assert_eq!(
            (&result["isError"], &structured(&result)["next"]),
            (&json!(true), &json!(expected)),
            "{arguments}"
        );
        assert!(text(&result).contains(expected), "{arguments}: {}", text(&result));
    }
    assert_eq!(sandbox.chats().len(), paid);
}

#[test]
fn without_a_key_the_server_starts_and_names_the_variable_to_set() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[("OPENROUTER_API_KEY", " ")]);
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 4);
    let result = client.call("process_prompt", question());
    assert_eq!(
        (&result["isError"], &structured(&result)["code"]),
        (&json!(true), &json!("key_missing")),
        "{result}"
    );
    assert!(text(&result).contains("OPENROUTER_API_KEY"), "{}", text(&result));
    let stderr = std::fs::read_to_string(sandbox.home().join("stderr")).unwrap();
    assert!(stderr.contains("OPENROUTER_API_KEY"), "{stderr}");
}

#[test]
fn the_list_of_models_is_bounded_and_holds_no_key() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let all = client.call("list_models", json!({}));
    let list = structured(&all);
    assert!(list.to_string().len() <= 10_000, "{list}");
    let is_whole = list["models_total"] == list["models"].as_array().unwrap().len();
    assert!(is_whole != list["next"].is_string(), "{list}");
    assert_eq!(list["panel"].as_array().unwrap().len(), 5);
    assert!(!all.to_string().contains(sandbox.simulator().api_key()));
    let some = client.call("list_models", json!({"search": "grok"}));
    let models = structured(&some)["models"].as_array().unwrap();
    assert!(!models.is_empty() && models.iter().all(|model| model["id"].as_str().unwrap().contains("grok")));
}

#[test]
fn concurrent_questions_have_separate_folders() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let ids = ["One?", "Two?"].map(|prompt| {
        let mut question = question();
        question["prompt"] = prompt.into();
        client.start("process_prompt", question)
    });
    let folders = ids.map(|id| {
        let result = client.result(id);
        client.report(&result)["files"]["dir"].clone()
    });
    assert_ne!(folders[0], folders[1]);
    assert_eq!(std::fs::read_dir(sandbox.data_dir().join("runs")).unwrap().count(), 2);
}

#[test]
fn a_ping_is_answered_during_a_call_and_an_id_in_flight_is_refused() {
    let sandbox = sandbox_with([(PANEL[0], slow(2_000))]);
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_WAIT", "all")]);
    let id = client.start("process_prompt", question());
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert!(client.seen.iter().all(|message| message["id"] != id), "the call is over: {:?}", client.seen);
    client.line(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string());
    assert_eq!(client.reply(&json!(id))["error"]["code"], -32600);
    assert_eq!(structured(&client.result(id))["status"], "complete");
}

#[test]
fn messages_before_the_handshake_do_no_harm() {
    let sandbox = sandbox();
    let mut client = Client::silent(&sandbox, &[]);
    client.notify("notifications/cancelled", json!({"requestId": 1}));
    client.notify("notifications/initialized", json!({}));
    client.line(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.request("tools/list", json!({}))["error"]["code"], -32602);
    client.notify("notifications/cancelled", json!({"requestId": 1}));
    client.begin("test-client");
    assert!(client.request("tools/list", json!({}))["result"].is_object());
}

#[test]
fn a_client_of_the_newest_protocol_needs_no_handshake() {
    let sandbox = sandbox();
    let mut client = Client::silent(&sandbox, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
    });
    assert!(client.request("server/discover", json!({"_meta": meta}))["result"].is_object());
    let tools = client.request("tools/list", json!({"_meta": meta}))["result"].clone();
    assert_eq!((&tools["cacheScope"], &tools["ttlMs"]), (&json!("public"), &json!(3_600_000)), "{tools}");
    let call = json!({"name": "process_prompt", "arguments": question(), "_meta": meta});
    assert_eq!(structured(&client.request("tools/call", call)["result"])["status"], "complete");
}

#[test]
fn if_every_model_fails_the_result_is_an_error_with_each_reason() {
    let faults = [Fault::BadModel, Fault::Moderation, Fault::EmptyContent].map(Script::fault);
    let sandbox = sandbox_with(PANEL.into_iter().zip(faults));
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_RETRIES_MAX", "0")]);
    let result = client.call("process_prompt", question());
    assert_eq!(
        (&result["isError"], &structured(&result)["code"]),
        (&json!(true), &json!("all_failed")),
        "{result}"
    );
    for model in PANEL {
        assert!(text(&result).contains(model), "{}", text(&result));
    }
    let errors: Vec<&Value> =
        structured(&result)["missing"].as_array().unwrap().iter().map(|seat| &seat["code"]).collect();
    assert_eq!(errors, ["model_unknown", "moderated", "empty"]);
}

#[test]
fn a_fragment_is_shown_but_is_no_answer() {
    // Each breaks off after a few words.
    let sandbox = sandbox_with(PANEL.map(|model| (model, Script::fault(Fault::SseCut))));
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_RETRIES_MAX", "0")]);
    let result = client.call("process_prompt", question());
    assert_eq!(
        (&result["isError"], &structured(&result)["status"], &structured(&result)["code"]),
        (&json!(true), &json!("failed"), &json!("incomplete")),
        "{result}"
    );
    let seat = &structured(&result)["texts"][0];
    let fragment = seat["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert_eq!(seat["status"], "cut");
    assert!(!fragment.is_empty() && text(&result).contains(fragment), "{}", text(&result));
    // For a script it is no answer either.
    let output =
        sandbox.call(["ask", "-m", PANEL[0], "-m", PANEL[1], "Why?"]).settings([("retries_max", "0")]).run();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
}

#[test]
fn a_killed_run_without_an_answer_is_an_error_with_a_remedy() {
    let sandbox = sandbox_with(PANEL.map(|model| (model, Script::fault(Fault::Stall))));
    let killed = |sandbox: &Sandbox, started: usize| {
        let mut client = Client::new(sandbox, &[]);
        client.start("process_prompt", question());
        sandbox.until("all are writing", || {
            sandbox.chats().iter().filter(|chat| chat.first_byte_us.is_some()).count() == started
        });
        client.child.kill().unwrap();
        client.child.wait().unwrap();
    };
    killed(&sandbox, 3);
    let mut client = Client::new(&sandbox, &[]);
    let listed = client.request("resources/list", json!({}))["result"]["resources"][0].take();
    let run_id = listed["name"].as_str().unwrap().to_owned();
    let result = client.call("get_run", json!({"run_id": run_id}));
    assert_eq!(
        (&result["isError"], &structured(&result)["code"], &structured(&result)["status"]),
        (&json!(true), &json!("interrupted"), &json!("interrupted")),
        "{result}"
    );
    let why =
        "the run was interrupted; what was sent and never heard of may have been paid, so ask the user first";
    let next = json!({"tool": "resume_run", "arguments": {"run_id": run_id, "resend": true}, "why": why});
    assert_eq!(structured(&result)["next"], next);
    let remedy = format!("next: {why}: call resume_run with {{\"run_id\":\"{run_id}\",\"resend\":true}}");
    assert!(text(&result).ends_with(&remedy), "{}", text(&result));
    // The log names the remedy as a command.
    let remedy = format!("`runs resume {run_id} --resend` (which may pay a second time) finishes it");
    sandbox.until("the log names the remedy", || {
        std::fs::read_to_string(sandbox.home().join("stderr")).is_ok_and(|log| log.contains(&remedy))
    });
    let resumed = client.call("resume_run", json!({"run_id": run_id}));
    assert_eq!((&resumed["isError"], sandbox.chats().len()), (&json!(true), 3), "{resumed}");
    let next = "ask again what may have been paid already with resume_run and `\"resend\":true`";
    assert_eq!(structured(&resumed)["next"], next);
}

#[test]
fn a_run_without_stored_texts_says_so_for_each_part() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let mut run_of = |store: &str| {
        let question = json!({"prompt": format!("Why {store}?"), "models": PANEL, "store": store});
        structured(&client.call("process_prompt", question))["run_id"].as_str().unwrap().to_owned()
    };
    let (metadata, none) = (run_of("metadata"), run_of("none"));
    sandbox.until("the run is closed", || {
        let run = client.call("get_run", json!({"run_id": none, "part": "events"}));
        structured(&run)["code"] == "run_not_found"
    });
    let by_tool = client.call("get_run", json!({"run_id": none, "part": "events"}));
    let uri = format!("parallel-llm://runs/{none}/events");
    let by_address = client.request("resources/read", json!({"uri": uri}));
    let (message, next) = (&structured(&by_tool)["message"], &structured(&by_tool)["next"]);
    assert_eq!(message, "the events of this run are not kept: its `store` is `none`");
    let sentence = format!("{}: {}", message.as_str().unwrap(), next.as_str().unwrap());
    assert_eq!(by_address["error"]["message"], sentence, "{by_address}");

    let mut later = Client::new(&sandbox, &[]);
    let report = later.call("get_run", json!({"run_id": metadata}));
    let missing =
        "the texts of this run were not kept: ask again and have texts kept with `\"store\":\"full\"`";
    assert_eq!(
        (&report["isError"], &structured(&report)["next"]),
        (&json!(false), &json!(missing)),
        "{report}"
    );
    for part in ["answer", "answer:1", "prompt"] {
        let refused = later.call("get_run", json!({"run_id": metadata, "part": part}));
        let message = format!(
            "{}: {}",
            structured(&refused)["message"].as_str().unwrap(),
            structured(&refused)["next"].as_str().unwrap()
        );
        assert_eq!((message.as_str(), &refused["isError"]), (missing, &json!(true)), "{part}");
    }
}

#[test]
fn a_partial_answer_names_the_missing_seats() {
    let sandbox = sandbox_with([(PANEL[2], Script::fault(Fault::NoEndpoints))]);
    let mut client = Client::new(&sandbox, &[]);
    let result = client.call("process_prompt", question());
    assert_eq!(
        (&result["isError"], &structured(&result)["status"]),
        (&json!(false), &json!("partial")),
        "{result}"
    );
    assert!(text(&result).contains("2 of 3 answered, missing: x-ai/grok-4.7 (failed"), "{}", text(&result));
}

#[test]
fn a_vote_is_selected_by_name_and_its_options_are_checked() {
    let answers = ["6\nANSWER: 6", "It has 8 legs.\nANSWER: 8", "The answer is **8**.\nANSWER: 8"];
    let sandbox = sandbox_with(PANEL.into_iter().zip(answers.map(Script::answering)));
    let mut client = Client::new(&sandbox, &[]);
    let mut call = |strategy: &str| {
        let question =
            json!({"prompt": "How many legs has a spider?", "models": PANEL, "strategy": strategy});
        client.call("process_prompt", question)
    };
    let voted = call("vote");
    let report = structured(&voted);
    assert_eq!(
        (&report["synthesis"]["kind"], &report["status"]),
        (&json!("selected"), &json!("complete")),
        "{report}"
    );
    let agreement = json!({
        "agree": [PANEL[1], PANEL[2]],
        "object": [{"model": PANEL[0], "says": "`6`"}],
        "summary": "2 of 3 say `8`",
    });
    assert_eq!(report["agreement"], agreement, "{report}");
    let line = format!("\n2 of 3 say `8`; agree: {}, {}; {} objects: `6`\n", PANEL[1], PANEL[2], PANEL[0]);
    assert!(text(&voted).contains(&line), "{}", text(&voted));
    assert_eq!(sandbox.chats().len(), 3, "no synthesizer is called");
    let refused = call("synthesize@gates=off");
    let whole = client.report(&voted);
    assert_eq!(whole["agreement"]["clusters"][0], json!({"value": "8", "seats": [2, 3]}));
    assert_eq!(whole["confidence"], json!({"band": "uncalibrated", "basis": "2 of 3 agree"}));
    assert_eq!(structured(&refused)["code"], "usage", "{refused}");
    assert!(
        text(&refused).contains("has no option `gates` (next: did you mean `gate`?"),
        "{}",
        text(&refused)
    );
}

#[test]
fn contradictions_and_objections_take_one_line() {
    let safe = "The migration is safe to run online with a short lock timeout.";
    let not_safe = "The migration is not safe to run online with a short lock timeout.";
    let sandbox = sandbox_with(PANEL.into_iter().zip([safe, not_safe, not_safe].map(Script::answering)));
    let mut client = Client::new(&sandbox, &[]);
    let result = client.call(
        "process_prompt",
        json!({"prompt": "Is it?", "models": PANEL, "synthesizer": "anthropic/claude-opus-5.5"}),
    );
    let line = text(&result).lines().find(|line| line.contains("objects")).unwrap_or_default();
    insta::assert_snapshot!(line, @"2 of 3 say the same; 1 contradiction, as anthropic/claude-opus-5.5 reads the answers; agree: google/gemini-4-argon, x-ai/grok-4.7; openai/gpt-6.1-sol objects: not so: The migration is not safe to run online with a short lock timeout.");
    let objection = &structured(&result)["agreement"]["object"][0];
    assert_eq!(
        (&objection["model"], &objection["says"]),
        (&json!(PANEL[0]), &json!(format!("not so: {not_safe}"))),
        "{result}"
    );
    let agreement = &client.report(&result)["agreement"];
    assert_eq!(agreement["claims"][0]["for"], json!([2, 3]), "{agreement}");
    assert_eq!(agreement["claims"][0]["against"], json!([1]), "{agreement}");
}

#[test]
fn at_the_end_of_stdin_calls_in_progress_are_still_answered() {
    let sandbox = sandbox_with([(PANEL[0], slow(1_000))]);
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_WAIT", "all")]);
    let id = client.start("process_prompt", question());
    client.hang_up();
    assert_eq!(structured(&client.result(id))["status"], "complete");
    let (status, took) = client.wait();
    assert!(status.success() && took < SOON, "{status} after {took:?}");
}

#[test]
fn an_idle_server_ends_at_once() {
    for has_begun in [false, true] {
        let sandbox = sandbox();
        let mut client = Client::silent(&sandbox, &[]);
        if has_begun {
            client.begin("test-client");
        } else {
            // The reply shows that the program has started.
            client.request("ping", json!({}));
        }
        client.hang_up();
        let (status, took) = client.wait();
        assert!(status.success() && took < SOON, "{status} after {took:?}");
    }
}

#[test]
fn a_signal_answers_calls_in_progress_and_a_second_one_ends_at_once() {
    let sandbox = sandbox_with(PANEL.map(|model| (model, Script::fault(Fault::Stall))));
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "1000")]);
    let id = client.start("process_prompt", question());
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    client.signal("TERM");
    assert_eq!(structured(&client.result(id))["status"], "running");
    let (status, took) = client.wait();
    assert!(status.success() && took < SOON, "{status} after {took:?}");

    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "20000")]);
    client.start("process_prompt", question());
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    client.signal("INT");
    while client.request("ping", json!({}))["error"]["code"] != -32000 {}
    client.signal("INT");
    let (status, took) = client.wait();
    assert_eq!(status.code(), Some(130), "the exit code of an interrupt");
    assert!(took < SOON, "{took:?}");
}

#[test]
fn a_client_that_does_not_read_delays_neither_a_run_nor_the_end() {
    const LISTS: usize = 40;
    let sandbox = sandbox();
    let mut client = Client::deaf(&sandbox, &[]);
    client.send("initialize", hello("test-client"));
    client.notify("notifications/initialized", json!({}));
    // More than three times the capacity of a pipe.
    for _ in 0..LISTS {
        client.send("tools/list", json!({}));
    }
    client.start("process_prompt", question());
    let runs = sandbox.data_dir().join("runs");
    let is_written = |path: std::path::PathBuf| path.join("final_best.md").is_file();
    sandbox.until("the run is over", || {
        std::fs::read_dir(&runs)
            .is_ok_and(|mut runs| runs.any(|run| run.is_ok_and(|run| is_written(run.path()))))
    });
    client.hang_up();
    let (status, took) = client.wait();
    assert!(status.success() && took < SOON, "{status} after {took:?}");
    let stdout = BufReader::new(client.child.stdout.take().unwrap());
    let written = stdout.lines().map_while(Result::ok).filter(|line| line.contains("\"tools\":")).count();
    assert!((1..LISTS).contains(&written), "the pipe was never full: {written} lists were written");
}

#[test]
fn an_unread_log_delays_no_run() {
    let sandbox = sandbox();
    let settings = [("PARALLEL_LLM_LOG_LEVEL", "debug"), ("PARALLEL_LLM_DRAIN_MS", "500")];
    let mut client = Client::deaf(&sandbox, &settings);
    client.send("initialize", hello("test-client"));
    // About twelve lines of a hundred bytes or more for each run; a pipe holds 64 kB.
    let runs = 80;
    for number in 0..runs {
        let mut question = question();
        question["prompt"] = format!("Question {number}?").into();
        client.start("process_prompt", question);
    }
    sandbox.until("every run has been fused", || sandbox.chats().len() >= runs * (PANEL.len() + 1));
    client.hang_up();
    assert!(client.wait().0.success());
}

#[test]
fn a_model_that_keeps_failing_is_skipped_and_listed_as_such() {
    let sandbox = sandbox_with([(PANEL[0], Script::fault(Fault::BadGateway))]);
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_RETRIES_MAX", "0")]);
    assert_eq!(structured(&client.call("list_models", json!({})))["circuits"], Value::Null);
    let mut ask = |number: u32| {
        let question = json!({"prompt": format!("Question {number}?"), "models": [PANEL[0]]});
        let result = client.call("process_prompt", question);
        client.report(&result)["answers"][0].clone()
    };
    let codes: Vec<Value> = (1..=6).map(|number| ask(number)["error"]["code"].clone()).collect();
    assert_eq!(codes, ["upstream", "upstream", "upstream", "upstream", "upstream", "circuit_open"]);
    let seat = ask(7);
    assert_eq!(
        (&seat["status"], &seat["attempts"], &seat["cost_usd"]),
        (&json!("skipped"), &json!(0), &json!(0.0))
    );
    assert_eq!(sandbox.asked(PANEL[0]), 5);
    let listed = client.call("list_models", json!({}));
    let circuit = &structured(&listed)["circuits"][0];
    assert_eq!(
        (&circuit["id"], &circuit["state"], &circuit["failures"]),
        (&json!(PANEL[0]), &json!("open"), &json!(5))
    );
}

#[test]
fn resuming_a_run_does_not_pay_twice() {
    let sandbox = sandbox_with([(PANEL[0], Script::fault(Fault::Moderation))]);
    let mut client = Client::new(&sandbox, &[]);
    let asked = client.call("process_prompt", question());
    assert_eq!(structured(&asked)["status"], "partial", "{asked}");
    let run_id = &structured(&asked)["run_id"];

    let more = client.call("resume_run", json!({"run_id": run_id, "models": ["z-ai/glm-5.3"]}));
    assert_eq!(
        (&structured(&more)["status"], &structured(&more)["answered"]),
        (&json!("partial"), &json!("3 of 4"))
    );
    let report = client.report(&more);
    assert_eq!((&report["status"], &report["answers"][3]["status"]), (&json!("partial"), &json!("answered")));
    assert_eq!(report["earlier"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(PANEL.map(|model| sandbox.asked(model)), [1, 2, 1], "the second has fused once");

    let anew = client.call("resume_run", json!({"run_id": run_id, "synthesizer": PANEL[2]}));
    assert_eq!(structured(&anew)["synthesis"]["by"], PANEL[2], "{anew}");
    assert_eq!(PANEL.map(|model| sandbox.asked(model)), [1, 2, 2]);
}

#[test]
fn of_concurrent_calls_to_resume_a_run_one_is_accepted() {
    let sandbox = sandbox_with([("z-ai/glm-5.3", slow(5_000))]);
    let mut client = Client::new(&sandbox, &[]);
    let asked = client.call("process_prompt", question());
    for round in 1..=2 {
        let more = json!({"run_id": structured(&asked)["run_id"], "models": ["z-ai/glm-5.3"]});
        let calls: Vec<i64> = (0..3).map(|_| client.start("resume_run", more.clone())).collect();
        let mut codes: Vec<Value> =
            calls.iter().map(|id| structured(&client.result(*id))["code"].clone()).collect();
        codes.sort_by_key(Value::is_string);
        assert_eq!(codes, [Value::Null, json!("busy"), json!("busy")], "round {round}");
    }
    assert_eq!(sandbox.asked("z-ai/glm-5.3"), 2);
}

#[test]
fn a_persona_is_chosen_in_the_model_reference() {
    let sandbox = sandbox();
    sandbox.write(".config/parallel-llm-mcp/config.toml", "[personas.critic]\nsystem = 'Find the flaw.'\n");
    let mut client = Client::new(&sandbox, &[]);
    let names = structured(&client.call("list_models", json!({})))["personas"].clone();
    assert_eq!(names, json!(["critic", "plain", "proponent", "skeptic"]));
    let model = format!("{}@persona=critic,stance=for", PANEL[0]);
    let result = client.call("process_prompt", json!({"prompt": "Which?", "models": [model]}));
    let report = client.report(&result);
    let seat = &report["answers"][0];
    assert_eq!((&seat["persona"], &seat["stance"]), (&json!("critic"), &json!("for")), "{report}");
    let messages = &sandbox.chats()[0].body["messages"];
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.starts_with("Find the flaw.\n\nArgue from this stance: you are for "), "{messages}");
    assert_eq!(messages[1], json!({"role": "user", "content": "Which?"}));
    let plan = client.call("get_run", json!({"run_id": report["run_id"], "part": "plan"}));
    assert!(text(&plan).contains("Find the flaw."), "the owner sees the whole prompt");
    let unknown = json!({"prompt": "Which?", "models": [format!("{}@persona=critc", PANEL[0])]});
    let refused = client.call("process_prompt", unknown);
    assert_eq!(structured(&refused)["next"], "did you mean `critic`?", "{refused}");
    assert_eq!(sandbox.chats().len(), 1);
}
