//! Repeated questions: they share a run while it is in progress, under an idempotency key, and from the history on
//! request. Also the daily limit.

use crate::mcp::client::Client;
use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Call, Sandbox, each, seats, synthesis};
use serde_json::{Value, json};

const ADA: &str = "openai/gpt-6.1-sol";
const BOB: &str = "anthropic/claude-opus-5.5";
/// Its provider charges for the whole reply, even if the connection is closed.
const FUSER: &str = "google/gemini-3.8-flash";

/// Names the newest run.
const NEWEST: &str = "@";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// A sandbox in which the first model is slow.
fn with_slow_model() -> Sandbox {
    let behaviour = Behaviour { ttft_ms: Latency::of(4_000), ..Behaviour::instant() };
    sandbox().scripted(ADA, Script::behaving(behaviour))
}

fn ask<'a>(sandbox: &'a Sandbox, question: &str) -> Call<'a> {
    sandbox.call(["ask", "--json", "-m", ADA, question])
}

fn report_of(call: Call<'_>) -> Value {
    let output = call.run();
    output.assert_no_key();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.json()
}

fn warnings(report: &Value) -> Vec<&str> {
    report["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|warning| warning["code"].as_str())
        .collect()
}

#[test]
fn concurrent_equal_questions_are_one_run() {
    let sandbox = with_slow_model();
    let reports = each(&[0; 4], |_| report_of(ask(&sandbox, "Why do tides rise?")));
    assert_eq!(sandbox.asked(ADA), 1);
    assert!(reports.iter().all(|report| report["run_id"] == reports[0]["run_id"]));
    assert!(reports.iter().all(|report| report["answer"] == reports[0]["answer"]));
    assert!(reports.iter().all(|report| report["files"]["state"] == "written"), "{reports:?}");
    let joined = reports.iter().filter(|report| warnings(report) == ["repeated"]).count();
    assert_eq!(joined, 3, "the calls that joined have a warning");
    report_of(ask(&sandbox, "Why do tides rise?"));
    assert_eq!(sandbox.asked(ADA), 2, "an answered question is asked anew");
}

/// The names of the files in the folder that a report names.
fn files(report: &Value) -> Vec<String> {
    assert_eq!(report["files"]["state"], "written", "{report}");
    let folder = std::fs::read_dir(report["files"]["dir"].as_str().expect("there is a folder"));
    let entries = folder.expect("it can be read").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_joined_run_writes_its_files_to_every_requested_folder() {
    let sandbox = with_slow_model();
    let flags: [&[&str]; 4] = [&[], &[], &["--output-dir", "mine"], &["--output-dir", "mine"]];
    let mut reports = each(&flags, |flags| report_of(ask(&sandbox, "Why?").args(*flags)));
    let later: [&[&str]; 2] = [&["--cache", "1h", "--output-dir", "later"], &["--cache", "1h"]];
    reports.extend(each(&later, |flags| report_of(ask(&sandbox, "Why?").args(*flags))));
    assert_eq!(sandbox.asked(ADA), 1);
    let usual = sandbox.data_dir().join("runs");
    let mine = sandbox.home().join("mine");
    let expected = [&usual, &usual, &mine, &mine, &sandbox.home().join("later"), &usual];
    for (report, base) in reports.iter().zip(expected) {
        let id = report["run_id"].as_str().expect("a run has a name");
        let dir = std::fs::canonicalize(report["files"]["dir"].as_str().expect("there is a folder"));
        assert_eq!(dir.ok(), std::fs::canonicalize(base.join(id)).ok());
        assert_eq!(
            files(report),
            ["answer_1_openai-gpt-6.1-sol.md", "final_best.md", "prompt.md", "run.json"]
        );
    }
}

#[test]
fn different_questions_are_different_runs() {
    let sandbox = with_slow_model();
    each(&["Why?", "How?"], |question| report_of(ask(&sandbox, question)));
    assert_eq!(sandbox.asked(ADA), 2);
    each(&[("temperature", "0.5"), ("temperature", "0.6")], |(flag, value)| {
        report_of(ask(&sandbox, "Why?").args([&format!("--{flag}"), *value]))
    });
    assert_eq!(sandbox.asked(ADA), 4);
}

#[test]
fn an_idempotency_key_belongs_to_one_question() {
    let sandbox = sandbox();
    let keyed = |question: &str| ask(&sandbox, question).args(["--idempotency-key", "ticket-1"]);
    let first = report_of(keyed("Why?"));
    let again = report_of(keyed("Why?"));
    assert_eq!((&again["run_id"], &again["answer"]), (&first["run_id"], &first["answer"]));
    assert_eq!(sandbox.asked(ADA), 1);
    insta::assert_snapshot!(keyed("How?").run().transcript(), @r#"
    exit 2
    --- stdout
    {"error":{"code":"idempotency_conflict","message":"another question was asked under the same idempotency key: run <run>","next":"give each question a key of its own","retryable":false,"run_id":"<run>"},"schema":1}
    --- stderr
    error[idempotency_conflict]: another question was asked under the same idempotency key: run <run>
      next: give each question a key of its own
    "#);
    assert_eq!(sandbox.asked(ADA), 1, "a conflict is reported before anything is paid");
    report_of(ask(&sandbox, "Why?").args(["--idempotency-key", "ticket-2"]));
    assert_eq!(sandbox.asked(ADA), 2);
    insta::assert_snapshot!(ask(&sandbox, "Why?").args(["--idempotency-key", ""]).run().transcript(), @r#"
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"an idempotency key has 1 to 255 bytes","next":"leave the idempotency key out, or give one of your own such as `ticket-4711`","retryable":false},"schema":1}
    --- stderr
    error[usage]: an idempotency key has 1 to 255 bytes
      next: leave the idempotency key out, or give one of your own such as `ticket-4711`
    "#);
}

#[test]
fn a_question_with_a_key_continues_after_a_crash() {
    let sandbox = sandbox().scripted(BOB, Script::fault(Fault::Stall));
    let keyed = || ask(&sandbox, "Why?").args(["-m", BOB, "--idempotency-key", "k"]);
    let running = keyed().start();
    sandbox.until("one has answered", || {
        let shown = sandbox.call(["runs", "show", NEWEST, "--json"]).run();
        shown.code == Some(0) && shown.json()["answers"][0]["status"] == "answered"
    });
    running.signal("KILL");
    running.wait();
    let report = report_of(keyed());
    assert_eq!(report["status"], "partial");
    assert_eq!((sandbox.asked(ADA), sandbox.asked(BOB)), (1, 1), "nothing is asked twice");
}

#[test]
fn a_question_with_a_key_and_an_unknown_outcome_says_how_to_continue() {
    let sandbox = sandbox().scripted(ADA, Script::fault(Fault::Stall));
    let keyed = || sandbox.call(["ask", "-m", ADA, "--idempotency-key", "k", "Why?"]);
    let running = keyed().start();
    sandbox.until("it is asked", || sandbox.asked(ADA) == 1);
    running.signal("KILL");
    running.wait();
    for _ in 0..2 {
        let again = keyed().run();
        assert_eq!((again.code, sandbox.asked(ADA)), (Some(1), 1), "{}", again.stderr);
        let missing = again.stderr.lines().find(|line| line.starts_with("Missing")).unwrap_or_default();
        insta::allow_duplicates!(
            insta::assert_snapshot!(missing, @"Missing: 1 openai/gpt-6.1-sol unknown: the process that did the run ended before this was known (next: ask again what may have been paid already with `parallel-llm-mcp runs resume --resend`)")
        );
    }
}

#[test]
fn cache_returns_an_answer_from_the_history() {
    let sandbox = sandbox();
    let first = report_of(ask(&sandbox, "Why?"));
    let cached = report_of(ask(&sandbox, "Why?").args(["--cache", "1h"]));
    assert_eq!((&cached["run_id"], &cached["answer"]), (&first["run_id"], &first["answer"]));
    assert_eq!(warnings(&cached), ["repeated"]);
    assert_eq!(sandbox.asked(ADA), 1);
    // Its cost is not shown as spent now.
    assert_eq!((&first["spent_now_usd"], &cached["spent_now_usd"]), (&Value::Null, &json!(0.0)));
    assert_eq!(cached["cost_usd"], first["cost_usd"]);
    let day = cached["asked_at"].as_str().and_then(|time| time.split('T').next()).unwrap_or_default();
    let shown = sandbox.call(["ask", "-m", ADA, "Why?", "--cache", "1h"]).run().summary();
    let expected = format!("$0.00 now, $0.0011 in all since it was asked on {day}");
    assert!(day.starts_with("20") && shown.contains(&expected), "{shown}");
    report_of(ask(&sandbox, "How?").args(["--cache", "1h"]));
    report_of(ask(&sandbox, "Why?").args(["--cache", "1ms"]));
    assert_eq!(sandbox.asked(ADA), 3, "another question, or one too long ago, is asked");
}

#[test]
fn a_dry_run_says_that_the_history_holds_the_answer() {
    let sandbox = sandbox();
    let dry = |flags: &[&str]| sandbox.call(["ask", "--dry-run", "-m", ADA, "Why?"]).args(flags).run();
    assert!(dry(&["--cache", "1h"]).text().contains("The question would go to"), "nothing is kept yet");
    let first = report_of(ask(&sandbox, "Why?"));
    insta::assert_snapshot!(dry(&["--cache", "1h"]).transcript(), @"
    exit 0
    --- stdout
    Nothing was asked. The answer of run <run> to this question would be given again, at no cost.
    --- stderr
    ");
    let report = dry(&["--cache", "1h", "--json"]).json();
    assert_eq!((&report["cached_run_id"], &report["cost_max_usd"]), (&first["run_id"], &json!(0.0)));
    for flags in [&["--cache", "1ms"][..], &[]] {
        assert!(dry(flags).text().contains("The question would go to"), "{flags:?}");
    }
    assert_eq!(sandbox.asked(ADA), 1);
}

#[test]
fn the_daily_limit_refuses_a_run_before_anything_is_sent() {
    let sandbox = sandbox();
    let limited = |limit: &str| ask(&sandbox, "Why?").settings([("budget_day_usd", limit)]).run();
    let refused = limited("0.01");
    assert_eq!(refused.code, Some(5));
    let error = refused.json()["error"].clone();
    assert_eq!(error["code"], "budget", "{error}");
    assert!(error["next"].as_str().is_some_and(|next| next.contains("budget_day_usd")), "{error}");
    assert_eq!(sandbox.asked(ADA), 0);
    assert_eq!(limited("1").code, Some(0));
    let listed = sandbox.call(["runs", "list", "--json"]).run();
    assert_eq!(listed.json_lines().len(), 1, "a refused run leaves nothing behind");
    // A continuation counts against the limit of today's settings.
    let more = |limit: &str| {
        sandbox.call(["runs", "add", "@", "-m", BOB]).settings([("budget_day_usd", limit)]).run().code
    };
    assert_eq!((more("0.01"), sandbox.asked(BOB)), (Some(5), 0));
    assert_eq!((more("2"), sandbox.asked(BOB)), (Some(0), 1));
    // A provider's limit counts only what was spent there.
    sandbox.write(
        ".config/parallel-llm-mcp/config.toml",
        "[providers.openrouter]\nbudget_day_usd = 0.0000001\n[providers.mistral]\nbudget_day_usd = 0.1\n",
    );
    let refused = ask(&sandbox, "How?").run();
    let error = refused.json()["error"].clone();
    assert!(error["next"].as_str().is_some_and(|next| next.contains("providers.openrouter")), "{error}");
}

#[test]
fn without_stored_texts_a_repeat_is_refused() {
    let sandbox = sandbox();
    insta::assert_snapshot!(
        ask(&sandbox, "Why?").args(["--store", "none", "--idempotency-key", "k"]).run().transcript(),
        @r#"
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"an idempotency key needs the run to be stored, and `store` is `none`","next":"have no texts kept with `--store metadata`","retryable":false},"schema":1}
    --- stderr
    error[usage]: an idempotency key needs the run to be stored, and `store` is `none`
      next: have no texts kept with `--store metadata`
    "#
    );
    let limited = ask(&sandbox, "Why?").args(["--store", "none"]).settings([("budget_day_usd", "5")]).run();
    insta::assert_snapshot!(limited.transcript(), @r#"
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"the limit `budget_day_usd` needs the run to be stored, and `store` is `none`","next":"have no texts kept with `--store metadata`","retryable":false},"schema":1}
    --- stderr
    error[usage]: the limit `budget_day_usd` needs the run to be stored, and `store` is `none`
      next: have no texts kept with `--store metadata`
    "#);
    assert_eq!(sandbox.asked(ADA), 0);
    let keyed = || ask(&sandbox, "Why?").args(["--store", "metadata", "--idempotency-key", "k"]);
    report_of(keyed());
    insta::assert_snapshot!(keyed().run().transcript(), @r#"
    exit 1
    --- stdout
    {"error":{"code":"repeated","message":"the run <run> answers this question, and its texts are not kept","next":"give it another idempotency key when that run is over","retryable":false},"schema":1}
    --- stderr
    error[repeated]: the run <run> answers this question, and its texts are not kept
      next: give it another idempotency key when that run is over
    "#);
    assert_eq!(sandbox.asked(ADA), 1, "and it is not paid again");
}

/// Two models, and a synthesizer whose first reply hangs and is billed in full.
fn hanging_fuser() -> Sandbox {
    sandbox().scripted(FUSER, Script::fault(Fault::Stall).fail_first(1))
}

fn fused<'a>(sandbox: &'a Sandbox, drain_ms: &str) -> Call<'a> {
    ask(sandbox, "Why?").args(["-m", BOB, "--synthesizer", FUSER]).settings([("drain_ms", drain_ms)])
}

