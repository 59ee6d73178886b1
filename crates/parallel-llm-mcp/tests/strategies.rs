//! Every strategy through the doors: what it comes to where all goes well and where something fails at each of its stages,
//! whom it asks, and that its cost is what the provider charged, to the pico-dollar.

#[path = "mcp/client.rs"]
#[allow(dead_code, reason = "these tests speak only a part of what the client can")]
mod client;

use client::{Client, told};
use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Stage, each};
use serde_json::{Value, json};

const MODELS: [&str; 3] = ["openai/gpt-6.1-sol", "x-ai/grok-4.7", "mistralai/mistral-large-4-0"];
/// Two synthesizers, which judge, too.
const FIRST: &str = "google/gemini-4-argon";
const SECOND: &str = "anthropic/claude-opus-5.5";

const CLOSED: &str = "How many legs has a spider?";
const OPEN: &str = "Which design?";

/// Everything that can be named.
const STRATEGIES: &[&str] = &[
    "synthesize",
    "synthesize@first=2",
    "vote",
    "vote@first=2",
    "best-of-n",
    "best-of-n@orders=1",
    "cascade@first=2",
    "race",
    "panel",
    "auto",
];

/// Who fails how, if anybody.
const FAULTS: &[(&str, &[(&str, Fault)])] = &[
    ("nothing fails", &[]),
    ("a seat fails", &[(MODELS[0], Fault::NoEndpoints)]),
    ("all seats but one fail", &[(MODELS[0], Fault::NoEndpoints), (MODELS[1], Fault::NoEndpoints)]),
    ("a seat is asked twice", &[(MODELS[1], Fault::Server500)]),
    (
        "a seat and a synthesizer think for money and say nothing",
        &[(MODELS[1], Fault::ReasoningBurn), (FIRST, Fault::ReasoningBurn)],
    ),
    ("every synthesizer fails", &[(FIRST, Fault::NoEndpoints), (SECOND, Fault::NoEndpoints)]),
];

/// Three models that differ, and these of them broken.
fn stage(question: &str, broken: &[(&str, Fault)]) -> Stage {
    let answers = match question {
        CLOSED => ["It has 8 legs.", "6", "The answer is **8**."],
        _ => ["Take the first design.", "Take the second design.", "Take the first design, and test it."],
    };
    let answering = |stage: Stage, (model, answer)| stage.scripted(model, Script::answering(answer));
    let stage = Stage::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let stage = MODELS.into_iter().zip(answers).fold(stage, answering);
    broken.iter().fold(stage, |stage, (model, fault)| {
        let script = Script::fault(*fault);
        // One that passes fails once.
        let passes = *fault == Fault::Server500;
        stage.scripted(model, if passes { script.fail_first(1) } else { script })
    })
}

/// How a run ended: status, kind, base, who was asked how often, and whether the cost told is the cost charged.
fn line(stage: &Stage, report: &Value) -> String {
    let asked = [MODELS[0], MODELS[1], MODELS[2], FIRST, SECOND].map(|model| stage.asked(model).to_string());
    let charged = stage.simulator().ledger().charged_pico_usd;
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let told = (report["cost_usd"].as_f64().unwrap_or_default() * 1e12).round();
    // Who loses a race is given up, and nobody tells what that cost.
    let is_whole = report["cost_lacks_calls"] == false;
    assert!(is_whole || report["strategy"] == "race", "only a race gives calls up: {report}");
    assert!(
        if is_whole { told as i64 == charged } else { told as i64 <= charged },
        "charged {charged}: {report}"
    );
    let kept = report["answer"].as_str().map_or("no answer", |_| "an answer");
    format!(
        "{} {} of {}, {kept}",
        word(&report["status"]),
        word(&report["synthesis"]["kind"]),
        asked.join(" ")
    )
}

fn by_command(strategy: &str, question: &str, broken: &[(&str, Fault)]) -> String {
    let stage = stage(question, broken);
    let chain = format!("{FIRST} {SECOND}");
    let asking = ["ask", "-m", MODELS[0], "-m", MODELS[1], "-m", MODELS[2], "--json", "--linger", question];
    let call = stage.call(asking).args(["--strategy", strategy]);
    line(&stage, &call.settings([("synthesizer", chain.as_str())]).run().json())
}

/// A line for each fault and strategy.
fn table(told: impl Fn(&str, &[(&str, Fault)]) -> String + Sync) -> String {
    let cases: Vec<_> =
        FAULTS.iter().flat_map(|fault| STRATEGIES.iter().map(move |name| (fault, *name))).collect();
    let lines = each(&cases, |((_, broken), strategy)| format!("  {strategy}: {}", told(strategy, broken)));
    let blocks = FAULTS.iter().zip(lines.chunks(STRATEGIES.len()));
    let blocks = blocks.map(|((what, _), lines)| format!("{what}\n{}", lines.join("\n")));
    blocks.collect::<Vec<_>>().join("\n")
}

