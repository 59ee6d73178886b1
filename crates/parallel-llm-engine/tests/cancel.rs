//! Cancelled runs: their status, what is kept, and that every reply is dropped at once.

use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::{Code, Failure};

use crate::scenario::{Scenario, scenario};
use crate::script::{after, fails, failure, hangs, says};

fn three_seats() -> Scenario {
    scenario([
        ("ada", says(100, "The moon.")),
        ("bob", after(50).accepted("gen-2").text("So f").wait(400).text("ar").end()),
        ("cyd", hangs()),
        ("fuser", after(10).text("Both").hang()),
    ])
}

async fn check(scenario: Scenario) -> String {
    let result = scenario.run().await;
    format!("{}\n{}", result.transcript(), result.ledger())
}

#[tokio::test(start_paused = true)]
async fn cancelled_before_any_answer() {
    insta::assert_snapshot!(check(three_seats().cancel_at(70)).await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    50 accepted 2 as gen-2 | 70 decided none
    70 cancelled 3 | 70 cancelled 1 | 70 cancelled 2 `So f`
    70 closed $0.00
    cancelled decided at 70, closed at 70
      none
      because cancelled: the run was cancelled
      1 ada cancelled, 1 request 70 ms, ~?: cancelled: given up before an answer came
      2 bob cancelled, 1 request 70 ms, ~?: cancelled: given up before an answer came
      3 cyd cancelled, 1 request 70 ms, ~?: cancelled: given up before an answer came

    0 durable: started, sent 1, sent 2, sent 3
    0 request ada #1
    0 request bob #1
    0 request cyd #1
    70 durable: accepted 2, decided
    70 dropped cyd
    70 dropped ada
    70 dropped bob
    70 durable: cancelled 3, cancelled 1, cancelled 2
    70 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn cancelled_after_the_first_answer() {
    insta::assert_snapshot!(check(three_seats().cancel_at(200)).await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    50 accepted 2 as gen-2 | 100 answered 1 `The moon.`
    200 decided none
    200 cancelled 2 `So f` | 200 cancelled 3
    200 closed $0.0010
    cancelled decided at 200, closed at 200
      none
      because cancelled: the run was cancelled
      1 ada answered, 1 request 100 ms, $0.0010
      2 bob cancelled, 1 request 200 ms, ~?: cancelled: given up before an answer came
      3 cyd cancelled, 1 request 200 ms, ~?: cancelled: given up before an answer came

    0 durable: started, sent 1, sent 2, sent 3
    0 request ada #1
    0 request bob #1
    0 request cyd #1
    100 durable: accepted 2, answered 1
    200 dropped bob
    200 dropped cyd
    200 durable: decided
    200 durable: cancelled 2, cancelled 3
    200 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn cancelled_during_synthesis() {
    let result = three_seats().wait(Wait::Seats { count: 2 }).cancel_at(500);
    insta::assert_snapshot!(check(result).await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    50 accepted 2 as gen-2 | 100 answered 1 `The moon.`
    450 answered 2 `So far` | 450 sent s1
    500 cancelled s1 `Both` | 500 decided none
    500 cancelled 3
    500 closed $0.0020
    cancelled decided at 500, closed at 500
      none
      because cancelled: the run was cancelled while its answer was written
      1 ada answered, 1 request 100 ms, $0.0010
      2 bob answered, 1 request 450 ms, $0.0010
      3 cyd cancelled, 1 request 500 ms, ~?: cancelled: given up before an answer came
      s1 fuser cancelled, 1 request 50 ms, ~?: cancelled: given up before an answer came

    0 durable: started, sent 1, sent 2, sent 3
    0 request ada #1
    0 request bob #1
    0 request cyd #1
    100 durable: accepted 2, answered 1
    450 durable: answered 2, sent s1
    450 request fuser #1
    500 dropped fuser
    500 durable: cancelled s1, decided
    500 dropped cyd
    500 durable: cancelled 3
    500 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn cancelled_after_the_decision() {
    let result = three_seats().wait(Wait::Seats { count: 1 }).cancel_at(200);
    insta::assert_snapshot!(check(result).await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    50 accepted 2 as gen-2 | 100 answered 1 `The moon.` | 100 decided verbatim
    200 cancelled 2 `So f` | 200 cancelled 3
    200 closed $0.0010
    partial decided at 100, closed at 200
      verbatim by ada from 1: `The moon.`
      because only one answer came, so there was nothing to fuse
      1 ada answered, 1 request 100 ms, $0.0010
      2 bob cancelled, 1 request 200 ms, ~?: cancelled: given up before an answer came
      3 cyd cancelled, 1 request 200 ms, ~?: cancelled: given up before an answer came

    0 durable: started, sent 1, sent 2, sent 3
    0 request ada #1
    0 request bob #1
    0 request cyd #1
    100 durable: accepted 2, answered 1, decided
    200 dropped bob
    200 dropped cyd
    200 durable: cancelled 2, cancelled 3
    200 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn cancelled_at_the_start_or_while_a_call_waits() {
    insta::assert_snapshot!(check(three_seats().cancel_at(0)).await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    0 decided none
    0 cancelled 1 | 0 cancelled 2 | 0 cancelled 3
    0 closed $0.00
    cancelled decided at 0, closed at 0
      none
      because cancelled: the run was cancelled
      1 ada cancelled, 1 request 0 ms, $0.00: cancelled: given up before an answer came
      2 bob cancelled, 1 request 0 ms, $0.00: cancelled: given up before an answer came
      3 cyd cancelled, 1 request 0 ms, $0.00: cancelled: given up before an answer came

    0 durable: started, sent 1, sent 2, sent 3
    0 durable: decided
    0 durable: cancelled 1, cancelled 2, cancelled 3
    0 durable: closed
    ");
    // The calls wait for admission or for their next attempt.
    let result = scenario([("ada", hangs()), ("bob", says(10, "Never sent."))]);
    insta::assert_snapshot!(check(result.in_flight_max(1).cancel_at(20)).await, @"
    0 started | 0 sent 1
    20 decided none
    20 cancelled 1 | 20 cancelled 2#0
    20 closed $0.00
    cancelled decided at 20, closed at 20
      none
      because cancelled: the run was cancelled
      1 ada cancelled, 1 request 20 ms, ~?: cancelled: given up before an answer came
      2 bob cancelled, 0 requests, $0.00: cancelled: given up before an answer came

    0 durable: started, sent 1
    0 request ada #1
    20 durable: decided
    20 dropped ada
    20 durable: cancelled 1, cancelled 2#0
    20 durable: closed
    ");
    let again: Failure = failure(Code::Upstream).with_status(502);
    insta::assert_snapshot!(check(scenario([("ada", fails(10, again))]).cancel_at(200)).await, @"
    0 started | 0 sent 1
    10 failed 1 upstream, again in 818
    200 decided none
    200 cancelled 1
    200 closed $0.00
    cancelled decided at 200, closed at 200
      none
      because cancelled: the run was cancelled
      1 ada cancelled, 1 request 200 ms, $0.00: cancelled: given up before an answer came

    0 durable: started, sent 1
    0 request ada #1
    10 durable: failed 1
    200 durable: decided
    200 durable: cancelled 1
    200 durable: closed
    ");
}

/// Closing the connection stops the cost of the first reply; the other two are billed anyway.
fn partly_billed() -> Scenario {
    let failing = failure(Code::Upstream).with_status(502);
    scenario([
        ("ada", after(50).text("The ").wait(300).text("moon.").end()),
        ("bob", after(50).text("The ").wait(300).text("sun.").end().billed_anyway()),
        ("cyd", fails(200, failing).billed_anyway()),
        ("fuser", says(10, "Both.")),
    ])
}

#[tokio::test(start_paused = true)]
async fn a_reply_billed_anyway_is_read_to_its_end() {
    insta::assert_snapshot!(check(partly_billed().cancel_at(100)).await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    100 decided none
    100 cancelled 1 `The `
    200 failed 3 upstream, never again
    350 answered 2 `The sun.`
    350 closed $0.0010
    cancelled decided at 100, closed at 350
      none
      because cancelled: the run was cancelled
      1 ada cancelled, 1 request 100 ms, ~?: cancelled: given up before an answer came
      2 bob answered late, 1 request 350 ms, $0.0010
      3 cyd failed, 1 request 200 ms, $0.00: upstream: scripted upstream

    0 durable: started, sent 1, sent 2, sent 3
    0 request ada #1
    0 request bob #1
    0 request cyd #1
    100 durable: decided
    100 dropped ada
    100 durable: cancelled 1
    200 durable: failed 3
    350 durable: answered 2
    350 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn an_abort_closes_every_connection() {
    insta::assert_snapshot!(check(partly_billed().cancel_at(100).abort_at(150)).await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3
    100 decided none
    100 cancelled 1 `The `
    150 cancelled 2 `The ` | 150 cancelled 3
    150 closed $0.00
    cancelled decided at 100, closed at 150
      none
      because cancelled: the run was cancelled
      1 ada cancelled, 1 request 100 ms, ~?: cancelled: given up before an answer came
      2 bob cancelled, 1 request 150 ms, ~?: cancelled: given up before an answer came
      3 cyd cancelled, 1 request 150 ms, ~?: cancelled: given up before an answer came

    0 durable: started, sent 1, sent 2, sent 3
    0 request ada #1
    0 request bob #1
    0 request cyd #1
    100 durable: decided
    100 dropped ada
    100 durable: cancelled 1
    150 dropped bob
    150 dropped cyd
    150 durable: cancelled 2, cancelled 3
    150 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn a_synthesis_billed_anyway_becomes_the_answer() {
    let result = scenario([
        ("ada", says(10, "The moon.")),
        ("bob", says(20, "The sun.")),
        ("fuser", after(50).text("Both.").end().billed_anyway()),
    ]);
    insta::assert_snapshot!(result.cancel_at(30).run().await.end(), @"
    complete decided at 70, closed at 70
      fused by fuser: `Both.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 1 request 50 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_during_the_commit_stops_requests_not_yet_sent() {
    let result = scenario([("ada", says(10, "The moon.").billed_anyway()), ("bob", says(10, "The sun."))]);
    // The run is cancelled while its first commit is still being written.
    let result = result.commit_ms(20).in_flight_max(1).cancel_at(0).run().await;
    assert!(result.asked.is_empty(), "{}", result.ledger());
}
