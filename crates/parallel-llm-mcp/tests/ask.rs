//! `ask`: what stdout and stderr show when models answer, fail or refuse, and who wrote the final text.

use parallel_llm_testkit::simulator::{Answer, Behaviour, Fault, Script};
use parallel_llm_testkit::{Output, Sandbox, mask_report, seats, synthesis};
use serde_json::{Value, json};

pub(crate) const ONE: &str = "openai/gpt-6.1-sol";
pub(crate) const TWO: &str = "x-ai/grok-4.7";
pub(crate) const THREE: &str = "mistralai/mistral-large-4-0";
pub(crate) const FIRST: &str = "google/gemini-4-argon";
const SECOND: &str = "anthropic/claude-opus-5.5";

/// Three models that answer; a test may give each model and synthesizer another script.
pub(crate) fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(ONE, Script::answering("Take the first design."))
        .scripted(TWO, Script::answering("Take the second design."))
        .scripted(THREE, Script::answering("Take the first design, and test it."))
}

/// Asks all three models, with both synthesizers configured.
fn ask(sandbox: &Sandbox, flags: &[&str]) -> Output {
    let models = ["ask", "-m", ONE, "-m", TWO, "-m", THREE, "Which design?"];
    let chain = format!("{FIRST} {SECOND}");
    let output = sandbox.call(models).args(flags).settings([("synthesizer", chain.as_str())]).run();
    output.assert_no_key();
    sandbox.assert_no_key_in_files();
    output
}

/// How often each model was called: the panel, then the synthesizers.
fn call_counts(sandbox: &Sandbox) -> [usize; 5] {
    [ONE, TWO, THREE, FIRST, SECOND].map(|model| sandbox.asked(model))
}

/// The exit code, stdout, and the summary on stderr.
pub(crate) fn rendered(output: &Output) -> String {
    format!("exit {:?}\n{}---\n{}", output.code.unwrap_or(-1), output.text(), output.summary())
}

#[test]
fn three_answers_become_one() {
    let sandbox = sandbox();
    let output = ask(&sandbox, &[]);
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 1, 0]);
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    Take the first design, and test it.
    ---
    Fused by google/gemini-4-argon from 3 answers, starting from 3 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.0017 (fusing $0.0016), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
}

#[test]
fn quiet_prints_only_the_answer() {
    let output = ask(&sandbox(), &["--quiet"]);
    insta::assert_snapshot!(output.transcript(), @"
    exit 0
    --- stdout
    Take the first design, and test it.
    --- stderr
    ");
}

#[test]
fn a_missing_seat_is_named_with_its_reason() {
    let sandbox = sandbox().scripted(TWO, Script::fault(Fault::KeyLimit));
    let output = ask(&sandbox, &[]);
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    Take the first design, and test it.
    ---
    Fused by google/gemini-4-argon from 2 answers, starting from 3 mistralai/mistral-large-4-0 (0 % changed).
    Missing: 2 x-ai/grok-4.7 failed: openrouter answered 403: Key limit exceeded (daily limit). Manage it using https://openrouter.ai/workspaces/default/keys/*** (next: raise the key's limit at the provider, wait until the limit is renewed, or ask a model of another provider)
    Cost $0.0016 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    assert_eq!(ask(&sandbox, &["--strict"]).code, Some(3));
}

#[test]
fn a_single_answer_is_returned_verbatim() {
    let sandbox =
        sandbox().scripted(ONE, Script::fault(Fault::AuthBad)).scripted(THREE, Script::fault(Fault::Refusal));
    let output = ask(&sandbox, &[]);
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 0, 0]);
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    Take the second design.
    ---
    Answer by 2 x-ai/grok-4.7: only one answer came, so there was nothing to fuse.
    Missing: 1 openai/gpt-6.1-sol failed: openrouter refused the key (401): User not found. (next: check that the key is current and belongs to this provider, correct it in `OPENROUTER_API_KEY`, unset that and keep another with `parallel-llm-mcp keys set openrouter`, or ask another model)
    Missing: 3 mistralai/mistral-large-4-0 refused: the model declined: I can't help with that request. (next: rephrase the question, or ask another model)
    Cost $0.000064, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    assert_eq!(ask(&sandbox, &["--strict"]).code, Some(3));
}

