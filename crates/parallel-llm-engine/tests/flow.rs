//! Flows: stages that ask models and stages that read the texts of others, planned and executed.

use std::sync::Arc;

use parallel_llm_engine::call::hub::{Hub, Update};
use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::flow::{Flow, FlowStage};
use parallel_llm_engine::run::StageView;
use parallel_llm_engine::{
    CallerSlot, Code, Message, Reopening, Role, RunPlan, RunRequest, RunStatus, SeatNumber, SeatStatus,
};

use crate::invariants::{cost_matches_requests, never_pays_twice};
use crate::scenario::{QUESTION, RunResult, Scenario, defaults, planned_with, scenario};
use crate::script::{Reply, fails, failure, fuses, hangs, judges, says};
use crate::transcript;

/// A stage of this name that asks these models.
fn asking(name: &str, panel: &[&str], strategy: &str) -> FlowStage {
    FlowStage { panel: owned(panel), ..reading(name, &[], strategy) }
}

/// A stage of this name that reads the texts of these stages.
fn reading(name: &str, from: &[&str], strategy: &str) -> FlowStage {
    FlowStage {
        name: name.to_owned(),
        from: owned(from),
        strategy: Some(strategy.to_owned()),
        ..FlowStage::default()
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The settings with a flow of these stages, and with two synthesizers.
fn with_flow(stages: Vec<FlowStage>) -> Defaults {
    let flow = Flow { name: "it".to_owned(), about: None, stages };
    Defaults { flow: Some(flow), synthesizers: owned(&["fuser", "fuser2"]), ..defaults() }
}

/// Three of one model and two of another, each judged, then merged.
fn wish() -> Vec<FlowStage> {
    vec![
        reading("merge", &["a", "b"], "synthesize"),
        asking("a", &["ada*3"], "best-of-n"),
        asking("b", &["bob*2"], "best-of-n"),
    ]
}

fn planned(stages: Vec<FlowStage>) -> RunPlan {
    planned_with(RunRequest::prompt(QUESTION), &with_flow(stages)).expect("the flow is valid")
}

/// The stages of a plan, one a line.
fn stages_of(plan: &RunPlan) -> Vec<String> {
    let flow = plan.flow.as_ref().expect("the plan has a flow");
    let numbers = |numbers: Vec<u8>| numbers.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    let stage = |stage: &parallel_llm_engine::plan::flow::Stage| {
        format!(
            "{}: from [{}] seats [{}] chain [{}] {}",
            stage.name,
            numbers(stage.from.iter().map(|read| read.0).collect()),
            numbers(stage.seats.iter().map(|seat| seat.0).collect()),
            numbers(stage.synthesizers.iter().map(|seat| seat.0).collect()),
            stage.strategy_choice(),
        )
    };
    flow.stages.iter().map(stage).collect()
}

#[test]
fn a_plan_numbers_the_calls_of_all_stages_through() {
    let plan = planned(wish());
    assert_eq!(
        stages_of(&plan),
        [
            "a: from [] seats [1 2 3] chain [5 6] best-of-n",
            "b: from [] seats [4 5] chain [3 4] best-of-n",
            "merge: from [1 2] seats [] chain [1 2] synthesize",
        ]
    );
    assert_eq!(plan.strategy_choice().to_string(), "synthesize");
    assert_eq!(plan.steps.len(), 8);
    assert!(plan.steps.iter().zip(1..).all(|(step, number)| step.number.0 == number));
    let calls = plan.calls();
    assert_eq!((calls.fewest, calls.most, plan.rounds()), (5, 10, 3));
}

#[test]
fn the_rounds_are_those_of_the_longest_way() {
    let rounds = |stages: Vec<FlowStage>| planned(stages).rounds();
    let merged = |stage: FlowStage| {
        vec![stage, asking("other", &["bob"], "synthesize"), reading("end", &["it", "other"], "vote")]
    };
    for (strategy, expected) in [
        ("synthesize", 2),
        ("synthesize@analysis=separate", 3),
        ("vote", 1),
        ("best-of-n@by=check", 1),
        ("best-of-n@by=pairs", 4),
        ("best-of-n@by=league", 2),
        ("best-of-n@by=consistency", 2),
        ("council", 3),
        ("moa@layers=3", 4),
    ] {
        assert_eq!(rounds(merged(asking("it", &["ada*5"], strategy))), expected, "{strategy}");
    }
    assert_eq!(rounds(merged(asking("it", &["ada"], "best-of-n"))), 1);
}

#[test]
fn the_worst_case_counts_texts_with_their_caps() {
    let two = |cap: Option<u32>| {
        let editor = FlowStage { max_tokens: cap, ..asking("a", &["ada*2"], "synthesize") };
        planned(vec![editor, asking("b", &["bob"], "synthesize"), reading("end", &["a", "b"], "synthesize")])
    };
    // Three seats, two texts of at most 1,000 tokens.
    let [seats, texts] = [3, 2].map(|calls| calls * 10_000_000 * 1_000);
    let size = two(None).size();
    let read = i64::try_from(3 * size.tokens + 2 * size.framed(2) + 2 * 2_000).unwrap() * 1_000_000;
    assert_eq!(two(None).worst_case.known_part().0, seats + texts + read);
    // A stage that may write more makes the input of its reader longer.
    let more = (2 + 1) * 10_000_000 * 1_000 + (2 * 1_000 + 1_000) * 1_000_000;
    assert_eq!(two(Some(2_000)).worst_case.known_part().0, seats + texts + read + more);
}

#[test]
fn a_flow_of_one_stage_is_a_preset() {
    let stage = FlowStage {
        synthesizer: Some(owned(&["fuser2"])),
        temperature: Some(0.5),
        max_tokens: Some(300),
        ..asking("answer", &["ada", "bob*2"], "vote@first=2")
    };
    let preset = Defaults {
        panel: owned(&["ada", "bob*2"]),
        synthesizers: owned(&["fuser2"]),
        strategy: "vote@first=2".to_owned(),
        max_tokens: 300,
        ..defaults()
    };
    let by_preset = RunRequest { temperature: Some(0.5), ..RunRequest::prompt(QUESTION) };
    let by_preset = planned_with(by_preset, &preset).expect("it is valid");
    assert_eq!(planned(vec![stage]), by_preset);
    assert_eq!(by_preset.flow, None);
}

#[test]
fn the_hash_of_a_question_depends_on_the_stages_alone() {
    let hash = |defaults: &Defaults| {
        planned_with(RunRequest::prompt(QUESTION), defaults).expect("it is valid").plan_hash
    };
    let own = hash(&with_flow(wish()));
    let renamed = Flow { name: "other".into(), about: Some("It.".into()), stages: wish() };
    assert_eq!(hash(&Defaults { flow: Some(renamed), ..with_flow(wish()) }), own);
    assert_eq!(hash(&Defaults { panel: owned(&["zoe"]), strategy: "vote".into(), ..with_flow(wish()) }), own);
    let mut other = wish();
    other[1].max_tokens = Some(9);
    assert_ne!(hash(&with_flow(other)), own);
}

#[test]
fn a_request_leaves_to_the_flow_what_it_decides() {
    let refused = |request: RunRequest| {
        let failure = planned_with(request, &with_flow(wish())).expect_err("it is refused");
        assert_eq!(failure.code, Code::Usage);
        format!("{}; {}", failure.message, failure.next_step())
    };
    let question = || RunRequest::prompt(QUESTION);
    assert_eq!(
        refused(RunRequest { models: Some(owned(&["ada"])), ..question() }),
        "the stages of the flow `it` name their models themselves; leave `models` out"
    );
    assert_eq!(
        refused(RunRequest { strategy: Some("vote".into()), ..question() }),
        "the stages of the flow `it` name their strategy themselves; leave `strategy` out"
    );
    let by_hand = RunRequest { synthesizer: Some("ada".into()), max_tokens: Some(77), ..question() };
    let plan = planned_with(by_hand, &with_flow(wish())).expect("it is valid");
    let chain: Vec<&str> = plan.synthesizers.iter().map(|seat| seat.model.model.as_str()).collect();
    assert_eq!(chain, ["ada", "fuser", "fuser2", "fuser", "fuser2", "fuser", "fuser2"]);
    assert!(plan.seats.iter().chain(&plan.synthesizers).all(|seat| seat.max_tokens == 77));
}

/// The stage with this synthesizer.
fn by(synthesizer: &str, stage: FlowStage) -> FlowStage {
    FlowStage { synthesizer: Some(owned(&[synthesizer])), ..stage }
}

/// The replies of the wish: each model answers differently, and each stage has a synthesizer of its own.
fn wish_replies() -> Vec<(&'static str, Reply)> {
    vec![
        ("ada", says(10, "The moon pulls the sea.")),
        ("ada", says(20, "The moon pulls.")),
        ("ada", says(30, "Wind makes tides.")),
        ("bob", says(40, "Moon and sun pull.")),
        ("bob", says(50, "Only the sun pulls.")),
        ("fuser-a", judges(10, &["The moon pulls the sea", "Wind"])),
        ("fuser-a", judges(20, &["The moon pulls the sea", "Wind"])),
        ("fuser-b", judges(100, &["Moon and sun", "Only"])),
        ("fuser-b", judges(110, &["Moon and sun", "Only"])),
        ("fuser", fuses(10, "Moon and sun", "Moon and sun pull the sea.")),
    ]
}

fn judged_wish() -> Vec<FlowStage> {
    let [merge, a, b] = wish().try_into().expect("it has three stages");
    vec![by("fuser", merge), by("fuser-a", a), by("fuser-b", b)]
}

/// What each stage of a run came to before the last one.
fn stages_at_the_end(result: &RunResult) -> String {
    let stage = |stage: &StageView| {
        let text =
            stage.outcome.as_ref().map(|outcome| outcome.text.as_deref().unwrap_or("no text").to_owned());
        let at = stage.decided_ms.map(|ms| format!(" at {ms}")).unwrap_or_default();
        format!("{}{at}: {}", stage.name, text.unwrap_or("undecided".to_owned()))
    };
    result.run.stages.iter().map(stage).collect::<Vec<_>>().join("\n")
}

fn scenario_of(stages: Vec<FlowStage>, replies: Vec<(&'static str, Reply)>) -> Scenario {
    scenario(replies).with_settings(&with_flow(stages))
}

#[tokio::test(start_paused = true)]
async fn three_of_one_and_two_of_another_are_judged_and_merged() {
    let result = scenario_of(judged_wish(), wish_replies()).run().await;
    insta::assert_snapshot!(result.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4 | 0 sent 5
    10 answered 1 `The moon pulls the sea.`
    20 answered 2 `The moon pulls.`
    30 answered 3 `Wind makes tides.`
    40 answered 4 `Moon and sun pull.`
    50 answered 5 `Only the sun pulls.` | 50 sent step 1 | 50 sent step 2
    50 sent step 3 | 50 sent step 4
    60 answered step 1 `{"reasons": [], "ranking": ["B", "C"]}`
    70 answered step 2 `{"reasons": [], "ranking": ["B", "A"]}` | 70 stage 1 selected
    150 answered step 3 `{"reasons": [], "ranking": ["A", "B"]}`
    160 answered step 4 `{"reasons": [], "ranking": ["B", "A"]}` | 160 stage 2 selected | 160 sent s1
    170 answered s1 `<<answer fe7…` (84) | 170 decided fused
    170 closed $0.010
    complete decided at 170, closed at 170
      fused by fuser from 4: `Moon and sun pull the sea.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.333 for $0.0010 in 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 ada answered, 1 request 20 ms, $0.0010
      3 ada answered, 1 request 30 ms, $0.0010
      4 bob answered, 1 request 40 ms, $0.0010
      5 bob answered, 1 request 50 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      step 1 fuser-a answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser-a answered, 1 request 20 ms, $0.0010 judging
      step 3 fuser-b answered, 1 request 100 ms, $0.0010 judging
      step 4 fuser-b answered, 1 request 110 ms, $0.0010 judging
    "#);
    let outcome = result.run.outcome.clone().expect("it has an outcome");
    assert_eq!(outcome.base_stage.map(|stage| stage.0), Some(2));
    assert_eq!(outcome.considered.len(), 5);
    insta::assert_snapshot!(stages_at_the_end(&result), @"
    a at 70: The moon pulls the sea.
    b at 160: Moon and sun pull.
    merge: undecided
    ");
    // The cost is within the worst case, and every call was planned.
    cost_matches_requests(&result);
    assert_eq!(result.asked.len(), result.planned_calls());
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_flow_is_paid_twice() {
    for resumed in never_pays_twice(|| scenario_of(judged_wish(), wish_replies())).await {
        let is_lost = resumed.run.synthesizers[0].status == SeatStatus::Unknown;
        let expected = if is_lost { "The moon pulls the sea." } else { "Moon and sun pull the sea." };
        assert_eq!(resumed.text(), expected, "{}", resumed.end());
    }
}

/// Two stages of two models each, and a stage that reads both.
fn two_sides(strategy: &str, end: &str) -> Vec<FlowStage> {
    vec![
        by("fuser-a", asking("a", &["ada", "abe"], strategy)),
        by("fuser-b", asking("b", &["bob", "ben"], strategy)),
        by("fuser", reading("end", &["a", "b"], end)),
    ]
}

/// Replies for [`two_sides`], with these of its last synthesizer.
fn two_sides_replies(last: impl IntoIterator<Item = Reply>) -> Vec<(&'static str, Reply)> {
    let mut replies = vec![
        ("ada", says(10, "The moon pulls the sea.")),
        ("abe", says(20, "Gravity of the moon.")),
        ("bob", says(10, "The sun pulls, too.")),
        ("ben", says(20, "Sun and moon.")),
        ("fuser-a", fuses(30, "moon pulls", "The moon's gravity pulls the sea.")),
        ("fuser-b", fuses(10, "Sun and", "Sun and moon pull.")),
    ];
    replies.extend(last.into_iter().map(|reply| ("fuser", reply)));
    replies
}

#[tokio::test(start_paused = true)]
async fn a_stage_without_an_answer_is_left_out_and_named() {
    let mut replies = two_sides_replies([hangs()]);
    replies[0].1 = fails(10, failure(Code::Auth));
    replies[1].1 = fails(20, failure(Code::Auth));
    let result = scenario_of(two_sides("synthesize", "synthesize"), replies).run().await;
    insta::assert_snapshot!(result.end(), @"
    partial decided at 30, closed at 30
      verbatim by fuser-b from 4: `Sun and moon pull.`
      because only one answer came, so there was nothing to fuse
      ! all_failed: the stage `a` gave no text: no model of it answered (read the reason of each model)
      1 ada failed, 1 request 10 ms, ~?: auth: scripted auth
      2 abe failed, 1 request 20 ms, ~?: auth: scripted auth
      3 bob answered, 1 request 10 ms, $0.0010
      4 ben answered, 1 request 20 ms, $0.0010
      s2 fuser-b answered, 1 request 10 ms, $0.0010
    ");
    assert_eq!(stages_at_the_end(&result), "a at 20: no text\nb at 30: Sun and moon pull.\nend: undecided");
}

#[tokio::test(start_paused = true)]
async fn if_nothing_can_be_written_the_best_text_is_returned() {
    let down = || fails(5, failure(Code::Auth));
    let mut replies = two_sides_replies([down()]);
    replies[4].1 = down();
    let result = scenario_of(two_sides("synthesize", "synthesize"), replies).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 35, closed at 35
      verbatim by ada from 1: `The moon pulls the sea.`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! auth: stage `a`: the synthesizer `fuser-a` failed: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      ! auth: the stage `a` fell back to one answer: every synthesizer failed (check that the key is current and belongs to this provider, or ask another model)
      ! auth: the synthesizer `fuser` failed: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 abe answered, 1 request 20 ms, $0.0010
      3 bob answered, 1 request 10 ms, $0.0010
      4 ben answered, 1 request 20 ms, $0.0010
      s1 fuser failed, 1 request 5 ms, ~?: auth: scripted auth
      s2 fuser-b answered, 1 request 10 ms, $0.0010
      s3 fuser-a failed, 1 request 5 ms, ~?: auth: scripted auth
    ");
}

#[tokio::test(start_paused = true)]
async fn a_judge_selects_among_texts() {
    let judge = || judges(10, &["Sun and moon pull", "gravity"]);
    let replies = two_sides_replies([judge(), judge()]);
    let result = scenario_of(two_sides("synthesize", "best-of-n"), replies).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 60, closed at 60
      selected by fuser-b from 4: `Sun and moon pull.`
      because the judge `fuser` put it first in both orders
      1 ada answered, 1 request 10 ms, $0.0010
      2 abe answered, 1 request 20 ms, $0.0010
      3 bob answered, 1 request 10 ms, $0.0010
      4 ben answered, 1 request 20 ms, $0.0010
      s2 fuser-b answered, 1 request 10 ms, $0.0010
      s3 fuser-a answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: 4 1
    step 2 fuser: 4 1
    flips 0
    ");
    let outcome = result.run.outcome.expect("it has an outcome");
    assert_eq!(
        (outcome.base_stage.map(|stage| stage.0), outcome.base_seat.map(|seat| seat.0)),
        (Some(2), Some(4))
    );
}

#[tokio::test(start_paused = true)]
async fn texts_are_listed_under_the_names_of_their_stages() {
    let replies = two_sides_replies([]);
    let mut stages = two_sides("synthesize", "panel");
    stages[2].synthesizer = None;
    let result = scenario_of(stages, replies).run().await;
    assert_eq!(result.text(), "# a\n\nThe moon's gravity pulls the sea.\n\n# b\n\nSun and moon pull.");
}

#[tokio::test(start_paused = true)]
async fn agreement_saves_the_calls_of_a_stage() {
    let agreed = [("ada", "8"), ("abe", "It has 8 legs."), ("bob", "6"), ("ben", "8")];
    let mut replies: Vec<_> = agreed.map(|(name, text)| (name, says(10, text))).to_vec();
    let judge = || judges(10, &["8", "6"]);
    replies.extend([("fuser-a", hangs()), ("fuser-b", judge()), ("fuser-b", judge()), ("fuser", hangs())]);
    let mut scenario = scenario_of(two_sides("best-of-n@gate=on", "vote"), replies);
    scenario = scenario.plan(|plan| {
        plan.messages = [Message::text(Role::User, "How many legs has a spider?")].into();
        plan.seats.iter_mut().for_each(|seat| seat.asks_line = true);
    });
    let result = scenario.run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 20, closed at 20
      selected by ada from 1: `8`
      because 2 of 2 answers say the same
      1 ada answered, 1 request 10 ms, $0.0010
      2 abe answered, 1 request 10 ms, $0.0010
      3 bob answered, 1 request 10 ms, $0.0010
      4 ben answered, 1 request 10 ms, $0.0010
      step 3 fuser-b answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser-b answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn each_stage_waits_for_its_own_answers() {
    let mut replies = two_sides_replies([fuses(10, "gravity", "Both.")]);
    // One stage has all answers long before the other has its first.
    replies[2].1 = says(200_000, "The sun pulls, too.");
    replies[3].1 = says(210_000, "Sun and moon.");
    let result = scenario_of(two_sides("synthesize", "synthesize"), replies).run().await;
    assert!(result.run.seats.iter().all(|seat| !seat.late), "{}", result.end());
    assert_eq!(result.run.decided_ms, Some(210_000 + 30 + 10));
}

#[tokio::test(start_paused = true)]
async fn a_stage_leaves_time_to_those_after_it() {
    let mut replies = two_sides_replies([fuses(10, "Sun and moon pull", "Both pull.")]);
    replies[4].1 = hangs();
    let scenario = scenario_of(two_sides("synthesize", "synthesize"), replies);
    let result = scenario.plan(|plan| plan.timers.run_ms = 60_000).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30020, closed at 30020
      fused by fuser from 4: `Both pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.6 for $0.0010 in 10 ms
      ! timeout: stage `a`: the synthesizer `fuser-a` failed: its share of the time limit of 1 min was used up (raise the deadline, or raise the setting `run_timeout_ms` (now 60000))
      ! timeout: the stage `a` fell back to one answer: its share of the time limit of 1 min was used up before the synthesizer was done (raise the deadline, or raise the setting `run_timeout_ms` (now 60000))
      1 ada answered, 1 request 10 ms, $0.0010
      2 abe answered, 1 request 20 ms, $0.0010
      3 bob answered, 1 request 10 ms, $0.0010
      4 ben answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      s2 fuser-b answered, 1 request 10 ms, $0.0010
      s3 fuser-a failed, 1 request 29990 ms, ~?: timeout: its share of the time limit of 1 min was used up (raise the deadline, or raise the setting `run_timeout_ms` (now 60000))
    ");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_flow_keeps_what_it_has() {
    for (at_ms, stages) in
        [(25, "a: undecided\nb: undecided"), (35, "a: undecided\nb at 30: Sun and moon pull.")]
    {
        let replies = two_sides_replies([hangs()]);
        let result = scenario_of(two_sides("synthesize", "synthesize"), replies).cancel_at(at_ms).run().await;
        assert_eq!(result.run.status, RunStatus::Cancelled, "{}", result.end());
        assert_eq!(stages_at_the_end(&result), format!("{stages}\nend: undecided"));
        let at_the_end = || two_sides_replies([fuses(10, "gravity", "Both pull.")]);
        let resumed = scenario_of(two_sides("synthesize", "synthesize"), at_the_end())
            .after(&result.commits)
            .reopened(|run| Reopening::resume(&run.plan, Vec::new()))
            .run()
            .await;
        assert_eq!(resumed.run.status, RunStatus::Complete, "{}", resumed.end());
        // Its stages go on, and those that were decided are not made again.
        let of_b = resumed.asked.iter().filter(|sent| sent.call.model.model == "fuser-b").count();
        assert_eq!(
            (resumed.text(), of_b),
            ("Both pull.".to_owned(), usize::from(at_ms == 25)),
            "{}",
            resumed.end()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_further_part_makes_one_text_of_all_answers() {
    let replies = || {
        let mut replies = two_sides_replies([fuses(10, "gravity", "Both pull.")]);
        replies[3].1 = fails(20, failure(Code::Auth));
        replies
    };
    let first = scenario_of(two_sides("synthesize", "synthesize"), replies()).run().await;
    assert_eq!(first.run.status, RunStatus::Partial);
    let mut second = two_sides_replies([fuses(10, "too", "All pull.")]);
    second[3].1 = says(20, "Sun and moon.");
    let result = scenario_of(two_sides("synthesize", "synthesize"), second)
        .after(&first.commits)
        .reopened(|run| Reopening::again(&run.plan, vec![SeatNumber(4)], run.chain()).expect("there is room"))
        .run()
        .await;
    let warnings = result.run.warnings();
    assert_eq!(
        warnings[0].message,
        "the stages of the flow `it` are not repeated; this text is made of all answers"
    );
    insta::assert_snapshot!(result.end(), @"
    complete decided at 90, closed at 90
      fused by fuser from 3: `All pull.`
      because the synthesizer started from one answer and patched it from the others
      edited 0.8 for $0.0010 in 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 abe answered, 1 request 20 ms, $0.0010
      3 bob answered, 1 request 10 ms, $0.0010
      4 ben answered, 2 requests 80 ms, ~$0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
      s3 fuser-a answered, 1 request 30 ms, $0.0010
      s4 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_text_that_is_read_is_not_shown_while_it_is_written() {
    let replies = two_sides_replies([fuses(10, "gravity", "Both pull.")]);
    let watching = async |hub: Arc<Hub>| {
        let (run, mut watch) = hub.watch();
        let (mut run, mut shown) = (run, String::new());
        while !run.closed {
            match watch.next().await {
                Update::Event(recorded) => run.apply(&recorded),
                Update::Text { slot: CallerSlot::Synthesizer(number), text, .. } => {
                    shown.push_str(&format!("s{number} {text}"));
                }
                Update::Snapshot(snapshot) => run = *snapshot,
                Update::Text { .. } | Update::Begun(_) => {}
            }
        }
        shown
    };
    let scenario = scenario_of(two_sides("synthesize", "synthesize"), replies);
    let (result, shown) = scenario.run_with_watcher(watching).await;
    assert_eq!(shown, "s1 Both pull.");
    assert_eq!(result.text(), "Both pull.");
}
