//! Continuing a run never pays for a call twice, and runs of other processes can be watched like one's own.

use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Output, Sandbox, seats, synthesis};
use serde_json::Value;

const ADA: &str = "openai/gpt-6.1-sol";
const BOB: &str = "anthropic/claude-opus-5.5";
const CYD: &str = "mistralai/mistral-large-4-0";
const NARROW: &str = "openai/gpt-oss-120b";
const FUSER: &str = "google/gemini-3.8-flash";

/// Names the newest run.
const NEWEST: &str = "@";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// The report of asking two models, whose answers a third fuses.
fn ask_two(sandbox: &Sandbox) -> Value {
    let output = sandbox
        .call(["ask", "--json", "-m", ADA, "-m", BOB, "--synthesizer", FUSER, "Why do tides rise?"])
        .run();
    output.json()
}

fn runs(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let output = sandbox.call(["runs"]).args(arguments).run();
    output.assert_no_key();
    output
}

/// How often each model was called.
fn call_counts(sandbox: &Sandbox) -> [usize; 4] {
    [ADA, BOB, CYD, FUSER].map(|model| sandbox.asked(model))
}

#[test]
fn add_asks_a_new_model_and_none_of_the_others_again() {
    let sandbox = sandbox();
    let before = ask_two(&sandbox);
    assert_eq!(call_counts(&sandbox), [1, 1, 0, 1]);
    let added = runs(&sandbox, &["add", NEWEST, "-m", CYD, "--synthesizer", FUSER, "--json"]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 2]);
    let report = added.json();
    assert_eq!(report["run_id"], before["run_id"]);
    assert_eq!(synthesis(&report), format!("complete fused by {FUSER}"));
    assert_eq!(report["answers"][0], before["answers"][0], "an earlier answer is unchanged");
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 468 bytes
    2 anthropic/claude-opus-5.5 answered x1 571 bytes
    3 mistralai/mistral-large-4-0 answered x1 166 bytes
    ");
    let spent = report["cost_usd"].as_f64().zip(before["cost_usd"].as_f64());
    assert!(spent.is_some_and(|(now, then)| now > then), "{spent:?}: the earlier cost still counts");
    assert_eq!(runs(&sandbox, &["show", NEWEST, "--json"]).json(), report);
    let listed = runs(&sandbox, &["list", "--json"]).json();
    assert_eq!((&listed["seats"], &listed["answered"]), (&3.into(), &3.into()));
}

#[test]
fn synthesize_makes_another_text_from_the_same_answers() {
    let sandbox = sandbox();
    let before = ask_two(&sandbox);
    let made = runs(&sandbox, &["synthesize", NEWEST, "--synthesizer", CYD, "--json"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 1]);
    let report = made.json();
    assert_eq!(synthesis(&report), format!("complete fused by {CYD}"));
    assert_eq!(report["answers"], before["answers"]);
    let replayed =
        runs(&sandbox, &["replay", NEWEST, "--strategy", "synthesize", "--synthesizer", FUSER, "--json"]);
    assert_eq!(synthesis(&replayed.json()), format!("complete fused by {FUSER}"));
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 2]);
}

#[test]
fn if_a_new_synthesizer_fails_there_is_still_a_text() {
    let sandbox = sandbox().scripted(CYD, Script::fault(Fault::BadGateway));
    let before = ask_two(&sandbox);
    let made = runs(&sandbox, &["synthesize", NEWEST, "--synthesizer", CYD, "--json"]).json();
    assert!(made["answer"].is_string(), "there is still a text");
    assert_eq!(made["answers"], before["answers"]);
}

#[test]
fn if_fusing_again_fails_the_earlier_text_stays() {
    let sandbox = sandbox().scripted(CYD, Script::fault(Fault::AuthBad));
    let before = ask_two(&sandbox);
    let made =
        sandbox.call(["runs", "synthesize", NEWEST, "--json"]).env("PARALLEL_LLM_SYNTHESIZER", CYD).run();
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let report = made.json();
    assert_eq!(report["answer"], before["answer"]);
    assert_eq!(synthesis(&report), format!("complete fused by {FUSER}"));
    assert_eq!(report["earlier"][0]["synthesis"]["kind"], "verbatim");
    let warnings = report["warnings"].as_array().into_iter().flatten();
    let messages: Vec<&str> = warnings.filter_map(|warning| warning["message"].as_str()).collect();
    let last = "continuing the run gave no better text: every synthesizer failed";
    assert_eq!((messages.len(), messages.last()), (2, Some(&last)), "{messages:?}");
    assert_eq!(runs(&sandbox, &["show", NEWEST, "--json"]).json(), report);
}