#[test]
fn a_quorum_larger_than_the_panel_is_reported() {
    let sandbox = sandbox();
    insta::assert_snapshot!(sandbox.call(["ask", "-m", "openai/gpt-6.1-sol", "--wait", "quorum:9", "Why?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `quorum:9` wants more answers than a panel of 1 can give
      next: give `--wait` as `quorum:1` or less, or as `all`
    ");
    assert_eq!(sandbox.chats().len(), 0);
    let call = sandbox.call(["ask", "--json", "-m", "openai/gpt-6.1-sol", "Why?"]);
    let report = call.settings([("wait", "quorum:9")]).run().json();
    insta::assert_snapshot!(report["warnings"], @r#"[{"code":"settings_invalid","message":"`quorum:9` wants more answers than a panel of 1 can give","next":"set `wait` to less, or to `all`","retryable":false}]"#);
}

#[test]
fn quiet_still_prints_errors() {
    let sandbox = sandbox().scripted(ONE, Script::fault(Fault::NoEndpoints));
    let failed = sandbox.call(["ask", "-q", "-m", ONE, "Which is safer?"]).run();
    assert_eq!((failed.code, failed.stdout.as_slice()), (Some(1), b"".as_slice()));
    insta::assert_snapshot!(failed.stderr, @"
    error[model_unknown]: no model answered (openai/gpt-6.1-sol: openrouter answered 404: No endpoints found for openai/gpt-6.1-sol.)
      next: see which models there are with `parallel-llm-mcp models`
    ");
    let answered = sandbox.call(["ask", "-q", "-m", TWO, "Which is safer?"]).run();
    assert_eq!((answered.code, answered.stderr.as_str()), (Some(0), ""));
}

#[test]
fn if_every_model_fails_each_reason_is_printed() {
    let sandbox = sandbox()
        .scripted(ONE, Script::fault(Fault::NoEndpoints))
        .scripted(TWO, Script::fault(Fault::Credits))
        .scripted(THREE, Script::fault(Fault::Moderation));
    let output = ask(&sandbox, &[]);
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 0, 0]);
    insta::assert_snapshot!(rendered(&output), @"
    exit 1
    ---
    No model answered.
    Missing: 1 openai/gpt-6.1-sol failed: openrouter answered 404: No endpoints found for openai/gpt-6.1-sol. (next: see which models there are with `parallel-llm-mcp models`)
    Missing: 2 x-ai/grok-4.7 failed: openrouter answered 402: This request requires more credits, or fewer max_tokens. You requested up to 16000 tokens, but can only afford 3395. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account (next: add credit at the provider, lower `--max-tokens`, or ask a model of another provider)
    Missing: 3 mistralai/mistral-large-4-0 refused: openrouter (Mistral) answered 403: Your input was flagged (next: rephrase the question, or ask a model of another provider)
    Cost $0.00, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
}

/// The exit code, and the error code of the report, of a run whose three seats fail in these ways.
fn total_failure(faults: [Fault; 3]) -> (Option<i32>, String) {
    let [one, two, three] = faults.map(Script::fault);
    let sandbox = sandbox().scripted(ONE, one).scripted(TWO, two).scripted(THREE, three);
    let output = ask(&sandbox, &["--json"]);
    let report = output.json();
    assert_eq!(synthesis(&report), "failed none by -");
    assert!(report["answer"].is_null());
    (output.code, report["error"]["code"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn total_failure_has_the_exit_code_of_its_cause() {
    let failed = |code: i32, word: &str| (Some(code), word.to_owned());
    assert_eq!(total_failure([Fault::AuthBad; 3]), failed(4, "auth"));
    assert_eq!(total_failure([Fault::Credits; 3]), failed(4, "credits"));
    assert_eq!(total_failure([Fault::KeyLimit; 3]), failed(4, "key_limit"));
    // The run took place, but gave no answer.
    assert_eq!(total_failure([Fault::NoEndpoints; 3]), failed(1, "model_unknown"));
    assert_eq!(total_failure([Fault::BadModel; 3]), failed(1, "model_unknown"));
    assert_eq!(total_failure([Fault::Refusal; 3]), failed(1, "refused"));
    assert_eq!(total_failure([Fault::Html200; 3]), failed(1, "protocol"));
    assert_eq!(total_failure([Fault::AuthBad, Fault::Refusal, Fault::Html200]), failed(1, "all_failed"));
}

#[test]
fn the_next_synthesizer_takes_over() {
    let sandbox = sandbox().scripted(FIRST, Script::fault(Fault::NoEndpoints));
    let output = ask(&sandbox, &[]);
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 1, 1]);
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    Take the first design, and test it.
    ---
    Fused by anthropic/claude-opus-5.5 from 3 answers, starting from 3 mistralai/mistral-large-4-0 (0 % changed).
    warning[model_unknown]: the synthesizer `google/gemini-4-argon` failed: openrouter answered 404: No endpoints found for google/gemini-4-argon. (next: see which models there are with `parallel-llm-mcp models`)
    Cost $0.0033 (fusing $0.0032), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
}

#[test]
fn if_every_synthesizer_fails_the_answer_closest_to_the_others_is_returned() {
    let sandbox = sandbox()
        .scripted(FIRST, Script::fault(Fault::Refusal))
        .scripted(SECOND, Script::fault(Fault::EmptyContent));
    let output = ask(&sandbox, &[]);
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 1, 2]);
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    Take the first design.
    ---
    Answer by 1 openai/gpt-6.1-sol: every synthesizer failed; this is the answer closest to the others, word for word.
    warning[refused]: the synthesizer `google/gemini-4-argon` failed: the model declined: I can't help with that request. (next: rephrase the question, or ask another model)
    warning[empty]: the synthesizer `anthropic/claude-opus-5.5` failed: the model answered with nothing (next: ask again, or ask another model)
    Cost $0.0062, <time>.
    Kept as run <run>; `parallel-llm-mcp runs synthesize <run>` tries again to fuse the answers; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    assert_eq!(ask(&sandbox, &["--strict"]).code, Some(3));
}

#[test]
fn a_synthesis_that_is_cut_off_is_discarded() {
    let sandbox = sandbox().scripted(FIRST, Script::fault(Fault::SseCut).after_tokens(20));
    let output = ask(&sandbox, &["--json"]);
    let report = output.json();
    assert_eq!(synthesis(&report), "complete fused by anthropic/claude-opus-5.5");
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(1));
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 1, 1]);
}

