//! Escalation: which seats are asked first, when the others are skipped, and that holding seats back never costs an
//! answer.

use parallel_llm_engine::Code;

use crate::scenario::{Scenario, scenario};
use crate::script::{Reply, fails, failure, hangs, says};

const HOW_MANY: &str = "How many legs has a spider?";

fn panel(replies: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    scenario(replies).asks(HOW_MANY, "vote@first=2")
}

#[tokio::test(start_paused = true)]
async fn two_agreeing_answers_skip_the_other_seats() {
    let result = panel([
        ("ada", says(10, "8")),
        ("bob", says(20, "8 legs")),
        ("cyd", says(10, "6")),
        ("dan", hangs()),
    ]);
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `8`
    20 answered 2 `8 legs` | 20 skipped 3 4 | 20 decided selected
    20 closed $0.0020
    complete decided at 20, closed at 20
      selected by ada from 1: `8`
      because 2 of 2 answers say `8`
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd skipped, 0 requests, ?: unneeded: those asked before it were enough
      4 dan skipped, 0 requests, ?: unneeded: those asked before it were enough
    ");
}

#[tokio::test(start_paused = true)]
async fn the_other_seats_are_asked_if_two_answers_differ() {
    let result = panel([
        ("ada", says(10, "8")),
        ("bob", says(20, "6")),
        ("cyd", says(10, "8 legs")),
        ("dan", says(30, "8")),
    ]);
    insta::assert_snapshot!(result.run().await.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `8`
    20 answered 2 `6` | 20 sent 3 | 20 sent 4
    30 answered 3 `8 legs`
    50 answered 4 `8` | 50 decided selected
    50 closed $0.0040
    complete decided at 50, closed at 50
      selected by ada from 1: `8`
      because 3 of 4 answers say `8`
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 10 ms, $0.0010
      4 dan answered, 1 request 30 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_single_answer_is_not_agreement() {
    let result =
        panel([("ada", says(10, "8")), ("bob", fails(20, failure(Code::Auth))), ("cyd", says(10, "8 legs"))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 30, closed at 30
      selected by ada from 1: `8`
      because 2 of 2 answers say `8`
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob failed, 1 request 20 ms, ~?: auth: scripted auth
      3 cyd answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn the_other_seats_are_asked_if_all_first_seats_fail() {
    let down = || fails(20, failure(Code::Refused));
    let result = panel([("ada", down()), ("bob", down()), ("cyd", says(10, "8 legs"))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 30, closed at 30
      verbatim by cyd from 3: `8 legs`
      because only one answer came, so there was nothing to vote on
      1 ada refused, 1 request 20 ms, ~?: refused: scripted refused
      2 bob refused, 1 request 20 ms, ~?: refused: scripted refused
      3 cyd answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_run_cancels_the_seats_held_back() {
    let result = panel([("ada", says(10, "8")), ("bob", hangs()), ("cyd", says(10, "8"))]).cancel_at(100);
    insta::assert_snapshot!(result.run().await.end(), @"
    cancelled decided at 100, closed at 100
      none
      because cancelled: the run was cancelled
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob cancelled, 1 request 100 ms, ~?: cancelled: given up before an answer came
      3 cyd cancelled, 0 requests, $0.00: cancelled: given up before an answer came
    ");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_holds_back_the_same_seats() {
    let scenario = || panel([("ada", says(10, "8")), ("bob", says(20, "8")), ("cyd", says(10, "6"))]);
    let whole = scenario().run().await;
    let result = scenario().after(&whole.commits[..2]).run().await;
    insta::assert_snapshot!(result.end(), @"
    partial decided at 20, closed at 20
      verbatim by ada from 1: `8`
      because no two answers agree; this is the answer closest to the others, word for word
      ! no_majority: the vote decides nothing: no two answers agree (have the answers fused)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob unknown, 1 request, ~?: interrupted: the process that did the run ended before this was known (ask again what may have been paid already)
      3 cyd answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn seats_held_back_are_skipped_if_no_time_is_left() {
    let result = panel([("ada", says(10, "8")), ("bob", hangs()), ("cyd", says(10, "8"))])
        .plan(|plan| plan.timers.run_ms = 1_000);
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 667, closed at 1000
      verbatim by ada from 1: `8`
      because only one answer came, so there was nothing to vote on
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob failed, 1 request 1000 ms, ~?: timeout: the time limit of 1 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 1000))
      3 cyd skipped, 0 requests, $0.00: timeout: the time limit of 1 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 1000))
    ");
}