/// How often each model was called.
fn call_counts(sandbox: &Sandbox) -> [usize; 3] {
    [ADA, BOB, FUSER].map(|model| sandbox.asked(model))
}

#[test]
fn a_cancel_does_not_affect_others_with_the_same_question() {
    let sandbox = hanging_fuser();
    let first = fused(&sandbox, "300").start();
    sandbox.until("it is being fused", || sandbox.asked(FUSER) == 1);
    // One asks before the run is cancelled, and one while it is being cancelled.
    let before = fused(&sandbox, "300").start();
    sandbox.until("the second has joined", || {
        before.stdout_so_far().is_empty()
            && sandbox.files().iter().any(|(path, _)| path.ends_with("answer_2_anthropic-claude-opus-5.5.md"))
    });
    sandbox.pause(std::time::Duration::from_millis(500));
    first.signal("INT");
    let after = fused(&sandbox, "300").start();
    assert_eq!(first.wait().code, Some(130));
    let reports = [before, after].map(|running| {
        let output = running.wait();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.json()
    });
    for report in &reports {
        assert_eq!(synthesis(report), format!("complete fused by {FUSER}"), "{report}");
        assert_eq!(files(report).len(), 5, "{report}");
        assert_eq!(warnings(report), ["repeated"]);
    }
    assert_eq!(reports[0]["run_id"], reports[1]["run_id"]);
    assert_eq!(call_counts(&sandbox), [1, 1, 2], "existing answers are not requested again");
}

