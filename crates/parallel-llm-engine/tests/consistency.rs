//! Universal self-consistency: a judge picks the answer that the others support most, and it is returned word for
//! word.

use parallel_llm_engine::{Code, Recorded};
use proptest::prelude::*;

use crate::scenario::{Scenario, ScriptedAnswer, in_paused_time, scenario, shuffled_answers};
use crate::script::{Reply, fails, failure, judges, prompt, says};
use crate::{invariants, transcript};

const WHY: &str = "Why is the sky blue?";
/// Distinctive words of the answers, the most supported first.
const MERIT: &[&str] = &["scatters short", "scatters blue", "ozone", "reflects oceans"];
const TEXTS: &[&str] = &[
    "Because ozone is blue by itself.",
    "Because air scatters blue light.",
    "Because air scatters short waves of light.",
    "Because it reflects oceans.",
];

/// Three answers, and these judges in the order of their chain.
fn panel_with_judges(chain: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    let panel = [("ada", says(10, TEXTS[1])), ("bob", says(20, TEXTS[3])), ("cyd", says(30, TEXTS[2]))];
    scenario(panel.into_iter().chain(chain)).asks(WHY, "consistency")
}

#[tokio::test(start_paused = true)]
async fn the_answer_the_others_support_most_wins() {
    let result = panel_with_judges([("fuser", judges(10, MERIT))]).run().await;
    insta::assert_snapshot!(result.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `Because air scatters blue light.`
    20 answered 2 `Because it reflects oceans.`
    30 answered 3 `Because air scatters short waves of light.` | 30 sent step 1
    40 answered step 1 `{"reasons": [], "ranking": ["C", "B", "?", "A"]}` | 40 decided selected
    40 closed $0.0040
    complete decided at 40, closed at 40
      selected by cyd from 3: `Because air scatters short waves of light.`
      because the judge `fuser` put it first
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
    "#);
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: 3 1 2
    flips 0
    ");
    invariants::cost_matches_requests(&result);
    let asked = prompt(&result.asked[3].call);
    assert!(asked.contains("You say which answer the others support most, in substance."), "{asked}");
    assert!(["ada", "bob", "cyd"].iter().all(|name| !asked.contains(name)), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_always_prefers_the_first_label_decides_nothing_in_two_orders() {
    let first = || says(10, r#"{"ranking": ["A", "B", "C"]}"#);
    let result = panel_with_judges([("fuser", first()), ("fuser", first())])
        .asks(WHY, "consistency@orders=2")
        .run()
        .await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 40, closed at 40
      selected by cyd from 3: `Because air scatters short waves of light.`
      because the judge `fuser` put seat 2 first in one order and seat 3 in the other, which is a tie; this one is closer to all the others
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: 2 1 3
    step 2 fuser: 3 1 2
    flips 1
    ");
}

#[tokio::test(start_paused = true)]
async fn the_next_judge_is_asked_if_one_fails() {
    let result =
        panel_with_judges([("fuser-1", fails(5, failure(Code::Auth))), ("fuser-2", judges(10, MERIT))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 45, closed at 45
      selected by cyd from 3: `Because air scatters short waves of light.`
      because the judge `fuser-2` put it first
      ! auth: the judge `fuser-1` failed: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 2 fuser-2 answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn if_every_judge_fails_the_closest_answer_is_returned_verbatim() {
    let result = panel_with_judges([
        ("fuser-1", fails(5, failure(Code::Auth))),
        ("fuser-2", says(10, "All of them.")),
    ]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 45, closed at 45
      verbatim by ada from 1: `Because air scatters blue light.`
      because every judge failed; this is the answer closest to the others, word for word
      ! auth: the judge `fuser-1` failed: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      ! protocol: the judge `fuser-2` failed: its reply names no answer (look at the run)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 2 fuser-2 answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_failed_seat_is_left_out() {
    let panel =
        [("ada", says(10, TEXTS[1])), ("bob", fails(20, failure(Code::Auth))), ("cyd", says(30, TEXTS[2]))];
    let result = scenario(panel.into_iter().chain([("fuser", judges(10, MERIT))])).asks(WHY, "consistency");
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 40, closed at 40
      selected by cyd from 3: `Because air scatters short waves of light.`
      because the judge `fuser` put it first
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob failed, 1 request 20 ms, ~?: auth: scripted auth
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_paid_twice_after_a_crash_between_calls() {
    let scenario = || {
        panel_with_judges([
            ("fuser-1", judges(10, MERIT)),
            ("fuser-1", judges(30, MERIT)),
            ("fuser-2", judges(10, MERIT)),
        ])
        .asks(WHY, "consistency@orders=2")
    };
    for result in invariants::never_pays_twice(scenario).await {
        assert_eq!(result.text(), TEXTS[2], "{}", result.end());
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_judge_is_not_asked_again_after_a_crash_once_the_next_has_begun() {
    let scenario = |first: Reply| {
        let next = [("fuser-2", judges(10, MERIT)), ("fuser-2", judges(500, MERIT))];
        panel_with_judges([("fuser-1", first)].into_iter().chain(next)).asks(WHY, "consistency@orders=2")
    };
    let whole = scenario(fails(5, failure(Code::Auth))).run().await;
    let is_first = |recorded: &Recorded| transcript::short(&recorded.event) == "answered step 3";
    let kept = whole.commits.iter().position(|commit| commit.iter().any(is_first));
    let before = &whole.commits[..=kept.expect("it was committed")];
    let result = scenario(judges(10, MERIT)).after(before).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 45, closed at 45
      selected by cyd from 3: `Because air scatters short waves of light.`
      because the judge `fuser-2` put it first in the only order that came to a verdict
      ! interrupted: the judge `fuser-1` failed: it gave none before the run went on without it (ask again what may have been paid already)
      ! interrupted: the judge gave no verdict in one order: it was asked before and never heard of; it may have been paid, so it was not asked again (make another text of the answers)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 2 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 3 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser-2 unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known judging
    ");
}

#[tokio::test(start_paused = true)]
async fn equal_answers_are_not_compared() {
    let same = [("ada", says(10, "8")), ("bob", says(10, "8 legs")), ("fuser", judges(10, &["8"]))];
    let result = scenario(same).asks("How many legs has a spider?", "consistency").run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 10, closed at 10
      selected by ada from 1: `8`
      because all 2 answers say `8`, so nothing was fused
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
    ");
    assert_eq!((result.asked.len(), transcript::judging(&result.run).as_str()), (2, "nothing was judged"));
}

#[tokio::test(start_paused = true)]
async fn consistency_costs_one_call_per_order_beyond_the_panel() {
    for (seats, strategy, calls) in
        [(3, "consistency", 4), (4, "consistency", 5), (4, "consistency@orders=2", 6)]
    {
        let result = judged_panel(&four_answers()[..seats], judges(10, MERIT), strategy).run().await;
        assert_eq!(result.asked.len(), calls, "{strategy}");
        assert_eq!(result.planned_calls(), calls, "{strategy}");
        invariants::cost_matches_requests(&result);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn names_and_arrival_order_do_not_affect_the_choice(answers in shuffled_answers(TEXTS), two in any::<bool>()) {
        let strategy = if two { "consistency@orders=2" } else { "consistency" };
        let result = in_paused_time(judged_panel(&answers, judges(10, MERIT), strategy).run());
        prop_assert_eq!(result.text(), TEXTS[2]);
    }
}

fn four_answers() -> Vec<ScriptedAnswer> {
    ["ada", "bob", "cyd", "dan"]
        .into_iter()
        .zip(TEXTS)
        .map(|(model, text)| ScriptedAnswer { model, after_ms: 10, text })
        .collect()
}

fn judged_panel(answers: &[ScriptedAnswer], judge: Reply, strategy: &str) -> Scenario {
    let panel = answers.iter().map(ScriptedAnswer::script);
    scenario(panel.chain([("fuser", judge)])).asks(WHY, strategy)
}
