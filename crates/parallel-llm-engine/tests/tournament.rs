//! Tournaments: a judge compares answers in pairs, in knockout rounds or all against all.

use parallel_llm_engine::plan::{Defaults, RunPlan, Terms};
use parallel_llm_engine::{Catalogue, Code, Recorded, Reopening, Run, RunRequest};
use proptest::prelude::*;

use crate::scenario::{
    Scenario, ScriptedAnswer, catalogues, defaults, identity, in_paused_time, providers, scenario,
    shuffled_answers,
};
use crate::script::{Reply, after, fails, failure, judges, label_of, prompt, says};
use crate::{invariants, transcript};

const WHY: &str = "Why is the sky blue?";
/// Distinctive words of the answers, the best first.
const MERIT: &[&str] = &["short waves", "scatters blue", "ozone", "reflects oceans", "it is painted"];
const TEXTS: &[&str] = &[
    "Because it reflects oceans.",
    "Because air scatters blue light.",
    "Because air scatters short waves of light.",
    "Because ozone is blue by itself.",
    "Nobody knows; it is painted.",
];
/// The answer closest to all others.
const CLOSEST: &str = TEXTS[1];
const STRATEGIES: [&str; 4] = [
    "best-of-n@by=pairs",
    "best-of-n@by=league",
    "best-of-n@by=pairs,orders=1",
    "best-of-n@by=league,orders=1",
];

