//! The limits of a run: concurrent calls, slow models, deadlines, and money to the pico-dollar.

use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Sandbox, each, seats, synthesis};
use serde_json::Value;

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "mistralai/mistral-large-4-0";
const SLOW: &str = "x-ai/grok-4.7";
const SYNTHESIZER: &str = "google/gemini-4-argon";
/// Names the newest run.
const NEWEST: &str = "@";
const PICO_PER_USD: f64 = 1e12;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// A model that answers after this many milliseconds.
fn after(ms: u64) -> Script {
    Script::behaving(Behaviour { ttft_ms: Latency::of(ms), ..Behaviour::instant() })
}

/// The largest number of calls in flight at once if this many seats are asked with this limit.
fn high_water(seats: &str, limit: &str) -> u64 {
    let sandbox = sandbox().scripted(ONE, after(1_500));
    let call = sandbox.call(["ask", "--json", "-m", &format!("{ONE}*{seats}"), "--budget", "100", "Why?"]);
    let output = call.settings([("calls_per_key_max", limit), ("synthesizer", ONE)]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(Ok(sandbox.asked(ONE)), seats.parse(), "each seat is asked once; equal answers are not fused");
    sandbox.simulator().stats().concurrent_high_water
}

#[test]
fn concurrent_calls_reach_their_limit_and_no_more() {
    let cases = [("12", "4"), ("3", "64"), ("12", "64")];
    assert_eq!(each(&cases, |(seats, limit)| high_water(seats, limit)), [4, 3, 12]);
}

#[test]
fn one_slow_model_does_not_delay_the_others() {
    let sandbox = sandbox().scripted(SLOW, after(6_000));
    let call = sandbox.call(["ask", "--json", "-m", ONE, "-m", TWO, "-m", SLOW, "Why?"]);
    let settings = [("straggler_after_ms", "500"), ("synthesizer", SYNTHESIZER)];
    let output = call.settings(settings).arg("--linger").run();
    let report = output.json();
    assert_eq!(synthesis(&report), "complete fused by google/gemini-4-argon");
    assert_eq!(report["synthesis"]["considered"], serde_json::json!([1, 2]));
    assert_eq!(sandbox.call(["runs", "show", "--json", NEWEST]).run().json(), report);
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 444 bytes
    2 mistralai/mistral-large-4-0 answered x1 148 bytes
    3 x-ai/grok-4.7 answered late x1 344 bytes
    ");
    assert!(sandbox.files().iter().any(|(path, _)| path.ends_with("answer_3_x-ai-grok-4.7.md")));
}

#[test]
fn without_linger_late_seats_are_cancelled() {
    let sandbox = sandbox().scripted(SLOW, after(30_000));
    let call = sandbox.call(["ask", "--json", "-m", ONE, "-m", TWO, "-m", SLOW, "Why?"]);
    let output = call.settings([("straggler_after_ms", "500"), ("synthesizer", SYNTHESIZER)]).run();
    assert_eq!(output.code, Some(0));
    let later = sandbox.call(["runs", "show", "--json", NEWEST]).run().json();
    insta::assert_snapshot!(seats(&later), @"
    1 openai/gpt-6.1-sol answered x1 444 bytes
    2 mistralai/mistral-large-4-0 answered x1 148 bytes
    3 x-ai/grok-4.7 cancelled cancelled x1
    ");
    sandbox.until("the upstream sees the cancel", || sandbox.simulator().stats().client_cancelled == 1);
}

#[test]
fn a_quorum_ends_the_wait() {
    let sandbox = sandbox().scripted(SLOW, after(30_000));
    let call =
        sandbox.call(["ask", "--json", "--wait", "quorum:2", "-m", ONE, "-m", TWO, "-m", SLOW, "Why?"]);
    let report = call.settings([("synthesizer", SYNTHESIZER)]).run().json();
    assert_eq!(synthesis(&report), "partial fused by google/gemini-4-argon");
}

#[test]
fn the_deadline_ends_a_run_without_answers() {
    let sandbox = sandbox().scripted(SLOW, after(30_000));
    let output = sandbox.call(["ask", "--json", "--deadline", "900ms", "-m", SLOW, "Why?"]).run();
    assert_eq!(output.code, Some(6), "{}", output.stderr);
    insta::assert_snapshot!(output.json()["answers"][0]["error"]["message"], @r#""the time limit of 0.9 s was reached""#);
}

#[test]
fn a_queued_call_ends_with_the_run() {
    let sandbox = sandbox().scripted(SLOW, after(30_000));
    let call = sandbox.call(["ask", "--json", "--deadline", "1500ms", "-m", "x-ai/grok-4.7*2", "Why?"]);
    let output = call.settings([("calls_per_key_max", "1")]).run();
    insta::assert_snapshot!(seats(&output.json()), @"
    1 x-ai/grok-4.7 failed timeout x1
    2 x-ai/grok-4.7 skipped timeout x0
    ");
    assert_eq!((output.code, sandbox.asked(SLOW)), (Some(6), 1));
}

/// An amount of a report in whole pico-dollars.
fn pico(amount: &Value) -> i64 {
    (amount.as_f64().unwrap_or(f64::NAN) * PICO_PER_USD).round() as i64
}

#[test]
fn the_report_and_the_ledger_agree_to_the_pico_dollar() {
    // An empty answer is billed and asked for again; a refusal is billed; a 503 costs nothing.
    let sandbox = sandbox()
        .scripted(ONE, Script::fault(Fault::EmptyContent).fail_first(1))
        .scripted(TWO, Script::fault(Fault::Refusal))
        .scripted("z-ai/glm-5.3", Script::fault(Fault::Server500).fail_first(1));
    let models =
        ["-m", ONE, "-m", TWO, "-m", SLOW, "-m", "z-ai/glm-5.3", "-m", "~deepseek/deepseek-pro-latest"];
    let call = sandbox.call(["ask", "--json", "How do we store money?"]).args(models);
    let report = call.settings([("synthesizer", SYNTHESIZER)]).run().json();
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x2 472 bytes
    2 mistralai/mistral-large-4-0 refused refused x1
    3 x-ai/grok-4.7 answered x1 372 bytes
    4 z-ai/glm-5.3 answered x2 162 bytes
    5 ~deepseek/deepseek-pro-latest answered x1 520 bytes
    ");
    let ledger = sandbox.simulator().ledger();
    assert_eq!(ledger.charges.len(), 7, "seven calls were billed");
    assert_eq!(pico(&report["cost_usd"]), ledger.charged_pico_usd);
    assert_eq!(report["cost_is_estimate"], false);
    let seats = report["answers"].as_array().expect("there are seats").iter();
    let fusing = pico(&report["worth"]["extra_cost_usd"]);
    let parts: i64 = seats.map(|seat| pico(&seat["cost_usd"])).sum::<i64>() + fusing;
    assert_eq!(parts, ledger.charged_pico_usd, "the seats and the fusing add up");
    let kept = sandbox.call(["runs", "list", "--json"]).run().json();
    assert_eq!(pico(&kept["cost_usd"]), ledger.charged_pico_usd);
}