#[test]
fn a_question_cancelled_over_mcp_and_asked_again_at_once_is_answered() {
    let sandbox = hanging_fuser();
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_DRAIN_MS", "300")]);
    let question = || json!({"prompt": "Why?", "models": [ADA, BOB], "synthesizer": FUSER});
    let cancelled = client.start("process_prompt", question());
    sandbox.until("it is being fused", || sandbox.asked(FUSER) == 1);
    client.notify("notifications/cancelled", json!({"requestId": cancelled, "reason": "enough"}));
    let ids = [client.start("process_prompt", question()), client.start("process_prompt", question())];
    let results = ids.map(|id| client.result(id)["structuredContent"].clone());
    for result in &results {
        assert_eq!(
            (&result["status"], &result["answer"].is_string()),
            (&json!("complete"), &true),
            "{result}"
        );
    }
    assert_eq!(results[0]["run_id"], results[1]["run_id"]);
    assert_eq!(call_counts(&sandbox), [1, 1, 2], "existing answers are not requested again");
}

/// Ends a run of two seats by this signal after one has answered.
fn abandon(sandbox: &Sandbox, signal: &str) {
    let running = ask(sandbox, "Why?").args(["-m", BOB]).start();
    sandbox.until("one has answered and the other is asked", || {
        let shown = sandbox.call(["runs", "show", NEWEST, "--json"]).run();
        shown.code == Some(0) && shown.json()["answers"][0]["status"] == "answered" && sandbox.asked(BOB) == 1
    });
    running.signal(signal);
    running.wait();
}