/// The first `seats` answers, and these judges in the order of their chain.
fn panel_with_judges(
    seats: usize,
    strategy: &str,
    chain: impl IntoIterator<Item = (&'static str, Reply)>,
) -> Scenario {
    tournament_of(&five_answers()[..seats], strategy, chain)
}

fn five_answers() -> Vec<ScriptedAnswer> {
    let names = ["ada", "bob", "cyd", "dan", "eve"];
    names.into_iter().zip(TEXTS).map(|(model, text)| ScriptedAnswer { model, after_ms: 10, text }).collect()
}

fn tournament_of(
    answers: &[ScriptedAnswer],
    strategy: &str,
    chain: impl IntoIterator<Item = (&'static str, Reply)>,
) -> Scenario {
    let panel = answers.iter().map(ScriptedAnswer::script);
    scenario(panel.chain(chain)).asks(WHY, strategy)
}

/// A judge that prefers the first label.
fn judge_of_first_label() -> Reply {
    says(10, r#"{"ranking": ["A", "B"]}"#)
}

/// A judge that ranks by [`MERIT`], but replies `instead` to every match of the answer containing `words`.
fn all_but(words: &'static str, instead: &'static str) -> Reply {
    let rank = move |call: &_| {
        if prompt(call).contains(words) {
            return instead.to_owned();
        }
        let labels: Vec<String> = MERIT.iter().map(|words| format!("{:?}", label_of(call, words))).collect();
        format!(r#"{{"ranking": [{}]}}"#, labels.join(", "))
    };
    after(10).compose(rank).end()
}

#[tokio::test(start_paused = true)]
async fn a_knockout_goes_in_rounds() {
    let result = panel_with_judges(5, "best-of-n@by=pairs", [("fuser", judges(10, MERIT))]).run().await;
    insta::assert_snapshot!(result.transcript(), @r#"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4 | 0 sent 5
    10 answered 1 `Because it reflects oceans.` | 10 answered 2 `Because air scatters blue light.` | 10 answered 3 `Because air scatters short waves of light.` | 10 answered 4 `Because ozone is blue by itself.` | 10 answered 5 `Nobody knows; it is painted.` | 10 sent step 1 | 10 sent step 2 | 10 sent step 3 | 10 sent step 4
    20 answered step 1 `{"reasons": …` (53)
    20 answered step 2 `{"reasons": …` (53)
    20 answered step 3 `{"reasons": …` (53)
    20 answered step 4 `{"reasons": …` (53) | 20 sent step 5 | 20 sent step 6
    30 answered step 5 `{"reasons": …` (53)
    30 answered step 6 `{"reasons": …` (53) | 30 sent step 7 | 30 sent step 8
    40 answered step 7 `{"reasons": …` (53)
    40 answered step 8 `{"reasons": …` (53) | 40 decided selected
    40 closed $0.013
    complete decided at 40, closed at 40
      selected by cyd from 3: `Because air scatters short waves of light.`
      because judged by `fuser`, it won the knockout of 5 answers
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 10 ms, $0.0010
      5 eve answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser answered, 1 request 10 ms, $0.0010 judging
      step 6 fuser answered, 1 request 10 ms, $0.0010 judging
      step 7 fuser answered, 1 request 10 ms, $0.0010 judging
      step 8 fuser answered, 1 request 10 ms, $0.0010 judging
    "#);
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: 4 1
    step 2 fuser: 4 1
    step 3 fuser: 3 2
    step 4 fuser: 3 2
    step 5 fuser: 4 5
    step 6 fuser: 4 5
    step 7 fuser: 3 4
    step 8 fuser: 3 4
    flips 0
    ");
    invariants::cost_matches_requests(&result);
    let asked = prompt(&result.asked[5].call);
    assert!(asked.contains("You judge two candidates, "), "{asked}");
    assert_eq!(asked.matches("<<candidate ").count(), 2, "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_league_judges_all_pairs_at_once() {
    let result = panel_with_judges(3, "best-of-n@by=league", [("fuser", judges(10, MERIT))]).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 20, closed at 20
      selected by cyd from 3: `Because air scatters short waves of light.`
      because judged by `fuser`, it has the most points of the league, 2 of 2
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser answered, 1 request 10 ms, $0.0010 judging
      step 6 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: 3 2
    step 2 fuser: 3 2
    step 3 fuser: 2 1
    step 4 fuser: 2 1
    step 5 fuser: 3 1
    step 6 fuser: 3 1
    flips 0
    ");
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_always_prefers_the_first_label_decides_nothing() {
    let result = panel_with_judges(3, "best-of-n@by=pairs", [("fuser", judge_of_first_label())]).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      selected by bob from 2: `Because air scatters blue light.`
      because judged by `fuser`, it won the knockout of 3 answers; 2 matches were ties and went to the answers closer to all the others
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: 2 3
    step 2 fuser: 3 2
    step 3 fuser: 1 2
    step 4 fuser: 2 1
    flips 2
    ");
    let result = panel_with_judges(3, "best-of-n@by=league", [("fuser", judge_of_first_label())]).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 20, closed at 20
      selected by bob from 2: `Because air scatters blue light.`
      because judged by `fuser`, of the 3 answers that have the most points of the league, 1 of 2, it is closest to all the others
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser answered, 1 request 10 ms, $0.0010 judging
      step 6 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_match_whose_judge_finds_neither_better_is_a_tie() {
    let even = |strategy: &'static str| {
        let chain = [("fuser", says(10, r#"{"requirements": [], "ranking": ["A", "B"], "tie": true}"#))];
        panel_with_judges(3, strategy, chain).run()
    };
    let result = even("best-of-n@by=pairs").await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      selected by bob from 2: `Because air scatters blue light.`
      because judged by `fuser`, it won the knockout of 3 answers; 2 matches were ties and went to the answers closer to all the others
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser: tie
    step 2 fuser: tie
    step 3 fuser: tie
    step 4 fuser: tie
    flips 0
    ");
    assert_eq!(even("best-of-n@by=league").await.text(), CLOSEST);
    // A tie in one order and a winner in the other are one, too.
    let half = all_but("<<candidate A", r#"{"ranking": ["tie"]}"#);
    assert_eq!(panel_with_judges(3, "best-of-n@by=pairs", [("fuser", half)]).run().await.text(), CLOSEST);
}

#[tokio::test(start_paused = true)]
async fn a_match_without_a_verdict_goes_to_the_next_judge() {
    let chain = [("fuser-1", all_but("ozone", "I cannot say.")), ("fuser-2", judges(10, MERIT))];
    let result = panel_with_judges(4, "best-of-n@by=pairs", chain).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 50, closed at 50
      selected by cyd from 3: `Because air scatters short waves of light.`
      because judged by `fuser-1` and `fuser-2`, it won the knockout of 4 answers
      ! protocol: the judge `fuser-1` gave no verdict in 4 calls: its reply names no answer (look at the run)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 10 ms, $0.0010
      step 1 fuser-1 answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser-1 answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser-1 answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser-1 answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser-1 answered, 1 request 10 ms, $0.0010 judging
      step 6 fuser-1 answered, 1 request 10 ms, $0.0010 judging
      step 9 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 10 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 11 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 12 fuser-2 answered, 1 request 10 ms, $0.0010 judging
    ");
    insta::assert_snapshot!(transcript::judging(&result.run), @"
    step 1 fuser-1: 3 2
    step 2 fuser-1: 3 2
    step 9 fuser-2: 4 1
    step 10 fuser-2: 4 1
    step 11 fuser-2: 3 4
    step 12 fuser-2: 3 4
    flips 0
    ");
}

#[tokio::test(start_paused = true)]
async fn a_match_no_judge_decides_is_a_tie() {
    let result = panel_with_judges(4, "best-of-n@by=pairs", [("fuser", all_but("ozone", "{}"))]).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      selected by cyd from 3: `Because air scatters short waves of light.`
      because judged by `fuser`, it won the knockout of 4 answers; 2 matches were ties and went to the answers closer to all the others
      ! protocol: the judge `fuser` gave no verdict in 4 calls: its reply names no answer (look at the run)
      ! protocol: 2 of 3 matches had no verdict and count as ties (name another synthesizer)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser answered, 1 request 10 ms, $0.0010 judging
      step 6 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_fails_in_a_whole_round_is_not_asked_again() {
    let chain = [("fuser-1", fails(5, failure(Code::Auth))), ("fuser-2", judges(10, MERIT))];
    let result = panel_with_judges(4, "best-of-n@by=pairs", chain).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 35, closed at 35
      selected by cyd from 3: `Because air scatters short waves of light.`
      because judged by `fuser-2`, it won the knockout of 4 answers
      ! auth: the judge `fuser-1` gave no verdict in 4 calls: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 10 ms, $0.0010
      step 1 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 2 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 3 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 4 fuser-1 failed, 1 request 5 ms, ~?: auth: scripted auth judging
      step 7 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 8 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 9 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 10 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 11 fuser-2 answered, 1 request 10 ms, $0.0010 judging
      step 12 fuser-2 answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_verdict_from_only_one_order_decides_and_is_reported() {
    let chain = [("fuser", says(10, "Both.")), ("fuser", judges(10, MERIT))];
    insta::assert_snapshot!(panel_with_judges(2, "best-of-n@by=pairs", chain).run().await.end(), @"
    complete decided at 20, closed at 20
      selected by bob from 2: `Because air scatters blue light.`
      because judged by `fuser`, it won the knockout of 2 answers
      ! protocol: the judge `fuser` gave no verdict in one call: its reply names no answer (look at the run)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn if_no_match_has_a_verdict_the_closest_answer_is_returned_verbatim() {
    let result = panel_with_judges(3, "best-of-n@by=pairs", [("fuser", says(10, "Both."))]).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 20, closed at 20
      verbatim by bob from 2: `Because air scatters blue light.`
      because every judge failed; this is the answer closest to the others, word for word
      ! protocol: the judge `fuser` gave no verdict in 2 calls: its reply names no answer (look at the run)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    let result = panel_with_judges(2, "best-of-n@by=league", []).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 10, closed at 10
      verbatim by ada from 1: `Because it reflects oceans.`
      because no judge is configured; this is the answer closest to the others, word for word
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn equal_answers_do_not_meet() {
    let same = [
        ("ada", says(10, "Paris.")),
        ("bob", says(10, "Paris.\n")),
        ("cyd", says(10, "Rome")),
        ("fuser", judges(10, &["Rome", "aris"])),
    ];
    let result = scenario(same.clone()).asks("Where?", "best-of-n@by=league,orders=1").run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 20, closed at 20
      selected by cyd from 3: `Rome`
      because judged by `fuser`, it has the most points of the league, 2 of 2
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
    let result =
        scenario(same[..2].iter().cloned()).asks("Where?", "best-of-n@by=pairs,gate=off").run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 10, closed at 10
      selected by ada from 1: `Paris.`
      because both answers say the same, so nothing was fused
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_judged_if_all_answers_are_equal() {
    let same = [("ada", says(10, "8")), ("bob", says(10, "8 legs")), ("fuser", judge_of_first_label())];
    let result = scenario(same).asks("How many legs has a spider?", "best-of-n@by=pairs,gate=on").run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 10, closed at 10
      selected by ada from 1: `8`
      because both answers say `8`, so nothing was fused
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
    ");
    assert_eq!((result.asked.len(), transcript::judging(&result.run).as_str()), (2, "nothing was judged"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_paid_twice_after_a_crash_between_calls() {
    for (seats, strategy) in [(4, "best-of-n@by=pairs"), (3, "best-of-n@by=league")] {
        // The second order takes longer, so that there are commits between the two.
        let scenario = || {
            let slow = || judges(25, MERIT);
            panel_with_judges(
                seats,
                strategy,
                [("fuser-1", judges(10, MERIT)), ("fuser-1", slow()), ("fuser-2", slow())],
            )
        };
        for result in invariants::never_pays_twice(scenario).await {
            assert_eq!(result.text(), TEXTS[2], "{}", result.end());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_match_that_later_rounds_depend_on_is_not_judged_again() {
    // In the first process one call of the first round fails, and its match is decided by the other order alone. The
    // next process finds calls of the second round, which depend on that winner, so the failed call is not repeated.
    let scenario = |second: Reply| {
        let chain = [("fuser", judges(10, MERIT)), ("fuser", second), ("fuser", judges(10, MERIT))];
        panel_with_judges(4, "best-of-n@by=pairs", chain)
    };
    let whole = scenario(fails(10, failure(Code::Auth))).run().await;
    let rests = |result: &str| result.starts_with("answered step 5");
    let kept = whole
        .commits
        .iter()
        .position(|commit| commit.iter().any(|recorded| rests(&transcript::short(&recorded.event))));
    let before = &whole.commits[..=kept.expect("the second round was committed")];
    let result = scenario(judges(10, MERIT)).after(before).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 30, closed at 30
      selected by cyd from 3: `Because air scatters short waves of light.`
      because judged by `fuser`, it won the knockout of 4 answers
      ! interrupted: the judge `fuser` gave no verdict in 2 calls: it gave none before the run went on without it (ask again what may have been paid already)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser failed, 1 request 10 ms, ~?: auth: scripted auth judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser answered, 1 request 10 ms, $0.0010 judging
      step 6 fuser unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known judging
    ");
}

#[tokio::test(start_paused = true)]
async fn another_text_is_judged_from_the_start() {
    let scenario = || panel_with_judges(4, "best-of-n@by=pairs", [("fuser", judges(10, MERIT))]);
    let whole = scenario().run().await;
    let is_second = |recorded: &Recorded| transcript::short(&recorded.event) == "sent step 5";
    let kept = whole.commits.iter().position(|commit| commit.iter().any(is_second));
    let before = &whole.commits[..=kept.expect("the second round was committed")];
    let again = |run: &Run| {
        Reopening::again(&run.plan, Vec::new(), &run.plan.synthesizers).expect("there is room for its calls")
    };
    let result = scenario().after(before).reopened(again).run().await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 40, closed at 40
      selected by cyd from 3: `Because air scatters short waves of light.`
      because judged by `fuser`, it won the knockout of 4 answers
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known judging
      step 6 fuser unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known judging
      step 7 fuser answered, 1 request 10 ms, $0.0010 judging
      step 8 fuser answered, 1 request 10 ms, $0.0010 judging
      step 9 fuser answered, 1 request 10 ms, $0.0010 judging
      step 10 fuser answered, 1 request 10 ms, $0.0010 judging
      step 11 fuser answered, 1 request 10 ms, $0.0010 judging
      step 12 fuser answered, 1 request 10 ms, $0.0010 judging
    ");
}

#[tokio::test(start_paused = true)]
async fn a_run_cancelled_between_rounds_makes_no_more_calls() {
    let result =
        panel_with_judges(5, "best-of-n@by=pairs", [("fuser", judges(10, MERIT))]).cancel_at(25).run().await;
    insta::assert_snapshot!(result.end(), @"
    cancelled decided at 25, closed at 25
      none
      because cancelled: the run was cancelled while its answer was written
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 10 ms, $0.0010
      5 eve answered, 1 request 10 ms, $0.0010
      step 1 fuser answered, 1 request 10 ms, $0.0010 judging
      step 2 fuser answered, 1 request 10 ms, $0.0010 judging
      step 3 fuser answered, 1 request 10 ms, $0.0010 judging
      step 4 fuser answered, 1 request 10 ms, $0.0010 judging
      step 5 fuser cancelled, 1 request 5 ms, ~?: cancelled: given up before an answer came judging
      step 6 fuser cancelled, 1 request 5 ms, ~?: cancelled: given up before an answer came judging
    ");
}

#[tokio::test(start_paused = true)]
async fn an_answer_too_long_for_the_judge_is_shortened_and_reported() {
    let long = "scatters blue ".repeat(600);
    let panel = [("ada", says(10, &long)), ("bob", says(10, TEXTS[2])), ("fuser", judges(10, MERIT))];
    let result = scenario(panel).asks(WHY, "best-of-n@by=pairs");
    let result = result.plan(|plan| plan.synthesizers[0].context_tokens = Some(4_000)).run().await;
    assert_eq!(result.text(), TEXTS[2], "{}", result.end());
    let shortened = result.run.outcome.map(|outcome| outcome.shortened).unwrap_or_default();
    let shortened: Vec<_> = shortened.iter().map(|cut| (cut.seat.0, cut.from_chars, cut.to_chars)).collect();
    assert_eq!(shortened, [(1, 8_400, 4_576)]);
}

#[tokio::test(start_paused = true)]
async fn a_tournament_costs_one_call_per_match_and_order() {
    for (seats, strategy, calls) in [
        (3, "best-of-n@by=pairs", 3 + 4),
        (5, "best-of-n@by=pairs", 5 + 8),
        (5, "best-of-n@by=pairs,orders=1", 5 + 4),
        (3, "best-of-n@by=league", 3 + 6),
        (5, "best-of-n@by=league", 5 + 20),
        (5, "best-of-n@by=league,orders=1", 5 + 10),
    ] {
        let result = panel_with_judges(seats, strategy, [("fuser", judges(10, MERIT))]).run().await;
        assert_eq!((result.asked.len(), result.planned_calls()), (calls, calls), "{strategy}");
        invariants::cost_matches_requests(&result);
    }
}

#[test]
fn a_match_reads_at_most_the_two_longest_answers() {
    let plan = panel_with_judges(5, "best-of-n@by=pairs", [("fuser", judge_of_first_label())]).planned();
    let read: Vec<u64> = plan.steps.iter().map(|step| step.input_tokens_max).collect();
    assert_eq!(read, [plan.size().framed(5) + 2_000; 8]);
}

#[test]
fn more_matches_than_can_be_numbered_are_refused() {
    let defaults = Defaults {
        panel: vec!["ada*64".to_owned()],
        synthesizers: (0..17).map(|nth| format!("fuser-{nth}")).collect(),
        strategy: "best-of-n@by=league".to_owned(),
        ..defaults()
    };
    let catalogues = catalogues(Catalogue::new(Vec::new(), false));
    let terms = Terms { defaults: &defaults, providers: &providers(), catalogues: &catalogues };
    let refused =
        RunPlan::resolve(RunRequest::prompt(WHY), &terms, identity(1)).expect_err("it is too large");
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (Code::PanelSize, "the run would have more than 65535 steps")
    );
}

#[test]
fn with_one_order_every_seat_is_shown_first_equally_often() {
    // A judge that prefers the first label gives nearly every seat of a league the same points.
    let result = in_paused_time(
        panel_with_judges(5, "best-of-n@by=league,orders=1", [("fuser", judge_of_first_label())]).run(),
    );
    let judging = result.run.outcome.and_then(|outcome| outcome.judging).expect("it was judged");
    let wins = |seat| judging.verdicts.iter().filter(|verdict| verdict.ranking[0].0 == seat).count();
    assert_eq!((1..=5).map(wins).collect::<Vec<_>>(), [2; 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn names_arrival_order_and_pairing_do_not_affect_the_choice(answers in shuffled_answers(TEXTS), strategy in 0..STRATEGIES.len()) {
        let result = in_paused_time(tournament_of(&answers, STRATEGIES[strategy], [("fuser", judges(10, MERIT))]).run());
        prop_assert_eq!(result.text(), TEXTS[2], "{}", STRATEGIES[strategy]);
        let result = in_paused_time(tournament_of(&answers, STRATEGIES[strategy % 2], [("fuser", judge_of_first_label())]).run());
        prop_assert_eq!(result.text(), CLOSEST, "{}", STRATEGIES[strategy % 2]);
    }
}
