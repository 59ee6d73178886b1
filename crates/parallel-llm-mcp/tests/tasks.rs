//! Long calls and expensive calls over MCP: tasks, progress, cancelling, and the user's consent.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::mcp::client::{Client, PANEL, SOON, hello, structured, text};
use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use serde_json::{Value, json};
use tokio::time::Instant;

const TASKS: &str = "io.modelcontextprotocol/tasks";
/// The error code of a request that names something unknown.
const INVALID: i64 = -32602;

fn sandbox_with(scripts: impl IntoIterator<Item = (&'static str, Script)>) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    scripts.into_iter().fold(sandbox, |sandbox, (model, script)| sandbox.scripted(model, script))
}

/// A sandbox whose models never answer.
fn stalled() -> Sandbox {
    sandbox_with(PANEL.map(|model| (model, Script::fault(Fault::Stall))))
}

/// A model whose first text comes after this many milliseconds.
fn slow(ms: u64) -> Script {
    Script::behaving(Behaviour { ttft_ms: Latency::of(ms), ..Behaviour::instant() })
}

fn question() -> Value {
    json!({"prompt": "Which is safer, and why?", "models": PANEL, "synthesizer": PANEL[1]})
}

/// A client of the newest protocol with these capabilities.
pub(crate) struct Modern {
    pub(crate) client: Client,
    capabilities: Value,
}

impl Modern {
    fn new(sandbox: &Sandbox, capabilities: Value, settings: &[(&str, &str)]) -> Self {
        Self { client: Client::silent(sandbox, settings), capabilities }
    }

    pub(crate) fn with_tasks(sandbox: &Sandbox, settings: &[(&str, &str)]) -> Self {
        Self::new(sandbox, json!({"extensions": {TASKS: {}}}), settings)
    }

    fn send(&mut self, method: &str, mut params: Value) -> i64 {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
            "progressToken": "its progress",
        });
        self.client.send(method, params)
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.client.reply(&json!(id))
    }

    /// Calls a tool, with these further members in the request.
    fn call_with(&mut self, tool: &str, arguments: Value, further: &Value) -> Value {
        let mut params = json!({"name": tool});
        params["arguments"] = arguments;
        for (name, value) in further.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        self.request("tools/call", params)
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.call_with(tool, arguments, &Value::Null)["result"].take()
    }

    /// Calls a tool that is answered with a task, and returns its id.
    pub(crate) fn task(&mut self, tool: &str, arguments: Value) -> String {
        let handle = self.call(tool, arguments);
        assert_eq!(handle["resultType"], "task", "{handle}");
        handle["taskId"].as_str().expect("a task has an id").to_owned()
    }

    pub(crate) fn get(&mut self, task: &str) -> Value {
        self.request("tasks/get", json!({"taskId": task}))["result"].take()
    }

    /// Polls until the task has ended.
    fn ended(&mut self, sandbox: &Sandbox, task: &str) -> Value {
        let mut state = self.get(task);
        sandbox.until("the task has ended", || {
            state = self.get(task);
            state["status"] != "working"
        });
        state
    }
}

#[test]
fn a_task_ends_with_the_result_of_its_call() {
    let sandbox = sandbox_with([(PANEL[0], slow(1_000))]);
    let mut client = Modern::with_tasks(&sandbox, &[("PARALLEL_LLM_CLIENT_WALL_MS", "300")]);
    let offered = client.request("server/discover", json!({}));
    assert_eq!(offered["result"]["capabilities"]["extensions"][TASKS], json!({}), "{offered}");

    let handle = client.call("process_prompt", question());
    let task = handle["taskId"].as_str().unwrap().to_owned();
    assert_eq!(
        [&handle["resultType"], &handle["status"], &handle["ttlMs"], &handle["pollIntervalMs"]],
        [&json!("task"), &json!("working"), &Value::Null, &json!(2_000)],
        "{handle}"
    );
    assert!(sandbox.data_dir().join("runs").join(&task).is_dir(), "a task is a run: {handle}");
    let working = client.get(&task);
    assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")));
    let line = working["statusMessage"].as_str().unwrap();
    assert!(line.contains("of 3 answered, waiting for gpt-6.1-sol"), "{line}");

    let done = client.ended(&sandbox, &task);
    assert_eq!((&done["status"], &done["taskId"]), (&json!("completed"), &json!(task)), "{done}");
    assert!(done["statusMessage"].as_str().unwrap().starts_with("3 of 3 answered, "), "{done}");
    for (name, from) in [("createdAt", &handle), ("lastUpdatedAt", &done)] {
        let time = from[name].as_str().unwrap();
        assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");
    }
    assert!(done["createdAt"].as_str() < done["lastUpdatedAt"].as_str(), "{done}");
    assert_eq!(done["createdAt"], handle["createdAt"]);
    assert_eq!(done["result"], client.call("get_run", json!({"run_id": task})));
    assert_eq!(structured(&done["result"])["status"], "complete");
    assert_eq!(client.get(&task), done, "an ended task does not change");
}