#[test]
fn on_the_command_line_a_closed_question_gets_what_the_strategy_makes_of_it() {
    let told = table(|strategy, broken| by_command(strategy, CLOSED, broken));
    insta::assert_snapshot!(told, @"
    nothing fails
      synthesize: complete fused of 1 1 1 1 0, an answer
      synthesize@first=2: complete fused of 1 1 1 1 0, an answer
      vote: complete selected of 1 1 1 0 0, an answer
      vote@first=2: complete selected of 1 1 1 0 0, an answer
      best-of-n: complete selected of 1 1 1 2 0, an answer
      best-of-n@orders=1: complete selected of 1 1 1 1 0, an answer
      cascade@first=2: complete fused of 1 1 1 1 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: complete listed of 1 1 1 0 0, an answer
      auto: complete fused of 1 1 1 1 0, an answer
    a seat fails
      synthesize: partial fused of 1 1 1 1 0, an answer
      synthesize@first=2: partial fused of 1 1 1 1 0, an answer
      vote: partial selected of 1 1 1 0 0, an answer
      vote@first=2: partial selected of 1 1 1 0 0, an answer
      best-of-n: partial selected of 1 1 1 2 0, an answer
      best-of-n@orders=1: partial selected of 1 1 1 1 0, an answer
      cascade@first=2: partial fused of 1 1 1 1 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: partial listed of 1 1 1 0 0, an answer
      auto: partial fused of 1 1 1 1 0, an answer
    all seats but one fail
      synthesize: partial verbatim of 1 1 1 0 0, an answer
      synthesize@first=2: partial verbatim of 1 1 1 0 0, an answer
      vote: partial verbatim of 1 1 1 0 0, an answer
      vote@first=2: partial verbatim of 1 1 1 0 0, an answer
      best-of-n: partial verbatim of 1 1 1 0 0, an answer
      best-of-n@orders=1: partial verbatim of 1 1 1 0 0, an answer
      cascade@first=2: partial verbatim of 1 1 1 0 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: partial listed of 1 1 1 0 0, an answer
      auto: partial verbatim of 1 1 1 0 0, an answer
    a seat is asked twice
      synthesize: complete fused of 1 2 1 1 0, an answer
      synthesize@first=2: complete fused of 1 2 1 1 0, an answer
      vote: complete selected of 1 2 1 0 0, an answer
      vote@first=2: complete selected of 1 2 1 0 0, an answer
      best-of-n: complete selected of 1 2 1 2 0, an answer
      best-of-n@orders=1: complete selected of 1 2 1 1 0, an answer
      cascade@first=2: complete fused of 1 2 1 1 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: complete listed of 1 2 1 0 0, an answer
      auto: complete fused of 1 2 1 1 0, an answer
    a seat and a synthesizer think for money and say nothing
      synthesize: partial selected of 1 1 1 0 0, an answer
      synthesize@first=2: partial selected of 1 1 1 0 0, an answer
      vote: partial selected of 1 1 1 0 0, an answer
      vote@first=2: partial selected of 1 1 1 0 0, an answer
      best-of-n: partial selected of 1 1 1 0 0, an answer
      best-of-n@orders=1: partial selected of 1 1 1 0 0, an answer
      cascade@first=2: partial selected of 1 1 1 0 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: partial listed of 1 1 1 0 0, an answer
      auto: partial selected of 1 1 1 0 0, an answer
    every synthesizer fails
      synthesize: complete verbatim of 1 1 1 1 1, an answer
      synthesize@first=2: complete verbatim of 1 1 1 1 1, an answer
      vote: complete selected of 1 1 1 0 0, an answer
      vote@first=2: complete selected of 1 1 1 0 0, an answer
      best-of-n: complete verbatim of 1 1 1 2 2, an answer
      best-of-n@orders=1: complete verbatim of 1 1 1 1 1, an answer
      cascade@first=2: complete verbatim of 1 1 1 1 1, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: complete listed of 1 1 1 0 0, an answer
      auto: complete verbatim of 1 1 1 1 1, an answer
    ");
}

#[test]
fn on_the_command_line_an_open_question_gets_what_the_strategy_makes_of_it() {
    let told = table(|strategy, broken| by_command(strategy, OPEN, broken));
    insta::assert_snapshot!(told, @"
    nothing fails
      synthesize: complete fused of 1 1 1 1 0, an answer
      synthesize@first=2: complete fused of 1 1 1 1 0, an answer
      vote: complete selected of 1 1 1 0 0, an answer
      vote@first=2: complete selected of 1 1 1 0 0, an answer
      best-of-n: complete selected of 1 1 1 2 0, an answer
      best-of-n@orders=1: complete selected of 1 1 1 1 0, an answer
      cascade@first=2: complete fused of 1 1 1 1 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: complete listed of 1 1 1 0 0, an answer
      auto: complete fused of 1 1 1 1 0, an answer
    a seat fails
      synthesize: partial fused of 1 1 1 1 0, an answer
      synthesize@first=2: partial fused of 1 1 1 1 0, an answer
      vote: partial selected of 1 1 1 0 0, an answer
      vote@first=2: partial selected of 1 1 1 0 0, an answer
      best-of-n: partial selected of 1 1 1 2 0, an answer
      best-of-n@orders=1: partial selected of 1 1 1 1 0, an answer
      cascade@first=2: partial fused of 1 1 1 1 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: partial listed of 1 1 1 0 0, an answer
      auto: partial fused of 1 1 1 1 0, an answer
    all seats but one fail
      synthesize: partial verbatim of 1 1 1 0 0, an answer
      synthesize@first=2: partial verbatim of 1 1 1 0 0, an answer
      vote: partial verbatim of 1 1 1 0 0, an answer
      vote@first=2: partial verbatim of 1 1 1 0 0, an answer
      best-of-n: partial verbatim of 1 1 1 0 0, an answer
      best-of-n@orders=1: partial verbatim of 1 1 1 0 0, an answer
      cascade@first=2: partial verbatim of 1 1 1 0 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: partial listed of 1 1 1 0 0, an answer
      auto: partial verbatim of 1 1 1 0 0, an answer
    a seat is asked twice
      synthesize: complete fused of 1 2 1 1 0, an answer
      synthesize@first=2: complete fused of 1 2 1 1 0, an answer
      vote: complete selected of 1 2 1 0 0, an answer
      vote@first=2: complete selected of 1 2 1 0 0, an answer
      best-of-n: complete selected of 1 2 1 2 0, an answer
      best-of-n@orders=1: complete selected of 1 2 1 1 0, an answer
      cascade@first=2: complete fused of 1 2 1 1 0, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: complete listed of 1 2 1 0 0, an answer
      auto: complete fused of 1 2 1 1 0, an answer
    a seat and a synthesizer think for money and say nothing
      synthesize: partial fused of 1 1 1 1 1, an answer
      synthesize@first=2: partial fused of 1 1 1 1 1, an answer
      vote: partial selected of 1 1 1 0 0, an answer
      vote@first=2: partial selected of 1 1 1 0 0, an answer
      best-of-n: partial selected of 1 1 1 2 2, an answer
      best-of-n@orders=1: partial selected of 1 1 1 1 1, an answer
      cascade@first=2: partial fused of 1 1 1 1 1, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: partial listed of 1 1 1 0 0, an answer
      auto: partial fused of 1 1 1 1 1, an answer
    every synthesizer fails
      synthesize: complete verbatim of 1 1 1 1 1, an answer
      synthesize@first=2: complete verbatim of 1 1 1 1 1, an answer
      vote: complete selected of 1 1 1 0 0, an answer
      vote@first=2: complete selected of 1 1 1 0 0, an answer
      best-of-n: complete verbatim of 1 1 1 2 2, an answer
      best-of-n@orders=1: complete verbatim of 1 1 1 1 1, an answer
      cascade@first=2: complete verbatim of 1 1 1 1 1, an answer
      race: complete selected of 1 1 1 0 0, an answer
      panel: complete listed of 1 1 1 0 0, an answer
      auto: complete verbatim of 1 1 1 1 1, an answer
    ");
}

#[test]
fn over_mcp_each_strategy_comes_to_the_same() {
    let over_mcp = |strategy: &str, broken: &[(&str, Fault)]| {
        let stage = stage(CLOSED, broken);
        let chain = format!("{FIRST} {SECOND}");
        let mut client = Client::new(&stage, &[("PARALLEL_LLM_SYNTHESIZER", chain.as_str())]);
        let asked = json!({"prompt": CLOSED, "models": MODELS, "strategy": strategy});
        let called = client.call("process_prompt", asked);
        client.hang_up();
        client.wait();
        line(&stage, told(&called))
    };
    let same = table(over_mcp);
    let command = table(|strategy, broken| by_command(strategy, CLOSED, broken));
    assert_eq!(same, command, "both doors come to the same");
}
