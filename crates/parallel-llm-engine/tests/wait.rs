//! Wait rules: when a run stops waiting for its panel, and what happens to the seats left behind.

use parallel_llm_engine::request::wait::Wait;

use crate::scenario::{Scenario, scenario};
use crate::script::{after, fails, failure, fuses, hangs, says};
use parallel_llm_engine::{Code, PicoUsd, SeatStatus};

#[tokio::test(start_paused = true)]
async fn stragglers_are_left_behind_and_their_answers_kept() {
    let result = scenario([
        ("ada", says(5_000, "one")),
        ("bob", says(6_000, "two")),
        ("cyd", says(10_000, "three")),
        ("dan", says(60_000, "four, late")),
        ("eve", fails(50_000, failure(Code::Forbidden))),
        ("fuser", fuses(1_000, "two", "All.")),
    ]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4 | 0 sent 5
    5000 answered 1 `one`
    6000 answered 2 `two`
    10000 answered 3 `three`
    45000 sent s1
    46000 answered s1 `<<answer fe7…` (62) | 46000 decided fused
    50000 failed 5 forbidden, never again
    60000 answered 4 `four, late`
    60000 closed $0.0050
    partial decided at 46000, closed at 60000
      fused by fuser from 2: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 1000 ms
      1 ada answered, 1 request 5000 ms, $0.0010
      2 bob answered, 1 request 6000 ms, $0.0010
      3 cyd answered, 1 request 10000 ms, $0.0010
      4 dan answered late, 1 request 60000 ms, $0.0010
      5 eve failed, 1 request 50000 ms, ~?: forbidden: scripted forbidden
      s1 fuser answered, 1 request 1000 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_arrives_during_fusion_is_stored_at_once() {
    let result = scenario([
        ("ada", says(5_000, "one")),
        ("bob", says(6_000, "two")),
        ("cyd", says(45_500, "three, late")),
        ("fuser", fuses(1_000, "two", "All.")),
    ]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    5000 answered 1 `one`
    6000 answered 2 `two`
    45000 sent s1
    45500 answered 3 `three, late`
    46000 answered s1 `<<answer fe7…` (62) | 46000 decided fused
    46000 closed $0.0040
    complete decided at 46000, closed at 46000
      fused by fuser from 2: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 1000 ms
      1 ada answered, 1 request 5000 ms, $0.0010
      2 bob answered, 1 request 6000 ms, $0.0010
      3 cyd answered late, 1 request 45500 ms, $0.0010
      s1 fuser answered, 1 request 1000 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn slow_panels_give_stragglers_three_times_the_median() {
    let result = scenario([
        ("ada", says(20_000, "one")),
        ("bob", says(30_000, "two")),
        ("cyd", says(100_000, "three")),
        ("fuser", fuses(1_000, "two", "All.")),
    ]);
    let run = result.run().await.run;
    assert_eq!((run.decided_ms, run.elapsed_ms, run.seats[2].late), (Some(91_000), 100_000, true));
}

#[tokio::test(start_paused = true)]
async fn too_few_answers_do_not_end_the_wait() {
    // One of two is less than sixty percent.
    let result =
        scenario([("ada", says(10, "one")), ("bob", says(200_000, "two")), ("fuser", says(10, "All."))]);
    assert_eq!(result.run().await.run.decided_ms, Some(200_010));
    // A failed seat does not count among those that can answer.
    let result = scenario([
        ("ada", says(10, "one")),
        ("bob", fails(20, failure(Code::Auth))),
        ("cyd", fails(20, failure(Code::Auth))),
        ("dan", says(30, "two")),
        ("eve", says(100_000, "three")),
        ("fuser", says(10, "All.")),
    ]);
    assert_eq!(result.run().await.run.decided_ms, Some(45_010));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_all_waits_for_every_seat() {
    let result = scenario([
        ("ada", says(10, "one")),
        ("bob", says(20, "two")),
        ("cyd", says(290_000, "three")),
        ("fuser", says(10, "All.")),
    ]);
    assert_eq!(result.wait(Wait::All).run().await.run.decided_ms, Some(290_010));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_count_stops_at_that_many_answers() {
    let result = scenario([
        ("ada", fails(5, failure(Code::Auth))),
        ("bob", says(20, "two")),
        ("cyd", says(90, "three")),
        ("dan", says(30, "four")),
        ("fuser", fuses(10, "four", "All.")),
    ]);
    insta::assert_snapshot!(result.wait(Wait::Seats { count: 2 }).transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4
    5 failed 1 auth, never again
    20 answered 2 `two`
    30 answered 4 `four` | 30 sent s1
    40 answered s1 `<<answer fe7…` (62) | 40 decided fused
    90 answered 3 `three`
    90 closed $0.0040
    partial decided at 40, closed at 90
      fused by fuser from 4: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 10 ms
      1 ada failed, 1 request 5 ms, ~?: auth: scripted auth
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered late, 1 request 90 ms, $0.0010
      4 dan answered, 1 request 30 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn waiting_until_a_time_needs_at_least_one_answer() {
    let result = scenario([("ada", says(10, "one")), ("bob", says(5_000, "two")), ("fuser", hangs())]);
    insta::assert_snapshot!(result.wait(Wait::Until { ms: 1_000 }).transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `one`
    1000 decided verbatim
    5000 answered 2 `two`
    5000 closed $0.0020
    complete decided at 1000, closed at 5000
      verbatim by ada from 1: `one`
      because only one answer came, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered late, 1 request 5000 ms, $0.0010
    ");
    let result = scenario([("ada", says(2_000, "one")), ("bob", says(5_000, "two")), ("fuser", hangs())]);
    assert_eq!(result.wait(Wait::Until { ms: 1_000 }).run().await.run.decided_ms, Some(2_000));
}

#[tokio::test(start_paused = true)]
async fn the_strongest_seat_is_waited_for() {
    let result = scenario([
        ("ada", says(10, "one")),
        ("bob", says(20, "two")),
        ("cyd", says(250_000, "three")),
        ("dan", says(260_000, "four")),
        ("fuser", says(10, "All.")),
    ]);
    let result = result.plan(|plan| plan.seats[2].strongest = true).run().await;
    assert_eq!((result.run.decided_ms, result.run.seats[3].late), (Some(250_010), true));
}

#[tokio::test(start_paused = true)]
async fn a_third_of_the_run_is_kept_for_fusing() {
    let result = scenario([
        ("ada", says(10, "one")),
        ("bob", says(20, "two")),
        ("cyd", says(9_990, "three")),
        ("fuser", says(10, "All.")),
    ])
    .plan(|plan| {
        plan.wait = Wait::All;
        plan.timers.run_ms = 9_000;
    });
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 6010, closed at 9000
      fused by fuser: `All.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd failed, 1 request 9000 ms, ~?: timeout: the time limit of 9 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 9000))
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
    // Nobody has answered by then, so the first answer after it decides.
    let result = scenario([("ada", says(7_000, "one")), ("bob", says(8_500, "two")), ("fuser", hangs())]);
    let result = result.plan(|plan| plan.timers.run_ms = 9_000).run().await;
    assert_eq!(result.run.decided_ms, Some(7_000));
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_counts_if_it_is_long_enough() {
    let long: &'static str = "moon ".repeat(50).leak();
    let result = scenario([
        ("ada", after(10).text(long).fail(failure(Code::Connection))),
        ("bob", says(20, "two")),
        ("cyd", says(400_000, "three")),
        ("fuser", fuses(10, "two", "All.")),
    ]);
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 45010, closed at 300000
      fused by fuser from 2: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 10 ms
      1 ada cut, 1 request 10 ms, ~?: connection: scripted connection
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd failed, 1 request 300000 ms, ~?: timeout: no text or reasoning came within 300 s (raise the setting `first_text_timeout_ms` (now 300000))
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_late_seat_is_not_retried() {
    let later = || failure(Code::RateLimited).with_retry_after(Some(std::time::Duration::from_secs(5)));
    let result = scenario([
        ("ada", says(5_000, "one")),
        ("bob", says(6_000, "two")),
        ("cyd", fails(44_000, later())),
        ("cyd", says(10, "three")),
        ("fuser", fuses(1_000, "two", "All.")),
    ]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    5000 answered 1 `one`
    6000 answered 2 `two`
    44000 failed 3 rate_limited, again in 5277
    45000 sent s1
    46000 answered s1 `<<answer fe7…` (62) | 46000 decided fused
    46000 cancelled 3
    46000 closed $0.0030
    partial decided at 46000, closed at 46000
      fused by fuser from 2: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 1000 ms
      1 ada answered, 1 request 5000 ms, $0.0010
      2 bob answered, 1 request 6000 ms, $0.0010
      3 cyd cancelled, 1 request 46000 ms, ~$0.00: cancelled: given up before an answer came
      s1 fuser answered, 1 request 1000 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_late_seat_still_waiting_for_admission_is_cancelled() {
    let result = scenario([("ada", says(10, "one")), ("bob", says(10, "two").admitted_after(100_000))]);
    insta::assert_snapshot!(result.wait(Wait::Seats { count: 1 }).transcript().await, @"
    0 started | 0 sent 1
    10 answered 1 `one` | 10 decided verbatim
    10 cancelled 2#0
    10 closed $0.0010
    partial decided at 10, closed at 10
      verbatim by ada from 1: `one`
      because only one answer came, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob cancelled, 0 requests, $0.00: cancelled: given up before an answer came
    ");
}

#[tokio::test(start_paused = true)]
async fn no_request_is_sent_while_the_answer_is_committed() {
    let again = || failure(Code::RateLimited).with_retry_after(Some(std::time::Duration::from_secs(1)));
    let result = scenario([
        ("ada", says(1_200, "one")),
        ("bob", fails(10, again())),
        ("bob", says(10, "two")),
        ("cyd", says(10, "three").admitted_after(1_800)),
    ]);
    let result = result.wait(Wait::Seats { count: 1 }).commit_ms(500).run().await;
    insta::assert_snapshot!(result.ledger(), @"
    500 durable: started, sent 1, sent 2
    500 request ada #1
    500 request bob #1
    1010 durable: failed 2
    2200 durable: answered 1, decided
    2700 durable: cancelled 2, cancelled 3#0
    3200 durable: closed
    ");
    assert_eq!(result.run.seats[2].cost, Some(PicoUsd::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_late_only_if_it_was_usable() {
    let cut = |bytes: usize| after(500).text(&"m".repeat(bytes)).fail(failure(Code::Connection));
    let result = scenario([
        ("ada", says(10, "one")),
        ("bob", says(20, "two")),
        ("cyd", cut(200)),
        ("dan", cut(199)),
        ("fuser", fuses(1_000, "two", "All.")),
    ]);
    let run = result.wait(Wait::Seats { count: 2 }).run().await.run;
    let stands: Vec<_> = run.seats.iter().map(|seat| (seat.status, seat.late)).collect();
    let answered = (SeatStatus::Answered, false);
    assert_eq!(stands, [answered, answered, (SeatStatus::Cut, true), (SeatStatus::Cut, false)]);
}

/// One seat answers soon, one later, and one never.
fn hurried() -> Scenario {
    scenario([
        ("ada", says(5_000, "one")),
        ("bob", says(20_000, "two")),
        ("cyd", after(1_000).text("th").hang()),
        ("fuser", fuses(1_000, "one", "All.")),
    ])
}

#[tokio::test(start_paused = true)]
async fn a_hurried_run_decides_with_the_answers_so_far() {
    insta::assert_snapshot!(hurried().hurry_at(21_000).transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    5000 answered 1 `one`
    20000 answered 2 `two`
    21000 sent s1
    22000 answered s1 `<<answer fe7…` (62) | 22000 decided fused
    91000 cut 3 `th` by timeout
    91000 closed $0.0030
    partial decided at 22000, closed at 91000
      fused by fuser from 1: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 1000 ms
      1 ada answered, 1 request 5000 ms, $0.0010
      2 bob answered, 1 request 20000 ms, $0.0010
      3 cyd cut, 1 request 91000 ms, ~?: timeout: nothing came within 90 s (raise the setting `idle_timeout_ms` (now 90000))
      s1 fuser answered, 1 request 1000 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_run_hurried_before_any_answer_decides_with_the_first() {
    insta::assert_snapshot!(hurried().hurry_at(10).transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    5000 answered 1 `one` | 5000 decided verbatim
    20000 answered 2 `two`
    91000 cut 3 `th` by timeout
    91000 closed $0.0020
    partial decided at 5000, closed at 91000
      verbatim by ada from 1: `one`
      because only one answer came, so there was nothing to fuse
      1 ada answered, 1 request 5000 ms, $0.0010
      2 bob answered late, 1 request 20000 ms, $0.0010
      3 cyd cut, 1 request 91000 ms, ~?: timeout: nothing came within 90 s (raise the setting `idle_timeout_ms` (now 90000))
    ");
}

#[tokio::test(start_paused = true)]
async fn a_skipped_seat_is_cancelled_and_no_longer_awaited() {
    insta::assert_snapshot!(hurried().wait(Wait::All).skip_at(2_000, 3).transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    2000 cancelled 3 `th`
    5000 answered 1 `one`
    20000 answered 2 `two` | 20000 sent s1
    21000 answered s1 `<<answer fe7…` (62) | 21000 decided fused
    21000 closed $0.0030
    partial decided at 21000, closed at 21000
      fused by fuser from 1: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 1000 ms
      1 ada answered, 1 request 5000 ms, $0.0010
      2 bob answered, 1 request 20000 ms, $0.0010
      3 cyd cancelled, 1 request 2000 ms, ~?: cancelled: given up before an answer came
      s1 fuser answered, 1 request 1000 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn skipping_every_seat_leaves_no_answer() {
    let skipped = hurried().skip_at(10, 1).skip_at(20, 2).skip_at(30, 3).skip_at(40, 9);
    insta::assert_snapshot!(skipped.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    10 cancelled 1
    20 cancelled 2
    30 decided none
    30 cancelled 3
    30 closed $0.00
    cancelled decided at 30, closed at 30
      none
      because cancelled: no model answered (ada, bob, cyd: skipped before it had answered)
      1 ada cancelled, 1 request 10 ms, ~?: cancelled: given up before an answer came
      2 bob cancelled, 1 request 20 ms, ~?: cancelled: given up before an answer came
      3 cyd cancelled, 1 request 30 ms, ~?: cancelled: given up before an answer came
    ");
}

#[tokio::test(start_paused = true)]
async fn skipping_an_answered_seat_keeps_its_answer() {
    let result = hurried().wait(Wait::All).skip_at(6_000, 1).skip_at(7_000, 3).run().await;
    let considered = &result.run.outcome.as_ref().expect("the run is decided").considered;
    assert_eq!(considered.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1", "2"]);
}
