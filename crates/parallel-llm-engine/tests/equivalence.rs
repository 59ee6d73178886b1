//! Short answers that are written differently: a cheap model says which mean the same, it is shown these alone, and what it does
//! not say plainly and in time differs.

use parallel_llm_engine::plan::caller_slot::{CallerSlot, StepNumber};
use parallel_llm_engine::plan::{Defaults, RunPlan, Terms};
use parallel_llm_engine::port::Call;
use parallel_llm_engine::request::flow::{Flow, FlowStage};
use parallel_llm_engine::request::price::PriceBook;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::request::{Equivalence, StoreMode};
use parallel_llm_engine::run::event::{Attempt, Recorded};
use parallel_llm_engine::{
    Catalogue, Code, Failure, ModelInfo, Outcome, PicoUsd, Price, RunRequest, SeatStatus,
};
use proptest::prelude::*;

use crate::invariants;
use crate::scenario::{
    self, Scenario, ScriptedAnswer, in_paused_time, planned_with, scenario, shuffled_answers,
};
use crate::script::{Reply, after, compares, fails, failure, fuses, grouped, hangs, prompt};

const WHERE: &str = "What is the capital of France?";

/// A model that gives this short answer in a sentence.
fn answers(ms: u64, short: &str) -> Reply {
    after(ms).text(&format!("Surely {short}, as I see it.\n\nANSWER: {short}")).end()
}

const NAMES: [&str; 5] = ["ada", "bob", "cyd", "dan", "eve"];

/// Models with these short answers, a synthesizer, and this model for equivalence.
fn asked(strategy: &str, short: &[&str], grouper: Reply) -> Scenario {
    let seats = NAMES.into_iter().zip((1..).map(|at| at * 10)).zip(short);
    let seats = seats.map(|((name, ms), short)| (name, answers(ms, short)));
    let readers = [("fuser", fuses(10, "?", "Paris, all in all.")), ("grouper", grouper)];
    scenario(seats.chain(readers)).asks(WHERE, strategy)
}

const SAME: &[&[&str]] = &[&["Paris", "the city of Paris"], &["Rome"]];

/// The reason, the agreement, the warnings, and how often the model for equivalence was asked.
async fn result(scenario: Scenario) -> String {
    let result = scenario.run().await;
    let times = result.asked.iter().filter(|asked| asked.call.model.model == "grouper").count();
    let outcome = result.run.outcome.as_ref().expect("it is decided");
    let warnings =
        outcome.warnings.iter().map(|warning| format!("\n! {}: {}", warning.code, warning.message));
    let warnings: String = warnings.collect();
    format!("{}\n{}\nasked {times} times{warnings}", outcome.reason, agreement(outcome))
}

fn agreement(outcome: &Outcome) -> String {
    let Some(agreement) = &outcome.agreement else { return "no agreement".to_owned() };
    let clusters = agreement.clusters.iter().map(|one| {
        let values: Vec<&str> = one.value.iter().chain(&one.also).map(String::as_str).collect();
        let seats: Vec<String> = one.seats.iter().map(ToString::to_string).collect();
        format!("{}: {}", values.join(" or "), seats.join(" "))
    });
    clusters.collect::<Vec<_>>().join("; ")
}