#[test]
fn a_killed_continuation_leaves_the_earlier_answer() {
    let sandbox = sandbox().scripted(CYD, Script::fault(Fault::Stall));
    let before = ask_two(&sandbox);
    let running = sandbox.call(["runs", "add", NEWEST, "-m", CYD, "--synthesizer", FUSER]).start();
    sandbox.until("the new model is asked", || sandbox.asked(CYD) == 1);
    running.signal("KILL");
    running.wait();
    let shown = runs(&sandbox, &["show", NEWEST, "--json"]).json();
    assert_eq!((&shown["status"], &shown["answer"]), (&"interrupted".into(), &before["answer"]));
    assert_eq!((&shown["earlier"], &shown["warnings"][0]["code"]), (&Value::Null, &"interrupted".into()));
    let as_text = runs(&sandbox, &["show", NEWEST]);
    assert!(as_text.stderr.contains("a further part of the run is interrupted"), "{}", as_text.stderr);
    let resumed = runs(&sandbox, &["resume", NEWEST, "--json"]).json();
    // The new model may have been paid, so it is not asked again; the earlier text stays.
    assert_eq!((&resumed["status"], &resumed["answer"]), (&"partial".into(), &before["answer"]));
    let warning = resumed["warnings"][0]["message"].as_str().unwrap_or_default();
    assert!(warning.contains("no further answer came"), "{resumed}");
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 1]);
}

