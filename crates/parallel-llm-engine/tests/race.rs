//! Races: the first answer wins, and the other models are asked at once or one after the other.

use crate::scenario::{Scenario, scenario};
use crate::script::{Reply, after, fails, failure, hangs, says};
use parallel_llm_engine::Code;

fn race_of(strategy: &str, replies: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    scenario(replies).asks("How do tides work?", strategy)
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_wins_and_the_others_are_cancelled() {
    let result =
        race_of("race", [("ada", says(300, "The sun.")), ("bob", says(100, "The moon.")), ("cyd", hangs())])
            .plan(|plan| plan.seats[2].strongest = true);
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    100 answered 2 `The moon.` | 100 decided selected
    100 cancelled 3 | 100 cancelled 1
    100 closed $0.0010
    complete decided at 100, closed at 100
      selected by bob from 2: `The moon.`
      because it came first of 3
      1 ada cancelled, 1 request 100 ms, ~?: cancelled: given up before an answer came
      2 bob answered, 1 request 100 ms, $0.0010
      3 cyd cancelled, 1 request 100 ms, ~?: cancelled: given up before an answer came
    ");
}

#[tokio::test(start_paused = true)]
async fn the_next_model_is_asked_only_if_the_previous_is_slow() {
    let result = race_of(
        "race@hedge_after_ms=100",
        [
            ("ada", says(250, "The moon.")),
            ("bob", says(500, "The sun.")),
            ("cyd", says(500, "Both.")),
            ("dan", says(1, "No.")),
        ],
    );
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1
    100 sent 2
    200 sent 3
    250 answered 1 `The moon.` | 250 skipped 4 | 250 decided selected
    250 cancelled 2 | 250 cancelled 3
    250 closed $0.0010
    complete decided at 250, closed at 250
      selected by ada from 1: `The moon.`
      because it came first of 4
      1 ada answered, 1 request 250 ms, $0.0010
      2 bob cancelled, 1 request 150 ms, ~?: cancelled: given up before an answer came
      3 cyd cancelled, 1 request 50 ms, ~?: cancelled: given up before an answer came
      4 dan skipped, 0 requests, ?: unneeded: those asked before it were enough
    ");
}

#[tokio::test(start_paused = true)]
async fn the_next_model_is_asked_at_once_if_the_previous_fails() {
    let result = race_of(
        "race@hedge_after_ms=10000",
        [
            ("ada", fails(5, failure(Code::Auth))),
            ("bob", says(50, "The moon.")),
            ("cyd", says(50, "The sun.")),
        ],
    );
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1
    5 failed 1 auth, never again | 5 sent 2
    55 answered 2 `The moon.` | 55 skipped 3 | 55 decided selected
    55 closed $0.0010
    complete decided at 55, closed at 55
      selected by bob from 2: `The moon.`
      because it came first of 3
      1 ada failed, 1 request 5 ms, ~?: auth: scripted auth
      2 bob answered, 1 request 50 ms, $0.0010
      3 cyd skipped, 0 requests, ?: unneeded: those asked before it were enough
    ");
}

#[tokio::test(start_paused = true)]
async fn if_every_model_fails_the_run_says_why() {
    let down = || fails(5, failure(Code::Auth));
    let result = race_of("race@hedge_after_ms=50", [("ada", down()), ("bob", down())]);
    insta::assert_snapshot!(result.run().await.end(), @"
    failed decided at 10, closed at 10
      none
      because auth: no model answered (ada, bob: scripted auth)
      1 ada failed, 1 request 5 ms, ~?: auth: scripted auth
      2 bob failed, 1 request 5 ms, ~?: auth: scripted auth
    ");
}

#[tokio::test(start_paused = true)]
async fn a_complete_answer_beats_a_cut_one_at_the_same_moment() {
    let cut = after(100).text(&"tides ".repeat(200)).fail(failure(Code::Connection));
    let result = race_of("race", [("ada", cut), ("bob", says(100, "The moon."))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 100, closed at 100
      selected by bob from 2: `The moon.`
      because it came first of 2
      1 ada cut, 1 request 100 ms, ~?: connection: scripted connection
      2 bob answered, 1 request 100 ms, $0.0010
    ");
}