#[test]
fn the_answers_of_an_abandoned_run_are_not_paid_again() {
    for (signal, word, expected, asked) in
        [("KILL", "interrupted", "partial", [1, 1]), ("INT", "cancelled", "complete", [1, 2])]
    {
        let sandbox = sandbox().scripted(BOB, Script::fault(Fault::Stall).fail_first(1));
        abandon(&sandbox, signal);
        let before = sandbox.call(["runs", "show", NEWEST, "--json"]).run().json();
        assert_eq!(before["status"], word);
        let call = || ask(&sandbox, "Why?").args(["-m", BOB]);
        let report = report_of(call());
        assert_eq!((&report["status"], &report["run_id"]), (&json!(expected), &before["run_id"]), "{report}");
        assert_eq!([ADA, BOB].map(|model| sandbox.asked(model)), asked, "{}", seats(&report));
        assert_eq!(warnings(&report), ["repeated"], "{report}");
        let warning = report["warnings"][0].to_string();
        assert!(warning.contains(&format!("which was {word}")) && warning.contains("`--fresh`"), "{warning}");
        // The run has its answer now, so the same question is a new run.
        let anew = report_of(call());
        assert_ne!(anew["run_id"], before["run_id"]);
        assert_eq!(sandbox.asked(ADA), 2);
    }
}

