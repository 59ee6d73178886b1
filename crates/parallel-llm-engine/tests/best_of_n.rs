//! Best of N: a judge reads the answers in two orders, or groups those that say the same; what happens if one, both or all of
//! its calls fail.

use parallel_llm_engine::{Code, Recorded, SeatNumber};
use proptest::prelude::*;

use crate::scenario::{Scenario, ScriptedAnswer, in_paused_time, scenario, shuffled_answers};
use crate::script::{Reply, after, fails, failure, groups, judges, label_of, prompt, says};
use crate::{invariants, transcript};

const WHY: &str = "Why is the sky blue?";

/// Three answers, and these judges in the order of their chain.
fn panel_with_judges(chain: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    let panel = [
        ("ada", says(10, "Because the air scatters blue light.")),
        ("bob", says(20, "Because of the sea.")),
        ("cyd", says(30, "Because the air scatters short waves.")),
    ];
    scenario(panel.into_iter().chain(chain)).asks(WHY, "best-of-n")
}

#[tokio::test(start_paused = true)]
async fn the_answer_a_judge_ranks_first_in_both_orders_wins() {
    let result = panel_with_judges([
        ("fuser", judges(10, &["short waves", "blue light", "sea"])),
        ("fuser", judges(20, &["short waves", "sea"])),
    ])
    .run()
    .await;
    insta::assert_snapshot!(result.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 answered 1 `Because the air scatters blue light.`
    20 answered 2 `Because of the sea.`
    30 answered 3 `Because the air scatters short waves.` | 30 sent step 1 | 30 sent step 2
    40 answered step 1 `{"reasons": [], "ranking": ["C", "B", "A"]}`
    50 answered step 2 `{"reasons": [], "ranking": ["A", "C"]}` | 50 decided selected
    50 closed $0.0050
    complete decided at 50, closed at 50
      selected by cyd from 3: `Because the air scatters short waves.`
      because the judge `fuser` put it first in both orders
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 20 ms, $0.0010 judging
    "#);
    let judging = result.run.outcome.and_then(|outcome| outcome.judging).expect("it was judged");
    let rankings: Vec<_> = judging.verdicts.into_iter().map(|verdict| verdict.ranking).collect();
    let seats = |seats: &[u8]| seats.iter().copied().map(SeatNumber).collect::<Vec<_>>();
    assert_eq!((rankings, judging.flips), (vec![seats(&[3, 1, 2]), seats(&[3, 2])], 0));
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_contradicts_itself_leaves_a_tie() {
    let result =
        panel_with_judges([("fuser", judges(10, &["sea"])), ("fuser", judges(20, &["short waves"]))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 50, closed at 50
      selected by cyd from 3: `Because the air scatters short waves.`
      because the judge `fuser` put seat 2 first in one order and seat 3 in the other, which is a tie; this one is closer to all the others
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 20 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_always_prefers_the_first_label_decides_nothing() {
    let first = || says(10, r#"Let me think. {"ranking": ["A", "B", "C"]}"#);
    let result = panel_with_judges([("fuser", first()), ("fuser", first())]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 40, closed at 40
      selected by cyd from 3: `Because the air scatters short waves.`
      because the judge `fuser` put seat 2 first in one order and seat 3 in the other, which is a tie; this one is closer to all the others
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_verdict_from_only_one_order_is_reported() {
    let result = panel_with_judges([
        ("fuser", says(10, "I like them all.")),
        ("fuser", judges(20, &["sea", "blue light"])),
    ]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 50, closed at 50
      selected by bob from 2: `Because of the sea.`
      because the judge `fuser` put it first in the only order that came to a verdict
      ! protocol: the judge gave no verdict in one order: its reply names no answer (look at the run)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 20 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn the_next_judge_is_asked_if_one_fails() {
    let down = || fails(5, failure(Code::Auth));
    let result = panel_with_judges([
        ("fuser-1", down()),
        ("fuser-1", down()),
        ("fuser-2", judges(10, &["sea"])),
        ("fuser-2", judges(10, &["sea"])),
    ]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 45, closed at 45
      selected by bob from 2: `Because of the sea.`
      because the judge `fuser-2` put it first in both orders
      ! auth: the judge `fuser-1` failed: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 2 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 3 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser-2 answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn if_every_judge_fails_the_closest_answer_is_returned_verbatim() {
    let result = panel_with_judges([("fuser", says(10, "No.")), ("fuser", says(10, "[\"A\"]"))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 40, closed at 40
      verbatim by ada from 1: `Because the air scatters blue light.`
      because every judge failed; this is the answer closest to the others, word for word
      ! protocol: the judge `fuser` failed: its reply names no answer (look at the run)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_judge_reports_the_answer_that_tried_to_instruct_it() {
    let wary = || {
        let compose = |call: &_| {
            let label = label_of(call, "sea");
            format!(r#"{{"suspected_injection": ["{label}", "Z"], "ranking": ["{label}"]}}"#)
        };
        after(10).compose(compose).end()
    };
    let result = panel_with_judges([("fuser", wary()), ("fuser", wary())]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 40, closed at 40
      selected by bob from 2: `Because of the sea.`
      because the judge `fuser` put it first in both orders
      ! suspected_injection: the judge suspects that the answer of seat 2 tried to instruct it (read that answer before you rely on the result)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_verdict_from_before_a_crash_is_not_paid_again() {
    let scenario = || panel_with_judges([("fuser", judges(10, &["sea"])), ("fuser", judges(500, &["sea"]))]);
    let whole = scenario().run().await;
    let kept = whole.commits.iter().position(|commit| {
        commit.iter().any(|recorded| crate::transcript::short(&recorded.event) == "answered step 1")
    });
    let result = scenario().after(&whole.commits[..=kept.expect("it was committed")]).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 40, closed at 40
      selected by bob from 2: `Because of the sea.`
      because the judge `fuser` put it first in the only order that came to a verdict
      ! interrupted: the judge gave no verdict in one order: it was asked before and never heard of; it may have been paid, so it was not asked again (make another text of the answers)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known judging
    ");
}

#[tokio::test(start_paused = true)]
async fn equal_answers_are_not_judged() {
    let same = [("ada", says(10, "8")), ("bob", says(10, "8 legs")), ("fuser", judges(10, &["8"]))];
    let result = scenario(same).asks("How many legs has a spider?", "best-of-n@gate=on");
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 10, closed at 10
      selected by ada from 1: `8`
      because both answers say `8`, so nothing was fused
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn judging_in_one_order_costs_one_call() {
    let result = panel_with_judges([("fuser", judges(10, &["sea"]))]).asks(WHY, "best-of-n@orders=1");
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 40, closed at 40
      selected by bob from 2: `Because of the sea.`
      because the judge `fuser` put it first
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

/// Distinctive words of the answers, the most supported first.
const MERIT: &[&str] = &["short waves", "blue light", "sea"];

/// The end and the judgement of a run whose judge replies so in each order.
async fn grouped(strategy: &'static str, replies: impl IntoIterator<Item = Reply>) -> (String, String) {
    let chain = replies.into_iter().map(|reply| ("fuser", reply));
    let result = panel_with_judges(chain).asks(WHY, strategy).run().await;
    let reason = &result.run.outcome.as_ref().expect("it was decided").reason;
    (format!("{}: {reason}", result.text()), transcript::judging(&result.run))
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_largest_group_wins() {
    let result = panel_with_judges([("fuser", groups(10, &[&["sea"], &["short waves", "blue light"]]))]);
    let result = result.asks(WHY, "best-of-n@by=consistency").run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 40, closed at 40
      selected by ada from 1: `Because the air scatters blue light.`
      because the judge `fuser` put 2 of 3 answers into the largest group; of these, this one is closest to all the others
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: 3 1 2, first together 3 1
    flips 0
    ");
    let asked = prompt(&result.asked[3].call);
    assert!(asked.contains("The largest group decides which answer is returned."), "{asked}");
    assert!(["ada", "bob", "cyd"].iter().all(|name| !asked.contains(name)), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn without_a_largest_group_the_answer_closest_to_the_others_wins() {
    let apart = groups(10, &[&["sea"], &["short waves"], &["blue light"]]);
    let (end, judging) = grouped("best-of-n@by=consistency", [apart]).await;
    insta::assert_snapshot!(format!("{end}\n{judging}"), @"
    Because the air scatters blue light.: the judge `fuser` found no group of answers larger than all others; this one is closest to all the others
    step 1 fuser: tie, first together 2 3 1
    flips 0
    ");
}

#[tokio::test(start_paused = true)]
async fn a_judge_may_find_answers_equally_good() {
    let says_of = |form: &'static str| {
        let compose = move |call: &_| {
            let labels =
                ["sea", "short waves", "blue light"].map(|words| format!("{:?}", label_of(call, words)));
            let [sea, short, blue] = labels;
            form.replace("SEA", &sea).replace("SHORT", &short).replace("BLUE", &blue)
        };
        after(10).compose(compose).end()
    };
    let mut all = Vec::new();
    for replies in [
        [r#"{"ranking": [SEA, BLUE, SHORT], "tie": true}"#, r#"{"ranking": "tie"}"#],
        [r#"{"ranking": [[SEA, BLUE], SHORT], "tie": false}"#, r#"{"ranking": [[BLUE, SEA], SHORT]}"#],
        [r#"{"ranking": [[SEA, BLUE], SHORT], "tie": false}"#, r#"{"ranking": [SEA, BLUE, SHORT]}"#],
        [r#"{"ranking": [[SEA, BLUE], SHORT], "tie": false}"#, r#"{"ranking": [SHORT, BLUE]}"#],
        [r#"{"ranking": "tie"}"#, r#"{"ranking": [SEA, SHORT, BLUE]}"#],
    ] {
        let (end, judging) = grouped("best-of-n", replies.map(says_of)).await;
        all.push(format!("{end}\n{judging}"));
    }
    insta::assert_snapshot!(all.join("\n\n"), @"
    Because the air scatters blue light.: the judge `fuser` found 3 answers equally good in both orders; this one is closest to all the others
    step 1 fuser: tie
    step 2 fuser: tie
    flips 0

    Because the air scatters blue light.: the judge `fuser` found 2 answers equally good in both orders; this one is closest to all the others
    step 1 fuser: 2 1 3, first together 2 1
    step 2 fuser: 1 2 3, first together 1 2
    flips 0

    Because of the sea.: the judge `fuser` put it first in both orders
    step 1 fuser: 2 1 3, first together 2 1
    step 2 fuser: 2 1 3
    flips 0

    Because the air scatters blue light.: the judge `fuser` put other answers first in the other order, which is a tie; this one is closest to all the others
    step 1 fuser: 2 1 3, first together 2 1
    step 2 fuser: 3 1
    flips 1

    Because of the sea.: the judge `fuser` put it first in both orders
    step 1 fuser: tie
    step 2 fuser: 2 3 1
    flips 0
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
    };
    for result in invariants::never_pays_twice(scenario).await {
        assert_eq!(result.text(), "Because the air scatters short waves.", "{}", result.end());
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_judge_is_not_asked_again_after_a_crash_once_the_next_has_begun() {
    let scenario = |first: Reply| {
        let next = [("fuser-2", judges(10, MERIT)), ("fuser-2", judges(500, MERIT))];
        panel_with_judges([("fuser-1", first)].into_iter().chain(next))
    };
    let whole = scenario(fails(5, failure(Code::Auth))).run().await;
    let is_first = |recorded: &Recorded| transcript::short(&recorded.event) == "answered step 3";
    let kept = whole.commits.iter().position(|commit| commit.iter().any(is_first));
    let before = &whole.commits[..=kept.expect("it was committed")];
    let result = scenario(judges(10, MERIT)).after(before).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 45, closed at 45
      selected by cyd from 3: `Because the air scatters short waves.`
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn names_and_arrival_order_do_not_affect_the_choice(
        answers in shuffled_answers(&[
            "Because ozone is blue.",
            "Because air scatters blue light.",
            "Because air scatters short waves.",
            "Because of the sea.",
        ]),
        is_of_support in any::<bool>(),
    ) {
        let strategy = if is_of_support { "best-of-n@by=consistency" } else { "best-of-n" };
        let panel = answers.iter().map(ScriptedAnswer::script);
        let judge = if is_of_support { groups(10, &[&["ozone", "blue light"], &["short waves"]]) } else { judges(10, MERIT) };
        let result = scenario(panel.chain([("fuser", judge)])).asks(WHY, strategy);
        let right = if is_of_support { "Because air scatters blue light." } else { "Because air scatters short waves." };
        prop_assert_eq!(in_paused_time(result.run()).text(), right);
    }
}