#[test]
fn an_answer_that_begins_with_error_is_an_answer() {
    let sandbox = sandbox().scripted(TWO, Script::answering("Error: this is what I say"));
    let report = ask(&sandbox, &["--json"]).json();
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 22 bytes
    2 x-ai/grok-4.7 answered x1 25 bytes
    3 mistralai/mistral-large-4-0 answered x1 35 bytes
    ");
    assert_eq!(report["answers"][1]["text"], "Error: this is what I say");
}

#[test]
fn white_space_alone_is_an_empty_answer() {
    let sandbox = sandbox().scripted(TWO, Script::answering(" \n\t\u{3000} "));
    let report = ask(&sandbox, &["--json"]).json();
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 22 bytes
    2 x-ai/grok-4.7 failed empty x2
    3 mistralai/mistral-large-4-0 answered x1 35 bytes
    ");
}

/// A report, with one field or seat per line.
fn fields(report: &Value) -> String {
    let mut lines = Vec::new();
    for (name, value) in report.as_object().expect("a report is an object") {
        match (name.as_str(), value.as_array()) {
            ("answers", Some(seats)) => lines.extend(seats.iter().map(|seat| format!("answers[]: {seat}"))),
            _ => lines.push(format!("{name}: {value}")),
        }
    }
    lines.join("\n")
}

