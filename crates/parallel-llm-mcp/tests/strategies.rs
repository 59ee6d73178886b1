//! Every strategy on the command line and over MCP: its outcome without faults and with a fault at each step, the
//! models that it asks, and a cost that equals the provider's charge to the pico-dollar.

use crate::mcp::client::Client;
use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Sandbox, each};
use serde_json::{Value, json};

const MODELS: [&str; 3] = ["openai/gpt-6.1-sol", "x-ai/grok-4.7", "mistralai/mistral-large-4-0"];
/// Two synthesizers, which also judge.
const FIRST: &str = "google/gemini-4-argon";
const SECOND: &str = "anthropic/claude-opus-5.5";

const SHORT: &str = "How many legs has a spider? End with Answer: <number>";
const OPEN: &str = "Which design?";

/// Every strategy, some of them also with options.
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
    "best-of-n@by=consistency",
    "best-of-n@by=pairs",
    "best-of-n@by=league",
    "council",
    "moa",
    "moa@layers=3",
    "synthesize@analysis=separate",
    "synthesize@paranoid=on",
];

/// The faulty models of each case: none; a seat; all seats but one; a seat once; a seat and a synthesizer that are
/// billed for reasoning and write nothing; every synthesizer.
const FAULTS: [&[(&str, Fault)]; 6] = [
    &[],
    &[(MODELS[0], Fault::NoEndpoints)],
    &[(MODELS[0], Fault::NoEndpoints), (MODELS[1], Fault::NoEndpoints)],
    &[(MODELS[1], Fault::Server500)],
    &[(MODELS[1], Fault::ReasoningBurn), (FIRST, Fault::ReasoningBurn)],
    &[(FIRST, Fault::NoEndpoints), (SECOND, Fault::NoEndpoints)],
];

