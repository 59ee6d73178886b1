//! Batches as their users meet them: files of questions, what is wrong with them, and what stops and continues the work.

mod killed;

use std::path::{Path, PathBuf};
use std::time::Duration;

use parallel_llm_testkit::simulator::{Answer, Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Output, Sandbox};
use serde_json::{Value, json};

use crate::http::client::Wire;
use crate::http::program::{serve, structured};
use crate::http::sessions::modern;

const ADA: &str = "openai/gpt-6.1-sol";
const BOB: &str = "anthropic/claude-opus-5.5";
const CYD: &str = "mistralai/mistral-large-4-0";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(ADA, Script::answering("It rains, because air rises."))
}

/// Such a sandbox in which a model takes so long.
fn slow(model: &str, ms: u64) -> Sandbox {
    let answer = Answer::Fixed("Slowly.".to_owned());
    let behaviour = Behaviour { ttft_ms: Latency::of(ms), answer, ..Behaviour::instant() };
    sandbox().scripted(model, Script::behaving(behaviour))
}

/// A file of so many plain questions.
fn questions(sandbox: &Sandbox, count: usize) -> PathBuf {
    let lines: Vec<String> = (1..=count)
        .map(|number| json!({"id": format!("q{number}"), "prompt": format!("Why {number}?")}).to_string())
        .collect();
    sandbox.write("questions.jsonl", lines.join("\n"))
}

fn batch(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let output = sandbox.call(["batch"]).args(arguments).run();
    output.assert_no_key();
    output
}

fn submit(sandbox: &Sandbox, file: &Path, arguments: &[&str]) -> Output {
    let file = file.display().to_string();
    batch(sandbox, &[&["submit", &file, "-m", ADA], arguments].concat())
}

fn status(sandbox: &Sandbox) -> Value {
    batch(sandbox, &["status", "--json"]).json()
}

/// The fields of an object that tests compare.
fn fields(object: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), object[name].clone())).collect()
}

/// Lines that are right, and lines that are wrong in every way.
const MIXED: [&str; 26] = [
    "\u{feff}{\"id\": \"a\", \"prompt\": \"Why does it rain?\"}\r",
    "\r",
    "{\"prompt\": \"And why not?\", \"models\": [\"anthropic/claude-opus-5.5\"], \"max_tokens\": 50}",
    "{\"prompt\": \"x\"",
    "[1]",
    "{\"prmpt\": \"x\"}",
    "{\"prompt\": \"  \"}",
    "{\"id\": \"a\", \"prompt\": \"the same name\"}",
    "{\"id\": 9, \"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}, {\"role\": \"user\", \"content\": \"c\"}]}",
    "{\"messages\": [{\"role\": \"assistant\", \"content\": \"b\"}]}",
    "{\"prompt\": \"x\", \"messages\": []}",
    "{\"prompt\": \"x\", \"models\": [\"nobody/nothing\"]}",
    "{\"prompt\": \"x\", \"budget_usd\": 0.000001}",
    "{\"custom_id\": \"o\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\", \"body\": {\"model\": \"panel/anthropic/claude-opus-5.5\", \"messages\": [{\"role\": \"user\", \"content\": \"Which city?\"}], \"max_completion_tokens\": 9}}",
    "{\"custom_id\": \"of-openai\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\", \"body\": {\"model\": \"gpt-4o-mini\", \"messages\": [{\"role\": \"user\", \"content\": \"And who asks?\"}]}}",
    "{\"custom_id\": \"p\", \"method\": \"POST\", \"url\": \"/v1/embeddings\", \"body\": {}}",
    "{\"custom_id\": \"q\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\", \"body\": {\"model\": \"a/b\", \"messages\": [], \"tools\": [{}]}}",
    "{\"prompt\": \"x\", \"prompt\": \"y\"}",
    "{\"id\": \"\", \"prompt\": \"x\"}",
    "{\"prompt\": \"x\", \"temperature\": 3}",
    "{\"prompt\": 7}",
    "{\"prompt\": \"x\", \"models\": \"a/b\"}",
    "{\"prompt\": \"x\", \"max_tokens\": \"100\"}",
    "{\"prompt\": \"x\", \"max_tokens\": -1}",
    "{\"messages\": [{\"role\": \"user\", \"content\": [1]}]}",
    "{\"id\": true, \"prompt\": \"x\"}",
];