#[test]
fn resume_asks_only_the_seats_without_an_answer() {
    let failing = Script::fault(Fault::AuthBad).fail_first(1);
    let sandbox = sandbox().scripted(BOB, failing);
    let before = ask_two(&sandbox);
    assert_eq!(before["status"], "partial");
    let resumed = runs(&sandbox, &["resume", NEWEST, "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(call_counts(&sandbox)[..2], [1, 2]);
    insta::assert_snapshot!(seats(&resumed.json()), @"
    1 openai/gpt-6.1-sol answered x1 468 bytes
    2 anthropic/claude-opus-5.5 answered x2 571 bytes
    ");
    insta::assert_snapshot!(runs(&sandbox, &["resume", NEWEST]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the run <run> is complete; there is nothing to resume
      next: look at the run with `parallel-llm-mcp runs show`, or ask more models with `parallel-llm-mcp runs add`
    ");
}

#[test]
fn a_continuation_has_its_own_budget() {
    let sandbox = sandbox().scripted(BOB, Script::fault(Fault::AuthBad).fail_first(1));
    ask_two(&sandbox);
    let paid = call_counts(&sandbox);
    insta::assert_snapshot!(runs(&sandbox, &["resume", NEWEST, "--budget", "0.0001"]).transcript(), @"
    exit 5
    --- stdout
    --- stderr
    error[budget]: this part of the run may cost up to $0.41; the budget is $0.00010
      next: allow it with `--budget 0.42`, lower `--max-tokens`, or ask fewer or cheaper models
    ");
    assert_eq!(call_counts(&sandbox), paid, "nothing was sent");
    let resumed = runs(&sandbox, &["resume", NEWEST, "--budget", "2", "--json"]);
    assert_eq!(
        (resumed.code, &resumed.json()["status"]),
        (Some(0), &"complete".into()),
        "{}",
        resumed.stderr
    );
}

#[test]
fn a_prompt_too_long_for_an_added_model_is_a_warning() {
    let sandbox = sandbox();
    let long = "word ".repeat(90_000);
    let call = sandbox.call(["ask", "-q", "-m", ADA, "--no-files"]).stdin(long.as_str());
    assert_eq!(call.settings([("prompt_chars_max", "1000000")]).run().code, Some(0));
    let added = sandbox.call(["runs", "add", NEWEST, "-m", NARROW, "--json"]).run();
    let warnings = added.json()["warnings"].clone();
    let message = "the prompt has about 150000 tokens; `openai/gpt-oss-120b` reads 131072";
    assert_eq!((&warnings[0]["code"], &warnings[0]["message"]), (&"context_length".into(), &message.into()));
    assert!(added.stderr.contains(&format!("warning[context_length]: {message}")), "{}", added.stderr);
    assert_eq!(runs(&sandbox, &["show", NEWEST, "--json"]).json()["warnings"], warnings);
}

#[test]
fn impossible_continuations_are_refused_before_anything_is_paid() {
    let sandbox = sandbox();
    ask_two(&sandbox);
    let paid = call_counts(&sandbox);
    let refusal = |arguments: &[&str]| runs(&sandbox, arguments).transcript();
    insta::assert_snapshot!(refusal(&["add", NEWEST, "-m", "openai/no-such-model"]), @"
    exit 2
    --- stdout
    --- stderr
    error[model_unknown]: the model `openai/no-such-model` is unknown
      next: did you mean `openai/gpt-6.1-sol`?
    ");
    insta::assert_snapshot!(refusal(&["add", NEWEST, "-m", "mistral:large"]), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `mistral`
      next: set `MISTRAL_API_KEY`, or keep the key with `parallel-llm-mcp keys set mistral`
    ");
    insta::assert_snapshot!(refusal(&["add", NEWEST, "-m", &format!("{CYD}*64")]), @"
    exit 2
    --- stdout
    --- stderr
    error[panel_size]: the run would have more than 64 seats
      next: name between 1 and 64 models
    ");
    insta::assert_snapshot!(refusal(&["add", NEWEST, "-m", CYD, "--budget", "0.0001"]), @"
    exit 5
    --- stdout
    --- stderr
    error[budget]: this part of the run may cost up to $0.29; the budget is $0.00010
      next: allow it with `--budget 0.3`, lower `--max-tokens`, or ask fewer or cheaper models
    ");
    insta::assert_snapshot!(refusal(&["replay", NEWEST, "--strategy", "debate"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the strategy `debate` is gone; `council` and `moa` come nearest to it
      next: choose one of: council, moa
    ");
    insta::assert_snapshot!(refusal(&["replay", NEWEST, "--strategy", "magic"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no strategy `magic`
      next: choose one of: synthesize, vote, best-of-n, council, moa, cascade, race, panel, auto
    ");
    insta::assert_snapshot!(refusal(&["synthesize", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: no run has an id that begins with `<run>`
      next: look for the run with `parallel-llm-mcp runs list`
    ");
    assert_eq!(call_counts(&sandbox), paid);
    sandbox.call(["ask", "-q", "--store", "metadata", "-m", ADA, "Why?"]).run();
    insta::assert_snapshot!(refusal(&["synthesize", NEWEST]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the texts of run <run> were not kept, so it cannot be continued
      next: ask again and have texts kept with `--store full`
    ");
}

/// A sandbox in which one model is slow.
fn with_slow_model() -> Sandbox {
    let behaviour = Behaviour { ttft_ms: Latency::of(3_000), ..Behaviour::instant() };
    sandbox().scripted(BOB, Script::behaving(behaviour))
}

#[test]
fn a_run_of_another_process_is_watched_to_its_answer() {
    let sandbox = with_slow_model();
    let asking = sandbox.call(["ask", "--json", "-m", ADA, "-m", BOB, "Why?"]).start();
    sandbox.until("it is under way", || runs(&sandbox, &["show", NEWEST, "--json"]).code == Some(0));
    let busy = runs(&sandbox, &["synthesize", NEWEST]);
    assert_eq!((busy.code, busy.text()), (Some(1), ""), "{}", busy.stderr);
    let watched = runs(&sandbox, &["wait", NEWEST, "--json"]);
    assert_eq!(watched.code, Some(0), "{}", watched.stderr);
    let (asked, watched) = (asking.wait().json(), watched.json());
    assert_eq!(watched, asked, "with the files that the other process has written");
    assert_eq!(call_counts(&sandbox)[..2], [1, 1]);
    let again = runs(&sandbox, &["wait", NEWEST]);
    assert_eq!(again.text().trim_end(), asked["answer"].as_str().unwrap_or_default());
}

#[test]
fn wait_ends_when_the_process_of_the_run_is_gone() {
    let sandbox = sandbox().scripted(BOB, Script::fault(Fault::Stall));
    let asking = sandbox.call(["ask", "-m", ADA, "-m", BOB, "Why?"]).start();
    sandbox.until("one has answered", || {
        let shown = runs(&sandbox, &["show", NEWEST, "--json"]);
        shown.code == Some(0) && shown.json()["answers"][0]["status"] == "answered"
    });
    let watching = sandbox.call(["runs", "wait", NEWEST]).start();
    asking.signal("KILL");
    asking.wait();
    let watched = watching.wait();
    assert_eq!(watched.code, Some(1), "{}", watched.stderr);
    let is_ending = |line: &&str| line.starts_with("No answer") || line.starts_with("Kept as");
    let transcript = watched.transcript();
    insta::assert_snapshot!(transcript.lines().filter(is_ending).collect::<Vec<_>>().join("\n"), @"
    No answer: the process that did the run ended before it had an answer.
    Kept as run <run>; `parallel-llm-mcp runs resume <run>` goes on with it.
    ");
    let report = runs(&sandbox, &["wait", NEWEST, "--json"]).json();
    assert_eq!(report["status"], "interrupted");
    assert_eq!(report["error"]["code"], "interrupted", "a run without an answer says why");
}

/// A run that was killed while its first synthesizer was writing.
fn killed_while_fusing() -> Sandbox {
    let sandbox = sandbox().scripted(FUSER, Script::fault(Fault::Stall));
    let asking = sandbox.call(["ask", "-m", ADA, "-m", BOB, "--synthesizer", FUSER, "Why?"]).start();
    sandbox.until("it is being fused", || sandbox.asked(FUSER) == 1);
    asking.signal("KILL");
    asking.wait();
    sandbox
}

#[test]
fn fusing_stored_answers_needs_a_key() {
    let sandbox = killed_while_fusing();
    let keyless = sandbox.call(["runs", "resume", NEWEST]).without("OPENROUTER_API_KEY").run();
    insta::assert_snapshot!(keyless.transcript(), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `openrouter`
      next: set `OPENROUTER_API_KEY`, keep the key with `parallel-llm-mcp keys set openrouter`, or try `parallel-llm-mcp demo`, which needs no key
    ");
    assert_eq!(runs(&sandbox, &["show", NEWEST, "--json"]).json()["status"], "interrupted");
    let resumed = runs(&sandbox, &["resume", NEWEST, "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(resumed.json()["synthesis"]["kind"], "fused");
    assert_eq!(call_counts(&sandbox)[..2], [1, 1]);
    let keyless = sandbox.call(["runs", "synthesize", NEWEST]).without("OPENROUTER_API_KEY").run();
    assert_eq!(keyless.code, Some(4), "{}", keyless.stderr);
}

#[test]
fn answers_that_a_wrong_key_left_unfused_are_fused_later() {
    let sandbox = killed_while_fusing();
    let wrong = "0".repeat(40);
    let refused = sandbox.call(["runs", "resume", NEWEST]).env("OPENROUTER_API_KEY", &wrong).run();
    assert_eq!(refused.code, Some(0), "{}", refused.stderr);
    let offer = refused.stderr.lines().find(|line| line.starts_with("Kept as")).unwrap_or_default();
    insta::assert_snapshot!(refused.masked(offer), @"Kept as run <run>; `parallel-llm-mcp runs synthesize <run>` tries again to fuse the answers; files in ~/.local/share/parallel-llm-mcp/runs/<run>.");
    let made = runs(&sandbox, &["synthesize", NEWEST, "--synthesizer", CYD, "--json"]);
    assert_eq!(synthesis(&made.json()), format!("complete fused by {CYD}"));
    assert_eq!(call_counts(&sandbox)[..2], [1, 1]);
}

#[test]
fn resume_fuses_a_run_that_lacks_only_its_text() {
    let sandbox = sandbox().scripted(FUSER, Script::fault(Fault::Server500));
    let call = sandbox.call(["ask", "--json", "-m", ADA, "-m", BOB, "Why?"]);
    let before = call.settings([("synthesizer", FUSER), ("retries_max", "0")]).run().json();
    assert_eq!((&before["status"], &before["synthesis"]["kind"]), (&"complete".into(), &"verbatim".into()));
    sandbox.simulator().script(FUSER, Script::answering("One text of both."));
    let resumed = runs(&sandbox, &["resume", NEWEST, "--json"]);
    assert_eq!(synthesis(&resumed.json()), format!("complete fused by {FUSER}"), "{}", resumed.stderr);
    assert_eq!(call_counts(&sandbox), [1, 1, 0, 2]);
}

#[test]
fn resume_of_a_complete_run_with_a_late_answer_suggests_synthesize() {
    let sandbox = with_slow_model();
    let call = sandbox.call(["ask", "--json", "-m", ADA, "-m", CYD, "-m", BOB, "--linger", "Why?"]);
    call.settings([("wait", "quorum:2")]).run();
    insta::assert_snapshot!(runs(&sandbox, &["resume", NEWEST]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the run <run> is complete; there is nothing to resume
      next: make another text of the answers with `parallel-llm-mcp runs synthesize`
    ");
}

#[test]
fn a_stopped_continuation_leaves_no_file() {
    let stalled = Script::fault(Fault::Stall);
    let sandbox = sandbox().scripted(CYD, stalled);
    let folder =
        ask_two(&sandbox)["files"]["dir"].as_str().map(std::path::PathBuf::from).expect("it has files");
    let adding = sandbox.call(["runs", "add", NEWEST, "-m", CYD]).start();
    sandbox.until("it is under way", || sandbox.asked(CYD) == 1);
    adding.signal("INT");
    assert_eq!(adding.wait().code, Some(130));
    let report = runs(&sandbox, &["show", NEWEST, "--json"]).json();
    assert_eq!((report["answer"].is_string(), &report["earlier"]), (true, &Value::Null));
    assert!(folder.join("final_best.md").is_file());
    assert!(!folder.join("earlier_best_1.md").exists(), "the report has no earlier text");
}