/// Three models with different answers, some of them faulty.
fn sandbox(question: &str, broken: &[(&str, Fault)]) -> Sandbox {
    let answers = match question {
        SHORT => ["It has 8 legs.\nAnswer: 8", "6\nAnswer: 6", "The answer is **8**.\nAnswer: 8"],
        _ => ["Take the first design.", "Take the second design.", "Take the first design, and test it."],
    };
    let answering = |sandbox: Sandbox, (model, answer)| sandbox.scripted(model, Script::answering(answer));
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let sandbox = MODELS.into_iter().zip(answers).fold(sandbox, answering);
    broken.iter().fold(sandbox, |sandbox, (model, fault)| {
        let script = Script::fault(*fault);
        // A temporary fault occurs once.
        let passes = *fault == Fault::Server500;
        sandbox.scripted(model, if passes { script.fail_first(1) } else { script })
    })
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

/// The end of a run: status, kind, and how often each model and synthesizer was called. The reported cost must equal
/// the charge.
fn line(sandbox: &Sandbox, report: &Value) -> String {
    let asked =
        [MODELS[0], MODELS[1], MODELS[2], FIRST, SECOND].map(|model| sandbox.asked(model).to_string());
    let is_race = report["strategy"] == "race";
    // The loser of a race may be cancelled before its request is sent.
    let asked = if is_race { "…".to_owned() } else { asked.concat() };
    let charged = sandbox.simulator().ledger().charged_pico_usd;
    let reported = (report["cost_usd"].as_f64().unwrap_or_default() * 1e12).round();
    // The cost of a cancelled loser is unknown.
    let is_whole = report["cost_lacks_calls"] == false;
    assert!(is_whole || is_race, "only a race cancels calls: {report}");
    assert!(
        if is_whole { reported as i64 == charged } else { reported as i64 <= charged },
        "charged {charged}: {report}"
    );
    let no_answer = report["answer"].as_str().map_or(", no answer", |_| "");
    let (status, kind) = (word(&report["status"]), word(&report["synthesis"]["kind"]));
    format!("{status} {kind} {asked}{no_answer}")
}

fn by_command(strategy: &str, question: &str, broken: &[(&str, Fault)]) -> String {
    let sandbox = sandbox(question, broken);
    let chain = format!("{FIRST} {SECOND}");
    let asking = ["ask", "-m", MODELS[0], "-m", MODELS[1], "-m", MODELS[2], "--json", "--linger", question];
    let call = sandbox.call(asking).args(["--strategy", strategy]);
    line(&sandbox, &call.settings([("synthesizer", chain.as_str())]).run().json())
}

/// The same as [`by_command`] for a question with a short answer, over MCP.
fn over_mcp(strategy: &str, broken: &[(&str, Fault)]) -> String {
    let sandbox = sandbox(SHORT, broken);
    let chain = format!("{FIRST} {SECOND}");
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_SYNTHESIZER", chain.as_str())]);
    let asked = json!({"prompt": SHORT, "models": MODELS, "strategy": strategy});
    let called = client.call("process_prompt", asked);
    let report = client.report(&called);
    client.hang_up();
    client.wait();
    line(&sandbox, &report)
}

/// Its pairings are random, and two equal answers meet without a call, so its number of calls is random.
const RANDOM_CALLS: &str = "best-of-n@by=pairs";

/// A line per strategy: its outcome with each of the faults, in order.
fn table(question: &str, outcome: impl Fn(&str, &[(&str, Fault)]) -> String + Sync) -> String {
    let strategies = STRATEGIES.iter().filter(|name| question != SHORT || **name != RANDOM_CALLS);
    let cases: Vec<_> =
        strategies.flat_map(|name| FAULTS.into_iter().map(move |broken| (*name, broken))).collect();
    let cells = each(&cases, |(strategy, broken)| outcome(strategy, broken));
    let line = |(cases, cells): (&[(&str, _)], &[String])| format!("{}: {}", cases[0].0, cells.join("; "));
    let lines = cases.chunks(FAULTS.len()).zip(cells.chunks(FAULTS.len())).map(line);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_strategy_survives_every_fault_on_a_question_with_a_short_answer_by_both_doors() {
    let outcomes = table(SHORT, |strategy, broken| by_command(strategy, SHORT, broken));
    insta::assert_snapshot!(outcomes, @"
    synthesize: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial fused 11111; complete verbatim 11111
    synthesize@first=2: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial selected 11100; complete verbatim 11111
    vote: complete selected 11100; partial verbatim 11100; partial verbatim 11100; complete selected 12100; partial selected 11100; complete selected 11100
    vote@first=2: complete selected 11100; partial verbatim 11100; partial verbatim 11100; complete selected 12100; partial selected 11100; complete selected 11100
    best-of-n: complete selected 11120; partial selected 11120; partial verbatim 11100; complete selected 12120; partial selected 11122; complete verbatim 11122
    best-of-n@orders=1: complete selected 11110; partial selected 11110; partial verbatim 11100; complete selected 12110; partial selected 11111; complete verbatim 11111
    cascade@first=2: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial selected 11100; complete verbatim 11111
    race: complete selected …; complete selected …; complete selected …; complete selected …; complete selected …; complete selected …
    panel: complete listed 11100; partial listed 11100; partial listed 11100; complete listed 12100; partial listed 11100; complete listed 11100
    auto: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial selected 11100; complete verbatim 11111
    best-of-n@by=consistency: complete selected 11110; partial selected 11110; partial verbatim 11100; complete selected 12110; partial selected 11111; complete verbatim 11111
    best-of-n@by=league: complete selected 11140; partial selected 11120; partial verbatim 11100; complete selected 12140; partial selected 11100; complete verbatim 11144
    council: complete fused 22210; partial fused 11110; partial verbatim 11100; complete fused 23210; partial fused 11111; complete verbatim 22211
    moa: complete fused 22210; partial fused 12210; partial verbatim 11100; complete fused 23210; partial fused 21211; complete verbatim 22211
    moa@layers=3: complete fused 33310; partial fused 13310; partial verbatim 11100; complete fused 34310; partial fused 31311; complete verbatim 33311
    synthesize@analysis=separate: complete fused 11120; partial fused 11120; partial verbatim 11100; complete fused 12120; partial fused 11122; complete verbatim 11122
    synthesize@paranoid=on: complete fused 11140; partial fused 11110; partial verbatim 11100; complete fused 12140; partial fused 11111; complete verbatim 11144
    ");
    assert_eq!(table(SHORT, over_mcp), outcomes, "both doors have the same outcomes");
}

#[test]
fn every_strategy_survives_every_fault_on_an_open_question() {
    let outcomes = table(OPEN, |strategy, broken| by_command(strategy, OPEN, broken));
    insta::assert_snapshot!(outcomes, @"
    synthesize: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial fused 11111; complete verbatim 11111
    synthesize@first=2: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial fused 11111; complete verbatim 11111
    vote: complete verbatim 11100; partial verbatim 11100; partial verbatim 11100; complete verbatim 12100; partial verbatim 11100; complete verbatim 11100
    vote@first=2: complete verbatim 11100; partial verbatim 11100; partial verbatim 11100; complete verbatim 12100; partial verbatim 11100; complete verbatim 11100
    best-of-n: complete selected 11120; partial selected 11120; partial verbatim 11100; complete selected 12120; partial selected 11122; complete verbatim 11122
    best-of-n@orders=1: complete selected 11110; partial selected 11110; partial verbatim 11100; complete selected 12110; partial selected 11111; complete verbatim 11111
    cascade@first=2: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial fused 11111; complete verbatim 11111
    race: complete selected …; complete selected …; complete selected …; complete selected …; complete selected …; complete selected …
    panel: complete listed 11100; partial listed 11100; partial listed 11100; complete listed 12100; partial listed 11100; complete listed 11100
    auto: complete fused 11110; partial fused 11110; partial verbatim 11100; complete fused 12110; partial fused 11111; complete verbatim 11111
    best-of-n@by=consistency: complete selected 11110; partial selected 11110; partial verbatim 11100; complete selected 12110; partial selected 11111; complete verbatim 11111
    best-of-n@by=pairs: complete selected 11140; partial selected 11120; partial verbatim 11100; complete selected 12140; partial selected 11122; complete verbatim 11122
    best-of-n@by=league: complete selected 11160; partial selected 11120; partial verbatim 11100; complete selected 12160; partial selected 11122; complete verbatim 11166
    council: complete fused 22210; partial fused 11110; partial verbatim 11100; complete fused 23210; partial fused 11111; complete verbatim 22211
    moa: complete fused 22210; partial fused 12210; partial verbatim 11100; complete fused 23210; partial fused 21211; complete verbatim 22211
    moa@layers=3: complete fused 33310; partial fused 13310; partial verbatim 11100; complete fused 34310; partial fused 31311; complete verbatim 33311
    synthesize@analysis=separate: complete fused 11120; partial fused 11120; partial verbatim 11100; complete fused 12120; partial fused 11122; complete verbatim 11122
    synthesize@paranoid=on: complete fused 11140; partial fused 11110; partial verbatim 11100; complete fused 12140; partial fused 11111; complete verbatim 11144
    ");
}

/// A run whose synthesizer begins after two of three answers, with these delays of the third answer and of each text:
/// its end, its calls, and its reason.
fn drafted_after_two(last_ms: u64, text_ms: u64) -> String {
    let after = |ms| Script::behaving(Behaviour { ttft_ms: Latency::of(ms), ..Behaviour::instant() });
    let sandbox = sandbox(OPEN, &[]).scripted(MODELS[2], after(last_ms)).scripted(FIRST, after(text_ms));
    let asking = ["ask", "-m", MODELS[0], "-m", MODELS[1], "-m", MODELS[2], "--json", "--linger", OPEN];
    let call = sandbox.call(asking).args(["--strategy", "synthesize@early=2"]);
    let report = call.settings([("synthesizer", FIRST)]).run().json();
    let statuses = |list: &str, name: &str| {
        let statuses = report[list].as_array().expect("the report has this list").iter();
        statuses
            .map(|one| format!("{} {}", word(&one[name]), word(&one["status"])))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let reason = word(&report["synthesis"]["reason"]);
    let (line, calls) = (line(&sandbox, &report), statuses("calls", "role"));
    format!("{line}: {reason}\n{}\n{calls}", statuses("answers", "model"))
}

#[test]
fn an_early_draft_does_not_wait_for_a_late_seat() {
    insta::assert_snapshot!(drafted_after_two(3_000, 0), @"
    complete fused 11110: the synthesizer started from one answer and patched it from the others, and began when 2 of 3 had answered
    openai/gpt-6.1-sol answered, x-ai/grok-4.7 answered, mistralai/mistral-large-4-0 answered
    draft answered
    ");
}

#[test]
fn an_early_draft_is_replaced_if_an_answer_comes_before_its_first_word() {
    insta::assert_snapshot!(drafted_after_two(300, 2_000), @"
    complete fused 11120: the synthesizer started from one answer and patched it from the others
    openai/gpt-6.1-sol answered, x-ai/grok-4.7 answered, mistralai/mistral-large-4-0 answered
    synthesizer answered, draft cancelled
    ");
}

/// The outcome of a vote on JSON answers: the reason, the clusters, and the hint on the command line.
fn vote_on_json(strategy: &str) -> String {
    let answers =
        [r#"{"answer": {"kg": 2.50}}"#, r#"Heavy. {"answer": {"kg": 2.5}}"#, r#"{"answer": {"kg": 3}}"#];
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let answering = |sandbox: Sandbox, (model, answer)| sandbox.scripted(model, Script::answering(answer));
    let sandbox = MODELS.into_iter().zip(answers).fold(sandbox, answering);
    let asking = [
        "ask",
        "-m",
        MODELS[0],
        "-m",
        MODELS[1],
        "-m",
        MODELS[2],
        "--json",
        "--strategy",
        strategy,
        "How heavy?",
    ];
    let output = sandbox.call(asking).run();
    let report = output.json();
    let (synthesis, agreement) = (&report["synthesis"], &report["agreement"]);
    let clusters = serde_json::to_string(&agreement["clusters"]).expect("it is JSON");
    let hint = output.stderr.lines().find(|line| line.contains("makes one text")).unwrap_or("-");
    let hint = hint.replace(report["run_id"].as_str().unwrap_or_default(), "RUN");
    format!(
        "{}: {}; {clusters}; {hint}",
        synthesis["kind"].as_str().unwrap_or("-"),
        synthesis["reason"].as_str().unwrap_or("-")
    )
}

#[test]
fn a_vote_uses_the_given_extractor_and_share() {
    insta::assert_snapshot!(vote_on_json("vote@extractor=json:/answer/kg"), @r#"selected: 2 of 3 answers say `2.5`; [{"seats":[1,2],"value":"2.5"},{"seats":[3],"value":"3"}]; -"#);
    insta::assert_snapshot!(vote_on_json("vote@extractor=json:/answer/kg,min_share=67"), @r#"verbatim: what wins the vote has 2 of 3 answers, 66 %, and `min_share` asks for 67 %; this is the answer closest to the others, word for word; [{"seats":[1,2],"value":"2.5"},{"seats":[3],"value":"3"}]; Kept as run RUN; `parallel-llm-mcp runs replay RUN --strategy synthesize` makes one text of the answers; files in ~/.local/share/parallel-llm-mcp/runs/RUN."#);
    insta::assert_snapshot!(vote_on_json("vote@extractor=json:/answer/lb"), @"verbatim: no answer has a value at `/answer/lb`; this is the answer closest to the others, word for word; []; Kept as run RUN; `parallel-llm-mcp runs replay RUN --strategy synthesize` makes one text of the answers; files in ~/.local/share/parallel-llm-mcp/runs/RUN.");
}

#[test]
fn what_is_written_differently_is_compared_by_a_cheap_model() {
    let answers = ["Paris, of course.\nANSWER: Paris", "ANSWER: the `Paris`!", "Rome.\nANSWER: Rome"];
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let answering = |sandbox: Sandbox, (model, answer)| sandbox.scripted(model, Script::answering(answer));
    let sandbox = MODELS.into_iter().zip(answers).fold(sandbox, answering);
    let panel = ["-m", MODELS[0], "-m", MODELS[1], "-m", MODELS[2]];
    let question = "What is the capital of France?";
    let told = |report: &serde_json::Value| {
        let calls = report["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        let call = |call: &serde_json::Value| format!("{} {}", call["role"], call["model"]);
        format!(
            "{}\n{}\nby {}\n{}",
            report["synthesis"]["reason"].as_str().unwrap_or("-"),
            report["agreement"]["clusters"],
            report["agreement"]["grouped_by"],
            calls.iter().map(call).collect::<Vec<_>>().join(", ")
        )
    };
    let ask = |strategy: &str, model: &str| {
        let asking =
            [&["ask"][..], &panel, &["--json", "--fresh", "--strategy", strategy, question]].concat();
        sandbox.call(asking).settings([("equivalence_model", model)]).run().json()
    };
    let asked = ask("vote", "auto");
    insta::assert_snapshot!(told(&asked), @r#"
    2 of 3 answers say `Paris`, which `deepseek/deepseek-v4.1-flash-1017` takes for the same as `the 'Paris'!`
    [{"also":["the 'Paris'!"],"seats":[1,2],"value":"Paris"},{"seats":[3],"value":"Rome"}]
    by "deepseek/deepseek-v4.1-flash-1017"
    "equivalence" "deepseek/deepseek-v4.1-flash-1017"
    "#);
    insta::assert_snapshot!(told(&ask("vote", "off")), @r#"
    no two answers agree; this is the answer closest to the others, word for word
    [{"seats":[1],"value":"Paris"},{"seats":[2],"value":"the 'Paris'!"},{"seats":[3],"value":"Rome"}]
    by null
    "#);
    insta::assert_snapshot!(told(&ask("cascade@first=2", FIRST)), @r#"
    both answers say `Paris`, which `google/gemini-4-argon` takes for the same as `the 'Paris'!`, so nothing was fused
    [{"also":["the 'Paris'!"],"seats":[1,2],"value":"Paris"}]
    by "google/gemini-4-argon"
    "equivalence" "google/gemini-4-argon"
    "#);
    let run = ask("panel", "auto")["run_id"].as_str().expect("it has a name").to_owned();
    let replayed = sandbox.call(["runs", "replay", &run, "--strategy", "vote", "--json"]).run().json();
    insta::assert_snapshot!(told(&replayed), @"
    no answer gives the short answer that is counted; this is the answer closest to the others, word for word
    []
    by null
    ");
    let asked_id = asked["run_id"].as_str().expect("it has a name").to_owned();
    let agreement = sandbox.call(["runs", "show", &asked_id, "--agreement"]).run();
    insta::assert_snapshot!(agreement.transcript().replace(&asked_id, "RUN"), @"
    exit 0
    --- stdout
    run <run>, vote, complete
    3 answers, worth about 1.45 independent votes (by a prior, not measured on your questions)
      `Paris` or `the 'Paris'!`: 1 openai/gpt-6.1-sol, 2 x-ai/grok-4.7 (worth about 1.3 votes)
      `Rome`: 3 mistralai/mistral-large-4-0
      what stands on one line means the same in the opinion of deepseek/deepseek-v4.1-flash-1017
    67 % in the largest cluster, spread over 0.918 bits
    confidence: uncalibrated (2 of 3 agree)
    no model compared what they say, or its words are not kept

    selected: 2 of 3 answers say `Paris`, which `deepseek/deepseek-v4.1-flash-1017` takes for the same as `the 'Paris'!`
    --- stderr
    ");
}