#[test]
fn a_dry_run_checks_every_line_and_asks_none() {
    let sandbox = sandbox();
    let file = sandbox.write("questions.jsonl", MIXED[..6].join("\n"));
    let output = submit(&sandbox, &file, &["--dry-run"]);
    insta::assert_snapshot!(output.transcript(), @"
    exit 3
    --- stdout
    Nothing was asked. The file has 2 questions.
    Cost: about $0.016 with 1500 tokens for each reply, at most $0.16 if no call fails. The budget is $3.00.
    --- stderr
    line 4 is left out: a JSON object begins there and does not end: each question is a line of its own
    line 5 is left out: it is not a JSON object
    line 6 is left out: there is no field `prmpt`
    ");
    let json = submit(&sandbox, &file, &["--dry-run", "--json"]).json();
    insta::assert_snapshot!(json, @r#"{"bad":3,"budget_usd":3.0,"cost_likely_usd":0.016035,"cost_max_usd":0.483105,"questions":2,"schema":1,"unpriced_models":[]}"#);
    assert!(sandbox.chats().is_empty());
    assert_eq!(sandbox.call(["batch", "status", "--json"]).run().code, Some(2), "there is no batch");
    let bad = sandbox.write("bad.jsonl", "[1]");
    assert_eq!(submit(&sandbox, &bad, &["--dry-run"]).code, Some(2));
}

#[test]
fn each_line_becomes_a_run_and_a_bad_one_is_named_by_its_number() {
    let sandbox = sandbox().scripted(BOB, Script::answering("Paris."));
    let file = sandbox.write("questions.jsonl", MIXED.join("\n"));
    let output = submit(&sandbox, &file, &[]);
    assert_eq!(output.code, Some(3));
    assert_eq!(output.text().trim().len(), 26, "stdout has the id");
    insta::assert_snapshot!(output.summary(), @r#"
    batch <run>: 6 questions, about $0.062, at most $0.64 if no call fails. The budget is $3.00.
    line 4 is left out: a JSON object begins there and does not end: each question is a line of its own
    line 5 is left out: it is not a JSON object
    line 6 is left out: there is no field `prmpt`
    line 7 is left out: the prompt is empty
    line 8 is left out: an earlier line has the same id
    line 10 is left out: the last of its `messages` is not the user's
    line 11 is left out: it has both `prompt` and `messages`
    line 12 is left out: the model `nobody/nothing` is unknown: no vendor is called `nobody`
    line 13 is left out: the run may cost up to $0.16; the budget is $0.0000010
    line 16 is left out: its `url` is `/v1/embeddings`; a batch has lines for `/v1/chat/completions` only
    line 17 is left out: `tools` cannot be honoured as `[{}]`: a panel calls no tools
    line 18 is left out: it has `prompt` twice
    line 19 is left out: its id is not a text of 1 to 512 bytes without control characters
    line 20 is left out: its `temperature` is a number from 0 to 2, not 3
    line 21 is left out: its `prompt` is a string, not `7`
    line 22 is left out: the model `a/b` is unknown: no vendor is called `a`
    line 24 is left out: its `max_tokens` is a whole number from 1 to 1000000, not -1
    line 25 is left out: its `messages[0].content` is a string, not a list
    line 26 is left out: its `id` is neither a string nor a whole number
    batch <run> (questions.jsonl): finished
    6 of 6 answered, 19 unusable
    $0.00041 of a budget of $3.00
    answers: see `parallel-llm-mcp batch results <run>`
    "#);
    assert_eq!(sandbox.asked(ADA), 4);
    assert_eq!(sandbox.asked(BOB), 2);
    let names = ["line", "id", "status", "answer"];
    let results = batch(&sandbox, &["results"]).json_lines();
    let results: Vec<Value> = results.iter().map(|line| fields(line, &names)).collect();
    let good: Vec<&Value> = results.iter().filter(|line| line["status"] != "bad").collect();
    let rain = "It rains, because air rises.";
    assert_eq!(
        good,
        [
            &json!({"line": 1, "id": "a", "status": "complete", "answer": rain}),
            &json!({"line": 3, "id": null, "status": "complete", "answer": "Paris."}),
            &json!({"line": 9, "id": "9", "status": "complete", "answer": rain}),
            &json!({"line": 14, "id": "o", "status": "complete", "answer": "Paris."}),
            &json!({"line": 15, "id": "of-openai", "status": "complete", "answer": rain}),
            &json!({"line": 23, "id": null, "status": "complete", "answer": rain}),
        ]
    );
    assert_eq!(results.len(), 25);
    let roles: Vec<_> =
        sandbox.chats().iter().map(|chat| chat.body["messages"].as_array().unwrap().len()).collect();
    assert!(roles.contains(&3), "a conversation is sent whole: {roles:?}");
}

#[test]
fn a_file_without_a_usable_line_leaves_no_batch() {
    let sandbox = sandbox();
    for (content, message) in [
        ("", "no line of the file can be used"),
        ("\n \n", "no line of the file can be used"),
        ("{}\n", "no line of the file can be used: line 1: it has neither `prompt` nor `messages`"),
    ] {
        let file = sandbox.write("empty.jsonl", content);
        let output = submit(&sandbox, &file, &[]);
        assert_eq!(output.code, Some(2), "{}", output.stderr);
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
    let list = sandbox.write("list.jsonl", "[\n{\"prompt\": \"a\"},\n{\"prompt\": \"b\"}\n]\n");
    let refused = submit(&sandbox, &list, &[]);
    assert!(refused.stderr.contains("the file is one JSON list"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("jq -c '.[]' FILE | parallel-llm-mcp batch submit -"),
        "{}",
        refused.stderr
    );
    assert!(sandbox.chats().is_empty());
    let missing = batch(&sandbox, &["submit", "no-such-file.jsonl"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("`no-such-file.jsonl` cannot be read"), "{}", missing.stderr);
    assert!(
        missing.stderr.contains("next: see `parallel-llm-mcp batch submit --help`"),
        "{}",
        missing.stderr
    );
    let file = questions(&sandbox, 1);
    let stored =
        sandbox.call(["batch", "submit"]).arg(&file.display().to_string()).settings([("store", "metadata")]);
    let stored = stored.run();
    assert_eq!(stored.code, Some(2));
    assert!(stored.stderr.contains("a batch needs its answers to be stored"), "{}", stored.stderr);
    let keyless = sandbox.call(["batch", "submit", "-m", ADA]).arg(&file.display().to_string());
    let keyless = keyless.without("OPENROUTER_API_KEY").run();
    assert_eq!(keyless.code, Some(4), "{}", keyless.stderr);
    let listed = batch(&sandbox, &["list", "--json"]).json();
    assert_eq!(listed["batches"], json!([]));
    assert_eq!(batch(&sandbox, &["status"]).code, Some(2));
    assert!(sandbox.chats().is_empty());
}

#[test]
fn a_line_with_a_key_in_it_is_sent_only_on_request() {
    let sandbox = sandbox();
    let key = "wJalrXUtnFEMI/K7MDENG/bPxRfi";
    let settings =
        format!("[default]\naws_access_key_id = AKIAQ3EGRTYU7PLK2MNB\naws_secret_access_key = {key}\n");
    let lines = [json!({"prompt": "Why?"}), json!({"prompt": settings})];
    let file = sandbox.write("q.jsonl", lines.map(|line| line.to_string()).join("\n"));
    let output = submit(&sandbox, &file, &[]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(
        output.stderr.contains("line 2 is left out") && !output.stderr.contains(key),
        "{}",
        output.stderr
    );
    assert_eq!(sandbox.asked(ADA), 1);
    assert_eq!(submit(&sandbox, &file, &["--allow-secret-file"]).code, Some(0));
    assert_eq!(sandbox.asked(ADA), 3);
}

#[test]
fn results_are_a_table_for_spreadsheets_too() {
    let sandbox = sandbox().scripted(ADA, Script::answering("=SUM(A1), \"quoted\""));
    let file = questions(&sandbox, 1);
    let output = submit(&sandbox, &file, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let table = batch(&sandbox, &["results", "--format", "csv"]);
    let rows: Vec<&str> = table.text().lines().collect();
    assert_eq!(rows[0], "line,id,status,answer,cost_usd,cost_max_usd,run_id,error_code,error_message");
    assert!(rows[1].starts_with("1,q1,complete,\"'=SUM(A1), \"\"quoted\"\"\",0."), "{}", rows[1]);
    let copy = sandbox.home().join("results.jsonl");
    let copied = batch(&sandbox, &["results", "-o", &copy.display().to_string()]);
    assert_eq!(copied.code, Some(0), "{}", copied.stderr);
    let copied = std::fs::read_to_string(&copy).unwrap();
    assert_eq!(copied, batch(&sandbox, &["results"]).text());
}

#[test]
fn no_credit_pauses_a_batch_and_resuming_asks_the_rest() {
    let sandbox = sandbox();
    let file = questions(&sandbox, 6);
    sandbox.simulator().script(ADA, Script::fault(Fault::Credits));
    let output = submit(&sandbox, &file, &["--concurrency", "1"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(sandbox.asked(ADA), 1, "one refusal is enough");
    let paused = status(&sandbox);
    assert_eq!(
        fields(&paused, &["state", "answered", "failed", "waiting"]),
        json!({"state": "paused", "answered": 0, "failed": 0, "waiting": 6})
    );
    assert_eq!(paused["pause"]["code"], "credits");
    insta::assert_snapshot!(output.masked(&output.stderr), @"
    batch <run>: 6 questions, about $0.090, at most $0.96 if no call fails. The budget is $3.00.
    [....................] 0 of 6 · $0.00 of $3.00
    batch <run> (questions.jsonl): paused
    0 of 6 answered, 6 waiting
    $0.00 of a budget of $3.00
    paused: openrouter answered 402: This request requires more credits, or fewer max_tokens. You requested up to 16000 tokens, but can only afford 3395. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account
      next: add credit at the provider, lower `--max-tokens`, or ask a model of another provider; then `parallel-llm-mcp batch resume <run>`
    ");

    // Nobody works on a paused batch.
    let still = batch(&sandbox, &["watch"]);
    assert_eq!(still.code, Some(4), "{}", still.stderr);
    sandbox.simulator().script(ADA, Script::answering("Now it does."));
    let resumed = batch(&sandbox, &["resume"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(sandbox.asked(ADA), 7);
    assert_eq!(status(&sandbox)["answered"], 6);
    let runs = sandbox.call(["runs", "list", "--json"]).run().json_lines();
    assert_eq!(runs.len(), 6, "the refused question goes on as the same run");
}

#[test]
fn a_budget_for_the_whole_is_kept_and_can_be_raised() {
    let sandbox = sandbox();
    let file = questions(&sandbox, 40);
    // A question may cost half a cent and costs a hundredth of one: only one at a time fits.
    let arguments = ["--budget", "0.0055", "--max-tokens", "500", "--concurrency", "40"];
    let output = submit(&sandbox, &file, &arguments);
    assert_eq!(output.code, Some(5), "{}", output.stderr);
    let paused = status(&sandbox);
    assert_eq!((&paused["state"], &paused["pause"]["code"]), (&json!("paused"), &json!("budget")));
    assert!(paused["cost_usd"].as_f64().unwrap() <= 0.0055, "{paused}");
    assert_eq!(paused["reserved_usd"], 0.0);
    let answered = paused["answered"].as_u64().unwrap();
    assert!((1..40).contains(&answered), "{paused}");
    assert_eq!(sandbox.asked(ADA) as u64, answered);
    let resumed = batch(&sandbox, &["resume", "--budget", "5"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(sandbox.asked(ADA), 40);

    // Without one, the budget of a run is that of the whole.
    let output = submit(&sandbox, &file, &["--detach"]);
    assert_eq!(output.code, Some(0));
    assert_eq!(status(&sandbox)["budget_usd"], 3.0);
}

#[test]
fn prices_that_rise_after_submission_are_kept_within_the_budget() {
    let sandbox = sandbox().scripted(ADA, Script::fault(Fault::Stall));
    let file = questions(&sandbox, 4);
    let set_price = |usd: u32| {
        let price = format!("{{ input_usd_per_million = 0, output_usd_per_million = {usd} }}");
        sandbox.write(".config/parallel-llm-mcp/config.toml", format!("[prices]\n\"{ADA}\" = {price}\n"))
    };
    // A question may cost half a cent when it is submitted, and two cents when it is asked: two of the four fit at once.
    set_price(10);
    let arguments = ["--budget", "0.05", "--max-tokens", "500", "--detach"];
    assert_eq!(submit(&sandbox, &file, &arguments).code, Some(0));
    set_price(40);
    let worker = sandbox.call(["worker", "--concurrency", "4"]).start();
    sandbox.until("as many are asked as fit", || sandbox.asked(ADA) == 2);
    sandbox.pause(Duration::from_secs(2));
    let now = fields(&status(&sandbox), &["state", "running", "waiting", "reserved_usd"]);
    assert_eq!(now, json!({"state": "running", "running": 2, "waiting": 2, "reserved_usd": 0.04}));
    assert_eq!(sandbox.asked(ADA), 2);
    worker.signal("TERM");
    assert_eq!(worker.wait().code, Some(143));
}

#[test]
fn calls_of_unknown_cost_stay_within_the_budget() {
    // A budget of its own, even none, does not let a line spend more.
    for own in ["", "budget_usd = \"none\"\n"] {
        // Nothing is heard of a request, so it may have been paid for, and it is made again by itself.
        let sandbox = sandbox().scripted(ADA, Script::fault(Fault::AcceptAndClose));
        let file = questions(&sandbox, 1);
        let price = "{ input_usd_per_million = 0, output_usd_per_million = 10 }";
        let settings = format!("{own}[prices]\n\"{ADA}\" = {price}\n");
        sandbox.write(".config/parallel-llm-mcp/config.toml", settings);
        // Half a cent each: two fit.
        let output = submit(&sandbox, &file, &["--budget", "0.012", "--max-tokens", "500"]);
        assert_eq!(output.code, Some(5), "{own}{}", output.stderr);
        assert_eq!(sandbox.asked(ADA), 2, "{own}");
        let paused = status(&sandbox);
        let why = paused["pause"]["message"].as_str().unwrap_or_default();
        assert!(why.starts_with("the batch has spent up to $0.01"), "{own}{paused}");
        let now = fields(&paused, &["state", "waiting", "cost_usd", "cost_max_usd", "reserved_usd"]);
        assert_eq!(
            now,
            json!({"state": "paused", "waiting": 1, "cost_usd": null, "cost_max_usd": 0.01, "reserved_usd": 0.0}),
            "{own}"
        );
    }
}

#[test]
fn a_question_that_fits_does_not_wait_for_one_that_does_not() {
    let sandbox = sandbox();
    let price = "{ input_usd_per_million = 0, output_usd_per_million = 10 }";
    sandbox.write(".config/parallel-llm-mcp/config.toml", format!("[prices]\n\"{ADA}\" = {price}\n"));
    let lines = [(1, 50_000), (2, 500)]
        .map(|(id, cap)| json!({"id": id.to_string(), "prompt": "Why?", "max_tokens": cap}));
    let file = sandbox.write("q.jsonl", lines.map(|line| line.to_string()).join("\n"));
    let output = submit(&sandbox, &file, &["--budget", "0.1"]);
    assert_eq!(output.code, Some(5), "{}", output.stderr);
    let now = fields(&status(&sandbox), &["state", "answered", "waiting"]);
    assert_eq!(now, json!({"state": "paused", "answered": 1, "waiting": 1}));
}

#[test]
fn a_failed_line_is_asked_again_on_request() {
    let sandbox = sandbox().scripted(CYD, Script::fault(Fault::Moderation));
    let lines = [
        json!({"prompt": "Why?"}),
        json!({"prompt": "Why not?", "models": [CYD]}),
        json!({"prompt": "Or?", "models": [ADA, CYD]}),
    ];
    let file = sandbox.write("q.jsonl", lines.map(|line| line.to_string()).join("\n"));
    let output = submit(&sandbox, &file, &[]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let now = status(&sandbox);
    assert_eq!(
        fields(&now, &["state", "answered", "partial", "failed"]),
        json!({"state": "finished", "answered": 2, "partial": 1, "failed": 1})
    );
    assert_eq!(now["failures"][0]["line"], 2);
    assert!(now["failures"][0]["error"]["message"].as_str().unwrap().contains(CYD), "{now}");
    let (ada, cyd) = (sandbox.asked(ADA), sandbox.asked(CYD));
    sandbox.simulator().script(CYD, Script::answering("Here."));
    let again = batch(&sandbox, &["retry-failed"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!((sandbox.asked(ADA), sandbox.asked(CYD)), (ada, cyd + 1));
    assert_eq!(sandbox.call(["runs", "list", "--json"]).run().json_lines().len(), 3);
}

#[test]
fn a_model_that_is_overloaded_is_asked_again_by_itself() {
    let sandbox = sandbox().scripted(CYD, Script::fault(Fault::Overloaded529).fail_first(4));
    let file = sandbox.write("q.jsonl", json!({"prompt": "Why?", "models": [CYD]}).to_string());
    let output = submit(&sandbox, &file, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(status(&sandbox)["answered"], 1);
}

#[test]
fn a_worker_does_what_others_have_submitted_and_can_be_paused() {
    let sandbox = slow(ADA, 150);
    let file = questions(&sandbox, 400);
    let output = submit(&sandbox, &file, &["--detach", "--budget", "900"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(
        fields(&status(&sandbox), &["state", "waiting", "workers"]),
        json!({"state": "running", "waiting": 400, "workers": 0})
    );
    assert!(batch(&sandbox, &["status"]).text().contains("nobody works on it"));
    let worker = sandbox.call(["worker", "--concurrency", "4"]).start();
    sandbox.until("some are answered", || status(&sandbox)["answered"].as_u64() > Some(3));
    assert_eq!(status(&sandbox)["workers"], 1);
    let paused = batch(&sandbox, &["pause", "--json"]);
    assert_eq!(paused.json()["state"], "paused");
    sandbox.until("those in progress have ended", || status(&sandbox)["running"] == 0);
    let before = status(&sandbox)["answered"].clone();
    sandbox.pause(Duration::from_millis(800));
    assert_eq!(status(&sandbox)["answered"], before);
    assert_eq!(batch(&sandbox, &["resume", "--detach"]).code, Some(0));
    sandbox.until("it goes on", || status(&sandbox)["answered"].as_u64() > before.as_u64());

    // To cancel also ends the runs in progress.
    sandbox.simulator().script(ADA, Script::fault(Fault::Stall));
    sandbox.until("all places hang", || status(&sandbox)["running"] == 4 && sandbox.chats().len() > 10);
    let id = status(&sandbox)["batch_id"].as_str().unwrap().to_owned();
    assert_eq!(batch(&sandbox, &["cancel", &id[..20]]).code, Some(0));
    sandbox.until("they are given up", || status(&sandbox)["running"] == 0);
    let over = status(&sandbox);
    assert_eq!(over["state"], "cancelled");
    assert!(over["waiting"].as_u64().unwrap() > 0, "{over}");
    worker.signal("TERM");
    let ended = worker.wait();
    assert_eq!(ended.code, Some(143), "{}", ended.stderr);

    assert_eq!(batch(&sandbox, &["resume", &id]).code, Some(2));
    assert_eq!(batch(&sandbox, &["remove", &id]).code, Some(2));
    assert_eq!(batch(&sandbox, &["remove", &id, "--yes"]).code, Some(0));
    assert_eq!(batch(&sandbox, &["list", "--json"]).json()["batches"], json!([]));
}

#[test]
fn a_signal_ends_what_is_in_progress_and_the_rest_is_resumed() {
    let sandbox = slow(ADA, 300);
    let file = questions(&sandbox, 40);
    let submit = sandbox.call(["batch", "submit", "-m", ADA, "--budget", "900", "--concurrency", "4"]);
    let running = submit.arg(&file.display().to_string()).start();
    sandbox.until("some are answered", || sandbox.asked(ADA) > 6);
    running.signal("INT");
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("stopped; `parallel-llm-mcp batch resume"), "{}", ended.stderr);
    let now = status(&sandbox);
    assert_eq!((&now["running"], &now["failed"]), (&json!(0), &json!(0)), "{now}");
    assert_eq!(now["answered"], sandbox.asked(ADA), "what was asked was waited for");
    let resumed = batch(&sandbox, &["resume", "--concurrency", "40"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(sandbox.asked(ADA), 40);
}

#[test]
fn a_server_works_on_batches_beside_its_callers_who_come_first() {
    let sandbox = slow(ADA, 200);
    let file = questions(&sandbox, 300);
    assert_eq!(submit(&sandbox, &file, &["--detach", "--budget", "900"]).code, Some(0));
    let (server, address) =
        serve(&sandbox, &["--no-auth", "--batch", "40"], &[("calls_per_key_max", "4"), ("files", "off")]);
    let answered = || status(&sandbox)["answered"].as_u64().expect("a count");
    sandbox.until("the batch is in full swing", || answered() > 5);
    let before = answered();
    for number in 0..5 {
        let arguments = json!({"prompt": format!("Why {number}, now?"), "models": [ADA]});
        let mut wire = Wire::to(address);
        wire.write(modern(address, "process_prompt", &arguments));
        let message = wire.reply().expect("it answers").json();
        assert_eq!(structured(&message)["status"], "complete", "{message}");
    }
    // Forty of its questions wait for three places, and none of them goes first: five answers take a second, in which the
    // batch gets about fifteen.
    let meanwhile = answered() - before;
    assert!(meanwhile < 60, "{meanwhile} lines were answered while five questions were");
    sandbox.simulator().script(ADA, Script::answering("Fast."));
    sandbox.until("the batch ends", || status(&sandbox)["state"] == "finished");
    server.signal("TERM");
    assert_eq!(server.wait().code, Some(0));
}