#[test]
fn a_call_without_an_answer_is_a_completed_task_with_an_error() {
    let late = Script { fault: Some(Fault::EmptyContent), ..slow(500) };
    let sandbox = sandbox_with(PANEL.map(|model| (model, late.clone())));
    let mut client = Modern::with_tasks(&sandbox, &[("PARALLEL_LLM_RETRIES_MAX", "0")]);
    let task = client.task("process_prompt", question());
    let done = client.ended(&sandbox, &task);
    assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(true)), "{done}");
    assert_eq!(structured(&done["result"])["code"], "empty", "{done}");
    let refused = client.call("process_prompt", json!({"prompt": ""}));
    assert_eq!((&refused["isError"], &structured(&refused)["code"]), (&json!(true), &json!("prompt_empty")));
}

#[test]
fn only_a_request_that_declares_tasks_gets_one() {
    let sandbox = sandbox_with([(PANEL[0], slow(200))]);
    let mut without = Modern::new(&sandbox, json!({}), &[]);
    let answer = without.call("process_prompt", question());
    assert_eq!(
        (&answer["resultType"], &structured(&answer)["status"]),
        (&json!("complete"), &json!("complete"))
    );
    let refused = without.request("tasks/get", json!({"taskId": structured(&answer)["run_id"]}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");

    let mut older = Client::silent(&sandbox, &[]);
    let mut greeting = hello("test-client");
    greeting["capabilities"] = json!({"extensions": {TASKS: {}}});
    older.request("initialize", greeting);
    older.notify("notifications/initialized", json!({}));
    assert_eq!(structured(&older.call("process_prompt", question()))["status"], "complete");

    let mut client = Modern::with_tasks(&sandbox, &[]);
    for store in ["none", "metadata"] {
        let mut question = question();
        question["store"] = store.into();
        let answer = client.call("process_prompt", question);
        assert_eq!(structured(&answer)["status"], "complete", "{store}: {answer}");
    }
}

#[test]
fn every_unknown_task_gets_the_same_error() {
    let sandbox = sandbox_with([(PANEL[0], slow(500))]);
    let mut client = Modern::with_tasks(&sandbox, &[]);
    let task = client.task("process_prompt", question());
    let names = ["", "@", "0", "nonsense", &task[..20], "01JD0M3Z8K5Q2W7V9X4B6N1C0A", "../../etc/passwd"];
    let mut errors: Vec<Value> = Vec::new();
    for name in names {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let reply = client.request(method, json!({"taskId": name, "inputResponses": {}}));
            assert_eq!(reply["error"]["code"], INVALID, "{method} {name}: {reply}");
            errors.push(reply["error"]["message"].clone());
        }
    }
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let malformed = client.request("tasks/get", json!({}));
    assert_eq!(malformed["error"]["code"], INVALID, "{malformed}");
}

#[test]
fn cancelling_a_task_again_is_harmless() {
    let sandbox = stalled();
    let mut client = Modern::with_tasks(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "500")]);
    let task = client.task("process_prompt", question());
    // The same question is the same run, and the same task.
    let again = client.call("process_prompt", question());
    assert_eq!(again["taskId"], task.as_str(), "{again}");
    assert!(again["statusMessage"].as_str().unwrap().contains("was asked before"), "{again}");
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    let acknowledged = client.request("tasks/update", json!({"taskId": task, "inputResponses": {"x": {}}}));
    assert_eq!(acknowledged["result"], json!({"resultType": "complete"}), "{acknowledged}");
    let begun = Instant::now();
    for _ in 0..2 {
        let acknowledged = client.request("tasks/cancel", json!({"taskId": task}));
        assert_eq!(acknowledged["result"], json!({"resultType": "complete"}), "{acknowledged}");
    }
    sandbox.until("the simulator sees it", || sandbox.simulator().stats().client_cancelled >= 2);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let over = client.ended(&sandbox, &task);
    assert_eq!((&over["status"], over.get("result")), (&json!("cancelled"), None), "{over}");
    client.request("tasks/cancel", json!({"taskId": task}));
    assert_eq!(client.get(&task)["status"], "cancelled");
    assert_eq!(sandbox.chats().len(), 3);
}