#[test]
fn the_json_report_is_complete() {
    let sandbox = sandbox().scripted(TWO, Script::fault(Fault::Zod400));
    let output = ask(&sandbox, &["--json"]);
    assert!(
        output.text().starts_with("{\n  \"schema\": 1,\n  \"run_id\": "),
        "as documented: {}",
        output.text()
    );
    let mut report = output.json();
    mask_report(&mut report);
    insta::assert_snapshot!(output.masked(&fields(&report)), @r#"
    agreement: {"clusters":[],"effective_votes":{"largest":null,"panel":1.3,"source":"prior"},"entropy_bits":null,"equal":1,"novel":{"passages":[],"share":0.0,"value":null},"of":2,"share":null,"unread":[]}
    answer: "Take the first design, and test it."
    answers[]: {"attempts":1,"connected_ms":"<connected_ms>","cost_usd":0.000068,"elapsed_ms":"<elapsed_ms>","error":null,"finish":"stop","first_text_ms":"<first_text_ms>","first_token_ms":"<first_token_ms>","generation_id":"<generation_id>","late":false,"model":"openai/gpt-6.1-sol","provider":"openrouter","seat":1,"served_model":"openai/gpt-6.1-sol","status":"answered","text":"Take the first design.","text_bytes":22,"truncated":false,"usage":{"cached_tokens":0,"input_tokens":4,"output_tokens":6,"reasoning_tokens":0},"without":[]}
    answers[]: {"attempts":1,"cost_usd":0.0,"elapsed_ms":"<elapsed_ms>","error":{"code":"bad_request","message":"openrouter answered 400: [ { \"code\": \"invalid_type\", \"expected\": \"string\", \"received\": \"number\", \"path\": [\"model\"], \"message\": \"Expected string, received number\" } ]","next":"read the provider's message: an option may not suit this model","retryable":false},"finish":null,"first_token_ms":null,"generation_id":null,"late":false,"model":"x-ai/grok-4.7","provider":"openrouter","seat":2,"served_model":null,"status":"failed","text":null,"text_bytes":0,"truncated":false,"usage":{"cached_tokens":null,"input_tokens":null,"output_tokens":null,"reasoning_tokens":null},"without":[]}
    answers[]: {"attempts":1,"connected_ms":"<connected_ms>","cost_usd":0.0000217,"elapsed_ms":"<elapsed_ms>","error":null,"finish":"stop","first_text_ms":"<first_text_ms>","first_token_ms":"<first_token_ms>","generation_id":"<generation_id>","late":false,"model":"mistralai/mistral-large-4-0","provider":"openrouter","seat":3,"served_model":"mistralai/mistral-large-4-0","status":"answered","text":"Take the first design, and test it.","text_bytes":35,"truncated":false,"usage":{"cached_tokens":0,"input_tokens":4,"output_tokens":9,"reasoning_tokens":0},"without":[]}
    calls: [{"attempts":1,"cost_usd":0.001536,"elapsed_ms":"<elapsed_ms>","error":null,"model":"google/gemini-4-argon","number":1,"provider":"openrouter","role":"synthesizer","status":"answered","usage":{"cached_tokens":0,"input_tokens":583,"output_tokens":37,"reasoning_tokens":0}}]
    confidence: {"band":"uncalibrated","basis":"2 answers to an open question, which are not counted"}
    cost_is_estimate: false
    cost_lacks_calls: false
    cost_usd: 0.0016257
    elapsed_ms: "<elapsed_ms>"
    error: null
    files: {"dir":"<home>/.local/share/parallel-llm-mcp/runs/<run>","error":null,"state":"written"}
    plan_hash: "<plan_hash>"
    program: {"name":"parallel-llm-mcp","version":"<version>"}
    run_id: "<run_id>"
    schema: 1
    seats_answered: 2
    seats_missing: [2]
    status: "partial"
    strategy: "synthesize"
    synthesis: {"by":"google/gemini-4-argon","considered":[1,3],"kind":"fused","reason":"the synthesizer started from one answer and patched it from the others","shortened":[]}
    warnings: []
    worth: {"base_seat":3,"edit_ratio":0.0,"extra_cost_usd":0.001536,"extra_ms":"<extra_ms>"}
    "#);
}

#[test]
fn jsonl_prints_one_event_per_line_and_the_report_last() {
    let output = ask(&sandbox(), &["--jsonl"]);
    let lines = output.json_lines();
    let (report, events) = lines.split_last().expect("there is a report");
    assert_eq!(synthesis(report), "complete fused by google/gemini-4-argon");
    let word = |event: &Value| event["event"].as_str().unwrap_or("?").to_owned();
    let mut words: Vec<String> = events.iter().map(word).collect();
    assert_eq!(words.first().map(String::as_str), Some("started"));
    assert_eq!(words.last().map(String::as_str), Some("decided"));
    words.sort();
    insta::assert_snapshot!(words.join(" "), @"accepted accepted accepted accepted answered answered answered answered decided sent sent sent sent started");
    // The events of the first seat and of the run itself.
    let is_shown =
        |event: &&Value| event["role"].is_null() || (event["role"] == "seat" && event["number"] == 1);
    let shown = events.iter().filter(is_shown).map(|event| {
        let mut event = event.clone();
        event["seq"] = json!("<seq>");
        event["elapsed_ms"] = json!("<ms>");
        if event["event"] == "accepted" {
            event["generation_id"] = json!("<id>");
        }
        output.masked(&event.to_string())
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
    {"cost_max_usd":0.54815,"elapsed_ms":"<ms>","event":"started","models":[{"model":"openai/gpt-6.1-sol","seat":1},{"model":"x-ai/grok-4.7","seat":2},{"model":"mistralai/mistral-large-4-0","seat":3}],"run_id":"<run>","schema":1,"seq":"<seq>","strategy":"synthesize"}
    {"attempt":1,"elapsed_ms":"<ms>","event":"sent","model":"openai/gpt-6.1-sol","number":1,"role":"seat","run_id":"<run>","schema":1,"seq":"<seq>"}
    {"attempt":1,"elapsed_ms":"<ms>","event":"accepted","generation_id":"<id>","model":"openai/gpt-6.1-sol","number":1,"role":"seat","run_id":"<run>","schema":1,"seq":"<seq>"}
    {"attempt":1,"cost_usd":0.000068,"elapsed_ms":"<ms>","error":null,"event":"answered","finish":"stop","model":"openai/gpt-6.1-sol","number":1,"role":"seat","run_id":"<run>","schema":1,"seq":"<seq>","served_model":"openai/gpt-6.1-sol","text":"Take the first design.","usage":{"cached_tokens":0,"input_tokens":4,"output_tokens":6,"reasoning_tokens":0}}
    {"elapsed_ms":"<ms>","event":"decided","run_id":"<run>","schema":1,"seq":"<seq>","synthesis":{"by":"google/gemini-4-argon","considered":[1,2,3],"kind":"fused","reason":"the synthesizer started from one answer and patched it from the others","shortened":[]}}
    "#);
}

#[test]
fn deltas_stream_the_text_as_events_of_jsonl() {
    let sandbox = sandbox();
    let output = sandbox.call(["ask", "--jsonl", "--deltas", "-m", ONE, "Why?"]).run();
    let events = output.json_lines();
    let pieces = events.iter().filter(|event| event["event"] == "text");
    let written: String = pieces.filter_map(|event| event["text"].as_str()).collect();
    let answered = events.iter().find(|event| event["event"] == "answered").expect("it has answered");
    assert!(!written.is_empty() && answered["text"] == written.as_str(), "{written}");
    let refused = sandbox.call(["ask", "--deltas", "-m", ONE, "Why?"]).run();
    assert_eq!((refused.code, refused.text()), (Some(2), ""));
}

#[test]
fn the_synthesizer_named_by_flag_is_asked_first() {
    let sandbox = sandbox();
    let output = ask(&sandbox, &["--json", "--synthesizer", SECOND]);
    assert_eq!(synthesis(&output.json()), "complete fused by anthropic/claude-opus-5.5");
    assert_eq!(call_counts(&sandbox), [1, 1, 1, 0, 1]);
}

#[test]
fn a_model_may_hold_several_seats() {
    let echo = Behaviour { answer: Answer::Echo, ..Behaviour::instant() };
    let sandbox = sandbox().scripted(ONE, Script::behaving(echo));
    let output = sandbox.call(["ask", "--json", "-m", "openai/gpt-6.1-sol*3", "Why?"]).run();
    insta::assert_snapshot!(seats(&output.json()), @"
    1 openai/gpt-6.1-sol answered x1 4 bytes
    2 openai/gpt-6.1-sol answered x1 4 bytes
    3 openai/gpt-6.1-sol answered x1 4 bytes
    ");
    assert_eq!(sandbox.asked(ONE), 3);
}

const HOW_MANY: &str = "How many legs has a spider?";

/// Answers of seats that are asked for the answer line.
const LINED: [&str; 3] =
    ["6\nANSWER: 6", "It has 8 legs.\nANSWER: 8", "The answer is **8**.\n\n**ANSWER:** 8"];

/// Asks [`HOW_MANY`] of three models with these answers. Returns the output and how often each model was called.
fn ask_how_many(answers: [&str; 3], flags: &[&str]) -> (Output, [usize; 5]) {
    let [one, two, three] = answers.map(Script::answering);
    let sandbox = sandbox().scripted(ONE, one).scripted(TWO, two).scripted(THREE, three);
    let chain = format!("{FIRST} {SECOND}");
    let asking = sandbox.call(["ask", "-m", ONE, "-m", TWO, "-m", THREE, HOW_MANY]).args(flags);
    let output = asking.settings([("synthesizer", chain.as_str())]).run();
    let calls = call_counts(&sandbox);
    (output, calls)
}

#[test]
fn a_vote_selects_an_answer_of_the_majority() {
    let (output, calls) = ask_how_many(LINED, &["--strategy", "vote"]);
    assert_eq!(calls, [1, 1, 1, 0, 0], "no synthesizer is called");
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    It has 8 legs.
    ---
    Answer by 2 x-ai/grok-4.7, chosen by vote: 2 of 3 answers say `8`; 1 openai/gpt-6.1-sol says `6`.
    Cost $0.00030, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let (output, _) = ask_how_many(LINED, &["--strategy", "vote", "--json"]);
    insta::assert_snapshot!(output.json()["agreement"].to_string(), @r#"{"clusters":[{"seats":[2,3],"value":"8"},{"seats":[1],"value":"6"}],"effective_votes":{"largest":1.3,"panel":1.45,"source":"prior"},"entropy_bits":0.918,"equal":2,"of":3,"share":0.667,"unread":[]}"#);
}

#[test]
fn the_summary_and_the_report_count_the_rounds() {
    let answers = ["6", "It has 8 legs.", "The answer is **8**."];
    let (output, calls) = ask_how_many(answers, &["--strategy", "moa@layers=3"]);
    assert_eq!(calls, [3, 3, 3, 1, 0]);
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    The answer is **8**.
    ---
    Fused by google/gemini-4-argon from 3 answers, starting from the newest answer of 3 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.0041 (fusing $0.0041), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let (output, _) = ask_how_many(answers, &["--strategy", "moa", "--json"]);
    let report = output.json();
    insta::assert_snapshot!(report["rounds"].to_string(), @r#"[{"answered":[1,2,3],"changed":[],"equal":0,"followed":[],"of":3,"round":2,"untold":[]}]"#);
    insta::assert_snapshot!(report["synthesis"]["base_step"].to_string(), @"3");
}

#[test]
fn unanimous_answers_are_not_fused() {
    let answers = ["8\nANSWER: 8", "It has 8 legs.\nANSWER: 8", "**ANSWER: 8**"];
    let (output, calls) = ask_how_many(answers, &["--strategy", "synthesize@gate=on"]);
    assert_eq!(calls, [1, 1, 1, 0, 0], "no synthesizer is called");
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    8
    ---
    Answer by 1 openai/gpt-6.1-sol: all 3 answers say `8`, so nothing was fused.
    Cost $0.00029, <time>; 1 call was not needed, which might have cost $0.26.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let answers = ["8", "It has 8 legs.", "8."];
    let (output, calls) = ask_how_many(answers, &["--json"]);
    assert_eq!(
        (synthesis(&output.json()).as_str(), calls),
        ("complete fused by google/gemini-4-argon", [1, 1, 1, 1, 0])
    );
    let answers = ["8\nANSWER: 8", "It depends.\nANSWER: none", "8\nANSWER: 8"];
    let (output, calls) = ask_how_many(answers, &["--strategy", "synthesize@gate=on", "--json"]);
    assert_eq!(
        (synthesis(&output.json()).as_str(), calls[3]),
        ("complete fused by google/gemini-4-argon", 1)
    );
}

#[test]
fn progress_names_the_seats_that_are_not_needed() {
    let (output, calls) =
        ask_how_many(["8\nANSWER: 8", "It has 8 legs.\nANSWER: 8", "8"], &["--strategy", "cascade@first=2"]);
    assert_eq!(calls, [1, 1, 0, 0, 0], "two agree");
    let line = output.stderr.lines().find(|line| line.contains("not asked")).expect("the seats are named");
    let (_, what) = line.split_once("] ").expect("a line begins with the time");
    assert_eq!(what, "not asked, because the others are enough: seat 3");
}

#[test]
fn the_paranoid_flag_sets_an_option_of_the_chosen_strategy() {
    let (output, calls) = ask_how_many(["6", "It has 8 legs.", "7"], &["--paranoid", "--json"]);
    assert_eq!(output.code, Some(0));
    assert_eq!(calls, [1, 1, 1, 4, 0], "one text of all answers, and one without each");
    let (output, calls) = ask_how_many(["6", "8", "7"], &["--paranoid", "--strategy", "vote"]);
    assert_eq!(calls, [0; 5], "nothing is asked");
    assert_eq!(output.code, Some(2));
    let transcript = output.transcript();
    assert!(transcript.contains("the strategy `vote` has no option `paranoid`"), "{transcript}");
}

#[test]
fn progress_is_shown_in_the_chosen_form() {
    let sandbox = sandbox();
    let ask = |how: &str| sandbox.call(["ask", "--no-files", "-m", ONE, "Why?", "--progress", how]).run();
    let tty = ask("tty");
    insta::assert_snapshot!(tty.transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--progress tty` needs a terminal on stderr that is not dumb
      next: leave `--progress` out
    ");
    assert_eq!(sandbox.chats().len(), 0);
    insta::assert_snapshot!(ask("quiet").transcript(), @"
    exit 0
    --- stdout
    Take the first design.
    --- stderr


    Answer by 1 openai/gpt-6.1-sol: one model was asked, so there was nothing to fuse.
    Cost $0.000062, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    let raw = ask("rawjson");
    let events = raw.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let names: Vec<String> = events.map(|event| event["event"].as_str().unwrap_or("?").to_owned()).collect();
    insta::assert_snapshot!(names.join(" "), @"started sent accepted answered decided");
    assert_eq!(raw.text(), ask("plain").text());
}