#[test]
fn fresh_starts_a_new_run() {
    let sandbox = sandbox().scripted(BOB, Script::fault(Fault::Stall).fail_first(1));
    abandon(&sandbox, "INT");
    let anew = report_of(ask(&sandbox, "Why?").args(["-m", BOB, "--fresh"]));
    assert_eq!((&anew["status"], warnings(&anew).len()), (&json!("complete"), 0));
    assert_eq!([ADA, BOB].map(|model| sandbox.asked(model)), [2, 2]);
}

#[test]
fn a_client_that_asks_again_after_a_restart_pays_only_for_what_is_missing() {
    let sandbox = sandbox().scripted(BOB, Script::fault(Fault::Stall).fail_first(1));
    let question = |fresh: bool| json!({"prompt": "Why?", "models": [ADA, BOB], "fresh": fresh});
    let mut client = Client::new(&sandbox, &[]);
    client.start("process_prompt", question(false));
    sandbox.until("one has answered and the other is asked", || {
        let shown = sandbox.call(["runs", "show", NEWEST, "--json"]).run();
        shown.code == Some(0) && shown.json()["answers"][0]["status"] == "answered" && sandbox.asked(BOB) == 1
    });
    client.signal("KILL");
    client.wait();
    let mut client = Client::new(&sandbox, &[]);
    let result = client.call("process_prompt", question(false))["structuredContent"].clone();
    assert_eq!(
        (&result["status"], sandbox.asked(ADA), sandbox.asked(BOB)),
        (&json!("partial"), 1, 1),
        "{result}"
    );
    let result = client.call("process_prompt", question(true))["structuredContent"].clone();
    assert_eq!(
        (&result["status"], sandbox.asked(ADA), sandbox.asked(BOB)),
        (&json!("complete"), 2, 2),
        "{result}"
    );
}

#[test]
fn asking_again_after_a_lost_run_warns_of_what_may_have_been_paid() {
    let sandbox = sandbox().scripted(ADA, Script::fault(Fault::Stall).fail_first(1));
    let running = ask(&sandbox, "Why?").start();
    sandbox.until("it is asked", || sandbox.asked(ADA) == 1);
    running.signal("KILL");
    running.wait();
    let lost = sandbox.call(["runs", "show", NEWEST, "--json"]).run().json();
    let again = ask(&sandbox, "Why?").run();
    assert_eq!((again.code, sandbox.asked(ADA)), (Some(0), 2), "{}", again.stderr);
    let report = again.json();
    assert_ne!(report["run_id"], lost["run_id"]);
    insta::assert_snapshot!(again.masked(&report["warnings"].to_string()), @r#"[{"code":"repeated","message":"everything is asked again: run <run> of the same question was interrupted without an answer, and may have been paid","next":"look at the run with `parallel-llm-mcp runs show`","retryable":false}]"#);
}