#[test]
fn cancelling_a_task_leaves_its_run_to_others_that_wait_for_it() {
    let sandbox = sandbox_with(PANEL.map(|model| (model, slow(1_500))));
    let mut client = Modern::with_tasks(&sandbox, &[]);
    let task = client.task("process_prompt", question());
    let declared = std::mem::replace(&mut client.capabilities, json!({}));
    let id = client.send("tools/call", json!({"name": "process_prompt", "arguments": question()}));
    client.capabilities = declared;
    client
        .client
        .find(|message| message["params"]["message"].as_str().is_some_and(|line| line.contains(" of 3 ")));
    client.request("tasks/cancel", json!({"taskId": task}));
    let result = client.client.result(id);
    assert_eq!(
        (&structured(&result)["status"], &structured(&result)["run_id"]),
        (&json!("complete"), &json!(task)),
        "{result}"
    );
    client.request("tasks/cancel", json!({"taskId": task}));
    let done = client.get(&task);
    assert_eq!((&done["status"], sandbox.simulator().stats().client_cancelled), (&json!("completed"), 0));
}

#[test]
fn a_client_that_disconnects_after_the_handle_cancels_nothing() {
    let sandbox = sandbox_with(PANEL.map(|model| (model, slow(800))));
    let mut client = Modern::with_tasks(&sandbox, &[]);
    let id = client.send("tools/call", json!({"name": "process_prompt", "arguments": question()}));
    let task = client.client.result(id)["taskId"].as_str().unwrap().to_owned();
    client.client.notify("notifications/cancelled", json!({"requestId": id}));
    client.client.hang_up();
    assert!(client.client.wait().0.success());
    assert_eq!(sandbox.simulator().stats().client_cancelled, 0);
    // After a restart of the server.
    let done = Modern::with_tasks(&sandbox, &[]).get(&task);
    assert_eq!(
        (&done["status"], &structured(&done["result"])["status"]),
        (&json!("completed"), &json!("complete"))
    );
}

#[test]
fn another_process_reports_a_task_during_its_run_and_after_a_kill() {
    let sandbox = sandbox_with(PANEL.map(|model| (model, slow(1_200))));
    let mut doing = Modern::with_tasks(&sandbox, &[]);
    let task = doing.task("process_prompt", question());
    let mut watching = Modern::with_tasks(&sandbox, &[]);
    assert_eq!(watching.get(&task)["status"], "working");
    let done = watching.ended(&sandbox, &task);
    assert_eq!((&done["status"], &done["result"]), (&json!("completed"), &doing.get(&task)["result"]));

    for model in PANEL {
        sandbox.simulator().script(model, Script::fault(Fault::Stall));
    }
    let mut another = question();
    another["prompt"] = "And which is faster?".into();
    let lost = doing.task("process_prompt", another);
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    doing.client.child.kill().unwrap();
    let over = watching.ended(&sandbox, &lost);
    assert_eq!((&over["status"], &over["result"]["isError"]), (&json!("completed"), &json!(true)), "{over}");
    let report = structured(&over["result"]);
    assert_eq!((&report["status"], &report["code"]), (&json!("interrupted"), &json!("interrupted")));
    assert!(text(&over["result"]).contains("resume_run"), "{}", text(&over["result"]));
}

#[test]
fn another_process_gives_a_task_up() {
    let sandbox = stalled();
    let mut doing = Modern::with_tasks(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "500")]);
    let [given_up, wanted] = ["Which is safer?", "Which is faster?"].map(|prompt| {
        let mut question = question();
        question["prompt"] = prompt.into();
        doing.task("process_prompt", question)
    });
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 6);
    let mut another = Modern::with_tasks(&sandbox, &[]);
    let acknowledged = another.request("tasks/cancel", json!({"taskId": given_up}));
    assert_eq!(acknowledged["result"], json!({"resultType": "complete"}), "{acknowledged}");
    for client in [&mut another, &mut doing] {
        let over = client.ended(&sandbox, &given_up);
        assert_eq!((&over["status"], over.get("result")), (&json!("cancelled"), None), "{over}");
        assert_eq!(client.get(&wanted)["status"], "working");
    }
    sandbox.until("its calls have ended", || sandbox.simulator().stats().in_flight == 3);
    // Nothing is asked of the process that continues the run for its user.
    sandbox.until("the run is closed", || {
        let resumed = another.call("resume_run", json!({"run_id": given_up, "resend": true}));
        assert!(
            resumed["taskId"] == given_up.as_str() || structured(&resumed)["code"] == "busy",
            "{resumed}"
        );
        resumed["taskId"] == given_up.as_str()
    });
    sandbox.until("all are asked again", || sandbox.simulator().stats().in_flight == 6);
    sandbox.pause(Duration::from_millis(1_500));
    assert_eq!(another.get(&given_up)["status"], "working");
}