#[tokio::test(start_paused = true)]
async fn a_vote_counts_together_what_means_the_same() {
    let vote = || asked("vote", &["Rome", "Paris", "the city of Paris"], compares(5, SAME));
    insta::assert_snapshot!(vote().run().await.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `Surely Rome, as I see it.`
    20 answered 2 `Surely Paris, as I see it.`
    30 answered 3 `Surely the city of Paris, as I see it.` | 30 sent step 1
    35 answered step 1 `{"groups":[["A","C"],["B"]]}` | 35 decided selected
    35 closed $0.0040
    complete decided at 35, closed at 35
      selected by bob from 2: `Surely Paris, as I see it.`
      because 2 of 3 answers say `Paris`, which `grouper` takes for the same as `the city of Paris`
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 grouper answered, 1 request 5 ms, $0.0010 grouping
    "#);
    insta::assert_snapshot!(result(vote()).await, @"
    2 of 3 answers say `Paris`, which `grouper` takes for the same as `the city of Paris`
    Paris or the city of Paris: 2 3; Rome: 1
    asked 1 times
    ");
}

#[tokio::test(start_paused = true)]
async fn only_the_short_answers_are_shown_and_the_prompt_is_kept() {
    let result = asked("vote", &["Rome", "Paris", "the city of Paris"], compares(5, SAME)).run().await;
    let call = result.asked.iter().find(|asked| asked.call.model.model == "grouper").expect("it is asked");
    let sent = prompt(&call.call);
    assert!(
        sent.contains("| the city of Paris\n") && !sent.contains("Surely") && !sent.contains(WHERE),
        "{sent}"
    );
    let events: Vec<Recorded> = result.commits.concat();
    let attempt = Attempt { slot: CallerSlot::Step(StepNumber(1)), number: 1 };
    let again =
        parallel_llm_engine::run::prompt::of(&result.plan, &events, attempt).expect("it is made again");
    assert_eq!(again, call.call.messages);
}

#[tokio::test(start_paused = true)]
async fn what_the_model_does_not_say_plainly_and_in_time_differs() {
    let vote = |grouper| result(asked("vote", &["Paris", "the city of Paris", "Rome"], grouper));
    insta::assert_snapshot!(vote(fails(5, failure(Code::Auth))).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    Paris: 1; the city of Paris: 2; Rome: 3
    asked 1 times
    ! no_majority: the vote decides nothing: no two answers agree
    ! auth: short answers that are written differently were counted as different: scripted auth
    ");
    insta::assert_snapshot!(vote(after(5).text("Paris is Paris.").end()).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    Paris: 1; the city of Paris: 2; Rome: 3
    asked 1 times
    ! no_majority: the vote decides nothing: no two answers agree
    ! protocol: short answers that are written differently were counted as different: its reply does not say which answers mean the same
    ");
    insta::assert_snapshot!(vote(after(5).text(r#"{"groups": [["A", "B"], ["B", "C"]]}"#).end()).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    Paris: 1; the city of Paris: 2; Rome: 3
    asked 1 times
    ! no_majority: the vote decides nothing: no two answers agree
    ! protocol: short answers that are written differently were counted as different: its reply does not say which answers mean the same
    ");
    insta::assert_snapshot!(vote(after(5).text(r#"{"groups": [["A"], ["B"], ["C"]]}"#).end()).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    Paris: 1; the city of Paris: 2; Rome: 3
    asked 1 times
    ! no_majority: the vote decides nothing: no two answers agree
    ");
    insta::assert_snapshot!(vote(hangs()).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    Paris: 1; the city of Paris: 2; Rome: 3
    asked 1 times
    ! no_majority: the vote decides nothing: no two answers agree
    ! timeout: short answers that are written differently were counted as different: its share of the time limit of 20 min was used up
    ");
}

#[tokio::test(start_paused = true)]
async fn two_numbers_or_yes_and_no_are_never_the_same() {
    let all = || after(5).text(r#"{"groups": [["A", "B", "C"]]}"#).end();
    let asks = |question: &str, short: &[&str]| result(asked("vote", short, all()).asks(question, "vote"));
    insta::assert_snapshot!(asks("How many legs has a spider?", &["8", "6", "8.5"]).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    8: 1; 6: 2; 8.5: 3
    asked 0 times
    ! no_majority: the vote decides nothing: no two answers agree
    ");
    insta::assert_snapshot!(asks("How many legs has a spider?", &["8", "eight", "6"]).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    8: 1; Eight: 2; 6: 3
    asked 1 times
    ! no_majority: the vote decides nothing: no two answers agree
    ");
    insta::assert_snapshot!(asks("Is 7 prime?", &["yes", "no", "no"]).await, @"
    2 of 3 answers say `no`
    no: 2 3; yes: 1
    asked 0 times
    ");
    insta::assert_snapshot!(asks("Which is odd?\nA) two\nB) three", &["A", "B", "A"]).await, @"
    2 of 3 answers say `A`
    A: 1 3; B: 2
    asked 0 times
    ");
}

#[tokio::test(start_paused = true)]
async fn who_is_in_a_hurry_waits_neither_for_the_model_nor_for_seats_held_back() {
    let seats = ["Paris", "the city of Paris", "Rome", "Rome"];
    let cascade = |grouper| asked("cascade@first=2", &seats, grouper).hurry_at(100).run();
    insta::assert_snapshot!(cascade(compares(500, SAME)).await.end(), @"
    complete decided at 110, closed at 520
      fused by fuser: `Paris, all in all.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd skipped, 0 requests, ?: unneeded: those asked before it were enough
      4 dan skipped, 0 requests, ?: unneeded: those asked before it were enough
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 grouper answered late, 1 request 500 ms, $0.0010 grouping
    ");
    // The call waits for its turn: it is neither made again and again nor waited for.
    let waiting = cascade(compares(5, SAME).admitted_after(500)).await;
    insta::assert_snapshot!(waiting.end(), @"
    complete decided at 110, closed at 110
      fused by fuser: `Paris, all in all.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd skipped, 0 requests, ?: unneeded: those asked before it were enough
      4 dan skipped, 0 requests, ?: unneeded: those asked before it were enough
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 grouper cancelled, 0 requests, $0.00: cancelled: given up before an answer came grouping
    ");
}

#[tokio::test(start_paused = true)]
async fn a_cascade_asks_the_model_before_it_asks_the_seats_held_back() {
    let cascade =
        |grouper| asked("cascade@first=2", &["Paris", "the city of Paris", "Rome", "Rome"], grouper).run();
    insta::assert_snapshot!(cascade(compares(5, SAME)).await.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `Surely Paris, as I see it.`
    20 answered 2 `Surely the city of Paris, as I see it.` | 20 sent step 1
    25 answered step 1 `{"groups":[["A","B"],["?"]]}` | 25 skipped 3 4 | 25 decided selected
    25 closed $0.0030
    complete decided at 25, closed at 25
      selected by ada from 1: `Surely Paris, as I see it.`
      because both answers say `Paris`, which `grouper` takes for the same as `the city of Paris`, so nothing was fused
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd skipped, 0 requests, ?: unneeded: those asked before it were enough
      4 dan skipped, 0 requests, ?: unneeded: those asked before it were enough
      step 1 grouper answered, 1 request 5 ms, $0.0010 grouping
    "#);
    insta::assert_snapshot!(cascade(compares(5, &[&["Paris"], &["the city of Paris"]])).await.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `Surely Paris, as I see it.`
    20 answered 2 `Surely the city of Paris, as I see it.` | 20 sent step 1
    25 answered step 1 `{"groups":[["A"],["B"]]}` | 25 sent 3 | 25 sent 4
    55 answered 3 `Surely Rome, as I see it.`
    65 answered 4 `Surely Rome, as I see it.` | 65 sent s1
    75 answered s1 `<<answer fe7…` (76) | 75 decided fused
    75 closed $0.0060
    complete decided at 75, closed at 75
      fused by fuser: `Paris, all in all.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 grouper answered, 1 request 5 ms, $0.0010 grouping
    "#);
    insta::assert_snapshot!(cascade(fails(5, failure(Code::Auth))).await.end(), @"
    complete decided at 75, closed at 75
      fused by fuser: `Paris, all in all.`
      because the synthesizer wrote it from the answers without naming the one it started from
      ! auth: short answers that are written differently were counted as different: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 grouper failed, 1 request 5 ms, ~?: auth: scripted auth grouping
    ");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_recorded_while_the_model_is_asked() {
    let seats = [
        ("ada", answers(10, "Paris")),
        ("bob", answers(20, "the city of Paris")),
        ("cyd", answers(30, "Rome")),
        ("dan", answers(10, "Rome")),
        ("fuser", fuses(10, "?", "Paris, all in all.")),
        ("grouper", compares(50, SAME)),
    ];
    let cascade = scenario(seats).asks(WHERE, "cascade@first=3").plan(|plan| {
        plan.wait = Wait::Seats { count: 2 };
    });
    insta::assert_snapshot!(cascade.run().await.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `Surely Paris, as I see it.`
    20 answered 2 `Surely the city of Paris, as I see it.` | 20 sent step 1
    30 answered 3 `Surely Rome, as I see it.`
    70 answered step 1 `{"groups":[["A","B"],["?"]]}` | 70 sent 4 | 70 sent s1
    80 answered s1 `<<answer fe7…` (76) | 80 decided fused
    80 answered 4 `Surely Rome, as I see it.`
    80 closed $0.0060
    complete decided at 80, closed at 80
      fused by fuser: `Paris, all in all.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered late, 1 request 10 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 grouper answered, 1 request 50 ms, $0.0010 grouping
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_asks_nobody_after_the_model() {
    let cascade =
        asked("cascade@first=2", &["Paris", "the city of Paris", "Rome"], compares(500, SAME)).cancel_at(100);
    insta::assert_snapshot!(cascade.run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `Surely Paris, as I see it.`
    20 answered 2 `Surely the city of Paris, as I see it.` | 20 sent step 1
    100 cancelled 3#0 | 100 decided none
    100 cancelled step 1
    100 closed $0.0020
    cancelled decided at 100, closed at 100
      none
      because cancelled: the run was cancelled
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd cancelled, 0 requests, $0.00: cancelled: given up before an answer came
      step 1 grouper cancelled, 1 request 80 ms, ~?: cancelled: given up before an answer came grouping
    ");
}

#[tokio::test(start_paused = true)]
async fn a_gate_closes_only_if_all_mean_the_same() {
    let gate = |short: &[&str], grouper| result(asked("synthesize@gate=on", short, grouper));
    insta::assert_snapshot!(gate(&["Paris", "the city of Paris"], compares(5, &[&["Paris", "the city of Paris"]])).await, @"
    both answers say `Paris`, which `grouper` takes for the same as `the city of Paris`, so nothing was fused
    Paris or the city of Paris: 1 2
    asked 1 times
    ");
    insta::assert_snapshot!(gate(&["Paris", "the city of Paris", "Rome"], compares(5, SAME)).await, @"
    the synthesizer wrote it from the answers without naming the one it started from
    Paris or the city of Paris: 1 2; Rome: 3
    asked 1 times
    ");
    // It cannot close, so nobody is asked.
    insta::assert_snapshot!(gate(&["Paris", "the city of Paris", "none"], compares(5, SAME)).await, @"
    the synthesizer wrote it from the answers without naming the one it started from
    Paris: 1; the city of Paris: 2
    asked 0 times
    ");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_where_nothing_is_counted_or_all_are_equal() {
    let synthesize = asked("synthesize", &["Paris", "the city of Paris"], compares(5, SAME)).planned();
    assert_eq!((synthesize.equivalence, synthesize.steps.len()), (None, 0));
    insta::assert_snapshot!(result(asked("vote", &["Paris", "Paris"], compares(5, SAME))).await, @"
    2 of 2 answers say `Paris`
    Paris: 1 2
    asked 0 times
    ");
    let long = "Paris ".repeat(60);
    insta::assert_snapshot!(result(asked("vote", &["Paris", &long], compares(5, SAME))).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    Paris: 1
    asked 0 times
    ! no_majority: the vote decides nothing: no two answers agree
    ");
}

#[tokio::test(start_paused = true)]
async fn a_vote_of_few_asks_again_when_all_have_answered() {
    let compose = |call: &Call| {
        let shown = prompt(call);
        let same: &[&[&str]] =
            if shown.contains("Lutetia") { &[&["Paris", "Lutetia"]] } else { &[&["Paris"], &["Rome"]] };
        grouped(call, same)
    };
    let grouper = after(5).compose(compose).end();
    let vote = scenario([
        ("ada", answers(10, "Rome")),
        ("bob", answers(20, "Paris")),
        ("cyd", answers(10, "Lutetia")),
        ("grouper", grouper),
        ("grouper", after(5).compose(compose).end()),
    ]);
    insta::assert_snapshot!(result(vote.asks(WHERE, "vote@first=2")).await, @"
    no two answers agree; this is the answer closest to the others, word for word
    Rome: 1; Paris: 2; Lutetia: 3
    asked 2 times
    ! no_majority: the vote decides nothing: no two answers agree
    ");
}

#[tokio::test(start_paused = true)]
async fn what_the_model_said_before_a_crash_is_not_paid_again() {
    let (same, differ): (&[&[&str]], &[&[&str]]) = (SAME, &[&["Paris"], &["the city of Paris"], &["Rome"]]);
    for (strategy, said, expected) in [
        ("synthesize@gate=on", same, "Paris or the city of Paris: 1 2; Rome: 3"),
        ("best-of-n@gate=on", same, "Paris or the city of Paris: 1 2; Rome: 3"),
        ("cascade@first=2", differ, "Paris: 1; the city of Paris: 2; Rome: 3"),
    ] {
        let run = || {
            let run = asked(strategy, &["Paris", "the city of Paris", "Rome"], compares(5, said));
            run.with_models([("grouper", compares(5, said))])
        };
        for result in invariants::never_pays_twice(run).await {
            let outcome = result.run.outcome.as_ref().expect("it is decided");
            // What was asked and never heard of is not asked again, and then they differ.
            let is_lost = result.run.steps.iter().any(|step| step.status == SeatStatus::Unknown);
            assert!(is_lost || agreement(outcome) == expected, "{strategy}: {}", result.end());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_metadata_only_run_reports_no_short_answers() {
    let vote = asked("vote", &["Rome", "Paris", "the city of Paris"], compares(5, SAME));
    let vote = vote.plan(|plan| plan.store = StoreMode::Metadata);
    insta::assert_snapshot!(result(vote).await, @"
    2 of 3 answers say the same
    : 2 3; : 1
    asked 1 times
    ");
}

/// The plan of a vote in which these models may group, each with its price of an output token in nano-dollars, if one is known.
fn planned(equivalence: Equivalence, priced: &[(&str, Option<u32>)]) -> Result<RunPlan, Failure> {
    let model = |&(name, nano): &(&str, Option<u32>)| {
        let price = nano.map(|nano| Price::per_token(PicoUsd(1_000), PicoUsd(i64::from(nano) * 1_000)));
        ModelInfo { price, ..ModelInfo::named(name) }
    };
    let panel: Vec<String> = ["ada", "bob"].map(str::to_owned).to_vec();
    let listed = panel.iter().map(|name| scenario::info(name)).chain(priced.iter().map(model));
    let catalogues = scenario::catalogues(Catalogue::new(listed.collect(), true));
    let own = scenario::providers()[1].clone();
    let defaults = Defaults {
        panel,
        equivalence,
        strategy: "vote".to_owned(),
        prices: PriceBook { own_machines: [own].into(), ..PriceBook::default() },
        ..scenario::defaults()
    };
    let terms = Terms { defaults: &defaults, providers: &scenario::providers(), catalogues: &catalogues };
    RunPlan::resolve(RunRequest::prompt(WHERE), &terms, scenario::identity(1))
}

fn of(names: &[&str]) -> Equivalence {
    Equivalence::CheapestOf(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn by_default_the_cheapest_known_model_of_a_provider_that_is_asked_groups() {
    let named = |equivalence, priced: &[(&str, Option<u32>)]| {
        let plan = planned(equivalence, priced).expect("the plan is valid");
        plan.equivalence.map(|seat| seat.model.to_string())
    };
    let priced = [("lab/a", Some(900)), ("lab/b", Some(300)), ("lab/c", None)];
    assert_eq!(named(of(&["lab/a", "lab/b", "lab/c"]), &priced).as_deref(), Some("lab/b"));
    assert_eq!(named(of(&["lab/c", "lab/gone"]), &priced), None);
    // A model on the own machine costs nothing, but nobody asks there.
    assert_eq!(named(of(&["ollama:qwen", "lab/a"]), &priced).as_deref(), Some("lab/a"));
    assert_eq!(named(Equivalence::Off, &priced), None);
    assert_eq!(named(Equivalence::Model("ollama:qwen".to_owned()), &priced).as_deref(), Some("ollama:qwen"));
}

#[test]
fn the_worst_case_holds_the_call_and_an_unknown_price_is_refused() {
    let priced = [("lab/a", Some(900)), ("lab/c", None)];
    let with = planned(of(&["lab/a"]), &priced).expect("the plan is valid");
    let without = planned(Equivalence::Off, &priced).expect("the plan is valid");
    let call = with.worst_request(CallerSlot::Step(StepNumber(1))).expect("its price is known");
    assert!(call > PicoUsd::ZERO);
    assert_eq!(with.worst_case.known_part(), without.worst_case.known_part().plus(call));
    assert_eq!((with.calls().most, with.rounds()), (3, 2));
    let refused = planned(Equivalence::Model("lab/c".to_owned()), &priced).expect_err("its price is unknown");
    assert_eq!(refused.code, Code::PriceUnknown);
    assert!(refused.message.contains("`lab/c`"), "{}", refused.message);
}

#[test]
fn a_plan_hashes_as_before_unless_a_model_is_named() {
    let hash =
        |equivalence| planned(equivalence, &[("lab/a", Some(9))]).expect("the plan is valid").plan_hash;
    assert_eq!(hash(of(&[])), hash(of(&["lab/a"])));
    let others = [hash(Equivalence::Off), hash(Equivalence::Model("lab/a".to_owned())), hash(of(&[]))];
    assert!(others.iter().enumerate().all(|(at, one)| !others[at + 1..].contains(one)));
}

#[tokio::test(start_paused = true)]
async fn a_stage_of_a_flow_groups_its_own_short_answers() {
    let stage = |name: &str, panel: &[&str], from: &[&str], strategy: &str| FlowStage {
        name: name.to_owned(),
        panel: panel.iter().map(|name| (*name).to_owned()).collect(),
        from: from.iter().map(|name| (*name).to_owned()).collect(),
        strategy: Some(strategy.to_owned()),
        ..FlowStage::default()
    };
    let stages = vec![
        stage("one", &["ada", "bob", "cyd"], &[], "vote"),
        stage("two", &["dan", "eve"], &[], "synthesize@gate=on"),
        stage("end", &[], &["one", "two"], "synthesize"),
    ];
    let defaults = Defaults {
        flow: Some(Flow { name: "it".to_owned(), about: None, stages }),
        synthesizers: vec!["fuser".to_owned()],
        equivalence: Equivalence::Model("grouper".to_owned()),
        ..scenario::defaults()
    };
    let planned = planned_with(RunRequest::prompt(WHERE), &defaults).expect("the flow is valid");
    let short = ["Rome", "Paris", "the city of Paris", "Paris", "the city of Paris"];
    let run = || asked("vote", &short, compares(5, SAME)).plan(|plan| *plan = planned.clone());
    let run = || run().with_models([("grouper", compares(5, &[&["Paris", "the city of Paris"]]))]);
    insta::assert_snapshot!(run().run().await.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4 | 0 sent 5
    10 answered 1 `Surely Rome, as I see it.`
    20 answered 2 `Surely Paris, as I see it.`
    30 answered 3 `Surely the city of Paris, as I see it.`
    40 answered 4 `Surely Paris, as I see it.`
    50 answered 5 `Surely the city of Paris, as I see it.` | 50 sent step 1
    55 answered step 1 `{"groups":[["B","A"],["C"]]}` | 55 stage 1 selected | 55 stage 2 selected
    55 decided selected
    55 closed $0.0060
    complete decided at 55, closed at 55
      selected by bob from 2: `Surely Paris, as I see it.`
      because both answers say the same, so nothing was fused
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan answered, 1 request 40 ms, $0.0010
      5 eve answered, 1 request 50 ms, $0.0010
      step 1 grouper answered, 1 request 5 ms, $0.0010 grouping
    "#);
}

const PLACES: &[&str] = &["Paris", "the city of Paris", "Rome", "PARIS, France", "London", "Roma"];

/// The outcome for these short answers, with a model that makes no errors.
fn chosen(said: &[ScriptedAnswer], seed: u64) -> Outcome {
    let same: &[&[&str]] = &[&["Paris", "the city of Paris", "PARIS, France"], &["Rome", "Roma"]];
    let panel = said.iter().map(|one| (one.model, answers(one.after_ms, one.text)));
    let scenario = scenario(panel.chain([("grouper", compares(5, same))])).asks(WHERE, "vote");
    in_paused_time(scenario.plan(|plan| plan.seed = seed).run()).run.outcome.expect("it is decided")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn order_and_labels_do_not_affect_the_winner(said in shuffled_answers(PLACES), seed in any::<u64>()) {
        let outcome = chosen(&said, seed);
        prop_assert!(outcome.reason.starts_with("3 of 6 answers say"), "{}", outcome.reason);
        let winner = outcome.base_seat.expect("there is one");
        prop_assert!(said[winner.index()].text.to_lowercase().contains("paris"), "{}", outcome.reason);
    }
}