#[test]
fn resuming_a_run_is_also_a_task() {
    let sandbox = sandbox_with([(PANEL[2], Script::fault(Fault::NoEndpoints)), ("z-ai/glm-5.3", slow(600))]);
    let mut client = Modern::with_tasks(&sandbox, &[]);
    let handle = client.call("process_prompt", question());
    let run_id = handle["taskId"].as_str().or(structured(&handle)["run_id"].as_str()).unwrap().to_owned();
    client.ended(&sandbox, &run_id);
    sandbox.until("the run is closed", || {
        let more = client.call("resume_run", json!({"run_id": run_id, "models": ["z-ai/glm-5.3"]}));
        assert!(more["resultType"] == "task" || structured(&more)["code"] == "busy", "{more}");
        more["taskId"] == run_id.as_str()
    });
    let done = client.ended(&sandbox, &run_id);
    assert_eq!(structured(&done["result"])["answered"], "3 of 4", "{done}");
}

/// A panel that may cost more than the settings allow.
const DEAR: &str = "openai/gpt-6.1-sol*25";

/// A limit that every question exceeds.
const TIGHT: (&str, &str) = ("PARALLEL_LLM_BUDGET_USD", "0.00001");

/// A client of an older protocol with these capabilities.
fn older(sandbox: &Sandbox, capabilities: Value, settings: &[(&str, &str)]) -> Client {
    let mut client = Client::silent(sandbox, settings);
    let mut greeting = hello("test-client");
    greeting["capabilities"] = capabilities;
    client.request("initialize", greeting);
    client.notify("notifications/initialized", json!({}));
    client
}

/// Waits for the server's question to the user. Returns its id and its parameters.
fn consent_request(client: &mut Client) -> (Value, Value) {
    let asked = client.find(|message| message["method"] == "elicitation/create").expect("the user is asked");
    (asked["id"].clone(), asked["params"].clone())
}

fn reply(client: &mut Client, id: &Value, result: &Value) {
    client.line(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

/// The dollar amounts in a text, in order.
fn dollars(text: &str) -> Vec<&str> {
    let is_amount = |c: char| c == '$' || c == '.' || c.is_ascii_digit();
    let words = text.split(|c: char| !is_amount(c)).filter(|word| word.starts_with('$'));
    words.map(|word| word.trim_end_matches('.')).collect()
}

#[test]
fn the_user_is_asked_and_the_approved_amount_is_the_budget() {
    let sandbox = sandbox_with([]);
    let mut client = older(&sandbox, json!({"elicitation": {}}), &[TIGHT]);
    let id = client.start("process_prompt", question());
    let (asked, form) = consent_request(&mut client);
    let message = form["message"].as_str().unwrap();
    let [likely, worst, limit, amount] = dollars(message)[..] else { panic!("{message}") };
    assert_eq!((worst, limit), (amount, "$0.000010"), "{message}");
    assert_ne!(likely, worst, "{message}");
    let title = format!("Spend up to {amount}");
    let field = json!({"type": "boolean", "title": title, "description": "For this call only."});
    let schema = json!({"type": "object", "properties": {"approve": field}, "required": ["approve"]});
    assert_eq!((&form["mode"], &form["requestedSchema"]), (&json!("form"), &schema));
    assert_eq!(sandbox.chats().len(), 0, "nothing is paid before consent");
    reply(&mut client, &asked, &yes());
    let result = client.result(id);
    assert_eq!(structured(&result)["status"], "complete", "{result}");

    let part = client.call("get_run", json!({"run_id": structured(&result)["run_id"], "part": "plan"}));
    let plan: Value = serde_json::from_str(structured(&part)["text"].as_str().unwrap()).unwrap();
    assert_eq!(plan["budget"], plan["worst_case"], "{plan}");

    // Resuming the run asks again, for the cost of the new part.
    let more = json!({"run_id": structured(&result)["run_id"], "models": ["z-ai/glm-5.3"]});
    let id = client.start("resume_run", more);
    let (question, _) = consent_request(&mut client);
    reply(&mut client, &question, &yes());
    assert_eq!(structured(&client.result(id))["answered"], "4 of 4");
}

#[test]
fn without_consent_the_call_is_refused() {
    let sandbox = sandbox_with([]);
    let mut client = older(&sandbox, json!({"elicitation": {"form": {}, "url": {}}}), &[TIGHT]);
    for (no, told) in [
        (json!({"action": "decline"}), "the user declined"),
        (json!({"action": "cancel"}), "the user closed the question without deciding"),
        (json!({"action": "accept", "content": {"approve": false}}), "the user declined"),
        (json!({"action": "accept"}), "the user declined"),
    ] {
        let id = client.start("process_prompt", question());
        let (asked, _) = consent_request(&mut client);
        reply(&mut client, &asked, &no);
        let refused = client.result(id);
        assert_eq!(
            (&refused["isError"], &structured(&refused)["code"]),
            (&json!(true), &json!("budget")),
            "{no}"
        );
        let message = text(&refused);
        assert!(message.contains(told) && message.contains("$0.000010"), "{message}");
    }
    let id = client.start("process_prompt", question());
    let (asked, _) = consent_request(&mut client);
    client
        .line(json!({"jsonrpc": "2.0", "id": asked, "error": {"code": -32603, "message": "no"}}).to_string());
    let refused = client.result(id);
    assert_eq!(structured(&refused)["code"], "budget");
    assert!(text(&refused).contains("the user could not be asked"), "{}", text(&refused));
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn a_consent_request_ends_with_its_call_or_times_out() {
    let sandbox = sandbox_with([]);
    let elicitation = json!({"elicitation": {}});
    let mut client = older(&sandbox, elicitation.clone(), &[TIGHT]);
    let id = client.start("process_prompt", question());
    let (question_id, _) = consent_request(&mut client);
    client.notify("notifications/cancelled", json!({"requestId": id}));
    let is_cancelled = |message: &Value| {
        message["method"] == "notifications/cancelled" && message["params"]["requestId"] == question_id
    };
    client.find(is_cancelled).expect("the form is cancelled");
    // Consent that comes too late does not count.
    reply(&mut client, &question_id, &yes());
    client.request("ping", json!({}));
    assert!(client.seen.iter().all(|message| message["id"] != id), "no reply to a cancelled call");

    let settings = [TIGHT, ("PARALLEL_LLM_CLIENT_WALL_MS", "2000")];
    let mut client = older(&sandbox, elicitation, &settings);
    let begun = Instant::now();
    let refused = client.call("process_prompt", question());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(structured(&refused)["code"], "budget", "{refused}");
    assert!(text(&refused).contains("did not answer in time"), "{}", text(&refused));
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn the_user_is_not_asked_if_consent_cannot_help() {
    let sandbox = sandbox_with([]);
    let mut budgeted = question();
    budgeted["budget_usd"] = json!(0.000_000_1);
    let mut rich = question();
    rich["budget_usd"] = json!(0.000_02);
    let day = ("PARALLEL_LLM_BUDGET_DAY_USD", "0.00001");
    for (case, capabilities, settings, arguments) in [
        ("no form can be shown", json!({}), TIGHT, question()),
        ("no form can be shown", json!({"elicitation": {"url": {}}}), TIGHT, question()),
        ("the call's own budget is beyond it", json!({"elicitation": {}}), TIGHT, budgeted),
        ("a higher budget would not do", json!({"elicitation": {}}), TIGHT, rich),
        ("the day's limit stands", json!({"elicitation": {}}), day, question()),
    ] {
        let mut client = older(&sandbox, capabilities.clone(), &[settings]);
        let refused = client.call("process_prompt", arguments.clone());
        assert_eq!(
            (&refused["isError"], &structured(&refused)["code"]),
            (&json!(true), &json!("budget")),
            "{case}"
        );
        assert!(client.seen.iter().all(|message| message["method"] != "elicitation/create"), "{case}");
        let mut client = Modern::new(&sandbox, capabilities, &[settings]);
        let refused = client.call("process_prompt", arguments);
        assert_eq!(structured(&refused)["code"], "budget", "{case}: {refused}");
    }
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn a_refusal_for_cost_says_what_the_caller_can_do() {
    let sandbox = sandbox_with([]);
    let mut poor = question();
    poor["budget_usd"] = json!(0.000_000_1);
    let mut rich = question();
    rich["budget_usd"] = json!(7);
    rich["models"] = json!([DEAR]);
    let ask = |settings: &[(&str, &str)], arguments: &Value| {
        let mut client = older(&sandbox, json!({}), settings);
        let refused = client.call("process_prompt", arguments.clone());
        // The worst case depends on the simulator's prices.
        let masked = |name: &str| {
            let field = structured(&refused)[name].as_str().unwrap_or_else(|| panic!("{refused}"));
            let mut words: Vec<&str> = field.split(' ').collect();
            for at in 2..words.len() {
                let is_worst = ["up to", "`budget_usd` from"].contains(&&*words[at - 2..at].join(" "));
                words[at] = if is_worst { "X" } else { words[at] };
            }
            words.join(" ")
        };
        format!("{}\n{}", masked("message"), masked("next"))
    };
    insta::assert_snapshot!(ask(&[TIGHT], &question()), @"
    the run may cost up to X the budget is $0.000010; this client cannot ask its user to allow more
    ask fewer or cheaper models, lower `max_tokens`, or ask the user to raise the setting `budget_usd`
    ");
    insta::assert_snapshot!(ask(&[], &poor), @"
    the run may cost up to X the budget is $0.00000010
    give `budget_usd` from X to 3
    ");
    insta::assert_snapshot!(ask(&[], &rich), @"
    the run may cost up to X the budget is $3.00; this client cannot ask its user to allow more
    ask fewer or cheaper models, lower `max_tokens`, or ask the user to raise the setting `budget_usd`
    ");
    let day = [("PARALLEL_LLM_BUDGET_DAY_USD", "0.00001")];
    let refused = ask(&day, &question());
    assert!(refused.contains("\nwait until the day ends"), "{refused}");
    assert!(refused.ends_with(", or ask the user to raise the setting `budget_day_usd`"), "{refused}");
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn consent_does_not_raise_the_daily_limit() {
    let sandbox = sandbox_with([]);
    let settings = [TIGHT, ("PARALLEL_LLM_BUDGET_DAY_USD", "0.00001")];
    let mut client = older(&sandbox, json!({"elicitation": {}}), &settings);
    let id = client.start("process_prompt", question());
    let refused = client.result(id);
    assert_eq!(
        (&refused["isError"], &structured(&refused)["code"]),
        (&json!(true), &json!("budget")),
        "{refused}"
    );
    assert!(text(&refused).contains("budget_day_usd"), "{}", text(&refused));
    let is_question = |message: &Value| message["method"] == "elicitation/create";
    assert!(!client.seen.iter().any(is_question), "nobody is asked to allow what the day does not");
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn a_budget_above_the_setting_needs_consent_to_what_the_call_can_cost() {
    let sandbox = sandbox_with([]);
    let mut client = older(&sandbox, json!({"elicitation": {}}), &[]);
    let mut rich = question();
    rich["budget_usd"] = json!(500);
    let within = client.call("process_prompt", rich.clone());
    assert_eq!(structured(&within)["status"], "complete", "it costs less than the setting allows: {within}");
    rich["models"] = json!([DEAR]);
    let id = client.start("process_prompt", rich);
    let (asked, form) = consent_request(&mut client);
    let message = form["message"].as_str().unwrap();
    let [_, worst, limit, amount] = dollars(message)[..] else { panic!("{message}") };
    assert_eq!((worst, limit), (amount, "$3.00"), "{message}");
    reply(&mut client, &asked, &yes());
    let result = client.result(id);
    let part = client.call("get_run", json!({"run_id": structured(&result)["run_id"], "part": "plan"}));
    let plan: Value = serde_json::from_str(structured(&part)["text"].as_str().unwrap()).unwrap();
    assert_eq!(plan["budget"], plan["worst_case"], "{plan}");
}

#[test]
fn the_newest_protocol_asks_for_consent_with_a_sealed_state() {
    let sandbox = sandbox_with([(PANEL[0], slow(300))]);
    let capabilities = json!({"elicitation": {"form": {}}, "extensions": {TASKS: {}}});
    let mut client = Modern::new(&sandbox, capabilities, &[TIGHT]);
    let asked = client.call("process_prompt", question());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let form = &asked["inputRequests"]["confirm_spend"];
    assert_eq!(form["method"], "elicitation/create", "{asked}");
    assert_eq!(form["params"]["requestedSchema"]["required"], json!(["approve"]), "{asked}");
    let state = asked["requestState"].as_str().unwrap();
    let with = |state: &str, response: &Value| json!({"requestState": state, "inputResponses": {"confirm_spend": response}});

    let other_letter = if &state[20..21] == "A" { "B" } else { "A" };
    let tampered = format!("{}{other_letter}{}", &state[..20], &state[21..]);
    let mut other = question();
    other["prompt"] = "Another question?".into();
    let other_state =
        client.call("process_prompt", other.clone())["requestState"].as_str().unwrap().to_owned();
    for (case, arguments, state) in [
        ("tampered with", question(), tampered.as_str()),
        ("made up", question(), "rs1.AAAA.AAAA"),
        ("of another call", question(), &other_state),
        ("for another call", other, state),
    ] {
        let refused = client.call_with("process_prompt", arguments, &with(state, &yes()));
        assert_eq!(refused["error"]["code"], INVALID, "{case}: {refused}");
    }
    let again = client.call_with("process_prompt", question(), &json!({"requestState": state}));
    assert_eq!(again["result"]["resultType"], "input_required", "no consent yet: {again}");
    assert_eq!(sandbox.chats().len(), 0);

    let approved = client.call_with("process_prompt", question(), &with(state, &yes()))["result"].take();
    assert_eq!(approved["resultType"], "task", "{approved}");
    let replayed = client.call_with("process_prompt", question(), &with(state, &yes()));
    assert_eq!(replayed["error"]["code"], INVALID, "{replayed}");
    let done = client.ended(&sandbox, approved["taskId"].as_str().unwrap());
    assert_eq!(structured(&done["result"])["status"], "complete", "{done}");

    let asked = client.call("process_prompt", question());
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let response = json!({"action": "decline"});
    let declined = client.call_with("process_prompt", question(), &with(&state, &response))["result"].take();
    assert_eq!(structured(&declined)["code"], "budget", "{declined}");
    let message = text(&declined);
    assert!(message.contains("the user declined") && message.contains("$0.000010"), "{message}");
    let paid = sandbox.chats().len();

    let mut restarted = Modern::new(&sandbox, json!({"elicitation": {"form": {}}}), &[TIGHT]);
    let asked = client.call("process_prompt", question());
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let foreign = restarted.call_with("process_prompt", question(), &with(&state, &yes()));
    assert_eq!(foreign["error"]["code"], INVALID, "{foreign}");
    assert_eq!(sandbox.chats().len(), paid);
}

#[test]
fn progress_shows_a_pending_retry() {
    let limited = Script::fault(Fault::RateUpstream).fail_first(1).retry_after("2");
    let sandbox = sandbox_with([(PANEL[0], limited)]);
    let mut client = Client::new(&sandbox, &[]);
    let id = client.start("process_prompt", json!({"prompt": "Why?", "models": [PANEL[0]]}));
    assert_eq!(structured(&client.result(id))["status"], "complete");
    let progress = client.progress(id);
    let numbers: Vec<f64> = progress.iter().map(|note| note["progress"].as_f64().unwrap()).collect();
    assert!(numbers[0] == 0.0 && numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
    let mut lines: Vec<String> = progress
        .iter()
        .map(|note| note["message"].as_str().unwrap().replace(|c: char| c.is_ascii_digit(), "N"))
        .collect();
    lines.dedup();
    // The first progress may come before the refusal, and on a slow machine another after the answer.
    lines.retain(|line| !line.contains("waiting for gpt-N.N-sol, ") && !line.contains("answered, N s"));
    assert_eq!(
        lines,
        [
            "about to ask the panel",
            "N of N answered, waiting for gpt-N.N-sol (NNN, retry in N s), N s, $N.NN"
        ]
    );
}

#[test]
fn a_silent_run_sends_progress_within_ten_seconds() {
    let sandbox = stalled();
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_CLIENT_WALL_MS", "600000")]);
    client.start("process_prompt", question());
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    let is_progress = |message: &Value| message["method"] == "notifications/progress";
    client.find(is_progress).expect("progress comes at once");
    let (mut last, mut silence) = (Instant::now(), Duration::ZERO);
    while silence < Duration::from_secs(5) {
        client.find(is_progress).expect("progress comes again");
        silence = last.elapsed();
        last = Instant::now();
        assert!(silence < Duration::from_secs(10), "{silence:?}");
    }
}

#[test]
fn only_cancelling_the_paying_call_ends_the_run_in_each_protocol() {
    for is_newest in [false, true] {
        let sandbox = stalled();
        let mut client = Modern::new(&sandbox, json!({}), &[("PARALLEL_LLM_DRAIN_MS", "500")]);
        if !is_newest {
            client.client.begin("test-client");
        }
        let mut send = |tool: &str, arguments: Value| {
            let params = json!({"name": tool, "arguments": arguments});
            if is_newest {
                client.send("tools/call", params)
            } else {
                client.client.send("tools/call", params)
            }
        };
        let paying = send("process_prompt", question());
        sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
        let folders = std::fs::read_dir(sandbox.data_dir().join("runs")).unwrap();
        let run_id = folders.flatten().next().unwrap().file_name().into_string().unwrap();
        let waiting = send("get_run", json!({"run_id": run_id, "wait_s": 50}));
        client.client.notify("notifications/cancelled", json!({"requestId": waiting}));
        let after = get_run(&mut client, &run_id, is_newest);
        assert_eq!(structured(&after)["status"], "running", "{after}");
        assert_eq!(sandbox.simulator().stats().client_cancelled, 0);

        let begun = Instant::now();
        client.client.notify("notifications/cancelled", json!({"requestId": paying}));
        sandbox.until("the simulator sees it", || sandbox.simulator().stats().client_cancelled >= 2);
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        sandbox.until("the run has ended", || {
            structured(&get_run(&mut client, &run_id, is_newest))["status"] == "cancelled"
        });
    }
}

/// Gets a run in either protocol.
fn get_run(client: &mut Modern, run_id: &str, is_newest: bool) -> Value {
    let arguments = json!({"run_id": run_id});
    if is_newest { client.call("get_run", arguments) } else { client.client.call("get_run", arguments) }
}

#[test]
fn a_ping_is_answered_despite_the_unread_progress_of_twenty_runs() {
    const LISTS: usize = 40;
    const RUNS: usize = 20;
    let sandbox = sandbox_with(PANEL.map(|model| (model, slow(40_000))));
    let mut client = Client::deaf(&sandbox, &[]);
    client.send("initialize", hello("test-client"));
    client.notify("notifications/initialized", json!({}));
    // More than three times the capacity of a pipe, so that every writer blocks from here on.
    for _ in 0..LISTS {
        client.send("tools/list", json!({}));
    }
    for number in 0..RUNS {
        let mut question = question();
        question["prompt"] = format!("Question {number}?").into();
        client.start("process_prompt", question);
    }
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3 * RUNS as u64);
    // Each run sends progress twice a second, which nobody reads.
    sandbox.pause(Duration::from_secs(2));
    let id = client.send("ping", json!({}));
    let begun = Instant::now();
    let stdout = BufReader::new(client.child.stdout.take().unwrap());
    let lines = stdout.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let (mut lists, mut notes, mut pong) = (0, 0, Value::Null);
    for message in lines {
        lists += usize::from(message["result"]["tools"].is_array());
        notes += usize::from(message["method"] == "notifications/progress");
        if message["id"] == id {
            pong = message;
            break;
        }
    }
    assert_eq!((&pong["result"], lists), (&json!({}), LISTS));
    assert!(notes < RUNS, "the pipe was never full: {notes} notifications were written");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

/// A server over HTTP; each request uses a new connection.
struct Network {
    port: u16,
    /// Further headers of each request.
    headers: String,
}

impl Network {
    /// Reserves a free port for a server that is about to start.
    fn reserve() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        Self { port: free.local_addr().expect("it has a port").port(), headers: String::new() }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends a message and returns the lines of the reply.
    fn post(&self, message: &Value) -> impl Iterator<Item = String> + use<> {
        let body = message.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n",
            self.address(),
            body.len(),
            self.headers,
        );
        stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).expect("the server reads");
        BufReader::new(stream).lines().map_while(Result::ok)
    }

    /// Sends a request of the newest protocol and returns its reply.
    fn request(&mut self, method: &str, mut params: Value, capabilities: &Value) -> Value {
        let name = params["taskId"].as_str().or(params["name"].as_str()).unwrap_or_default();
        self.headers =
            format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n");
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
        });
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&request)
            .find_map(|line| message(&line).filter(|message| message["id"] == 1))
            .expect("a reply")
    }
}

/// The message in a line of a body, with or without the prefix of an event.
fn message(line: &str) -> Option<Value> {
    serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)).ok().filter(Value::is_object)
}

#[test]
fn over_http_a_task_and_a_consent_request_outlive_their_connections() {
    let sandbox = sandbox_with([(PANEL[0], slow(800))]);
    let mut network = Network::reserve();
    let _server =
        sandbox.call(["serve", "--http", &network.address(), "--no-auth"]).env(TIGHT.0, TIGHT.1).start();
    sandbox.until("the server listens", || TcpStream::connect(("127.0.0.1", network.port)).is_ok());
    let both = json!({"elicitation": {"form": {}}, "extensions": {TASKS: {}}});
    let call = json!({"name": "process_prompt", "arguments": question()});
    let asked = network.request("tools/call", call.clone(), &both)["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"confirm_spend": yes()});
    let handle = network.request("tools/call", again, &both)["result"].take();
    assert_eq!((&handle["resultType"], &handle["status"]), (&json!("task"), &json!("working")), "{handle}");
    let task = json!({"taskId": handle["taskId"]});
    let mut done = Value::Null;
    sandbox.until("the task has ended", || {
        done = network.request("tasks/get", task.clone(), &both)["result"].take();
        done["status"] != "working"
    });
    assert_eq!(structured(&done["result"])["status"], "complete", "{done}");
    let refused = network.request("tasks/get", task, &json!({}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[test]
fn over_http_a_session_asks_its_user_on_the_stream_of_the_call() {
    let sandbox = sandbox_with([]);
    let mut network = Network::reserve();
    let _server =
        sandbox.call(["serve", "--http", &network.address(), "--no-auth"]).env(TIGHT.0, TIGHT.1).start();
    sandbox.until("the server listens", || TcpStream::connect(("127.0.0.1", network.port)).is_ok());
    let mut greeting = hello("test-client");
    greeting["capabilities"] = json!({"elicitation": {}});
    let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting});
    let session = network.post(&greeting).find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
    network.headers = format!("{}\r\n", session.expect("a session"));
    network.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).for_each(drop);
    let params = json!({"name": "process_prompt", "arguments": question()});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut stream = network.post(&call).filter_map(|line| message(&line));
    let asked = stream.find(|message| message["method"] == "elicitation/create").expect("the user is asked");
    network.post(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes()})).for_each(drop);
    let result = stream.find(|message| message["id"] == 1 && message.get("method").is_none());
    assert_eq!(structured(&result.expect("a reply")["result"])["status"], "complete");
}
