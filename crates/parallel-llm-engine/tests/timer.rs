//! Timers: each ends a call at its exact time; the message names what did not arrive, and the advice names the
//! setting.

use parallel_llm_engine::plan::Timers;
use parallel_llm_engine::request::wait::Wait;

use crate::scenario::scenario;
use crate::script::{Reply, after, hangs, says};

/// The timers are far apart, so that each can be recognised.
const TIMERS: Timers =
    Timers { first_text_ms: 300, idle_ms: 100, content_ms: 200, call_ms: 900, run_ms: 6_000 };

/// The transcript of one seat that is not retried.
async fn check(reply: Reply) -> String {
    let one = scenario([("ada", reply)]).plan(|plan| {
        plan.timers = TIMERS;
        plan.retries_max = 0;
    });
    one.transcript().await
}

#[tokio::test(start_paused = true)]
async fn the_first_text_timer_ends_a_silent_call() {
    insta::assert_snapshot!(check(hangs()).await, @"
    0 started | 0 sent 1
    300 failed 1 timeout, never again | 300 decided none
    300 closed $0.00
    failed decided at 300, closed at 300
      none
      because timeout: no model answered (ada: no text or reasoning came within 0.3 s) (raise the setting `first_text_timeout_ms` (now 300))
      1 ada failed, 1 request 300 ms, ~?: timeout: no text or reasoning came within 0.3 s (raise the setting `first_text_timeout_ms` (now 300))
    ");
    // Keep-alives are bytes, but neither text nor reasoning.
    insta::assert_snapshot!(check(after(0).alive(50, 50).hang()).await, @"
    0 started | 0 sent 1
    300 failed 1 timeout, never again | 300 decided none
    300 closed $0.00
    failed decided at 300, closed at 300
      none
      because timeout: no model answered (ada: no text or reasoning came within 0.3 s) (raise the setting `first_text_timeout_ms` (now 300))
      1 ada failed, 1 request 300 ms, ~?: timeout: no text or reasoning came within 0.3 s (raise the setting `first_text_timeout_ms` (now 300))
    ");
    // A reply at the exact limit is still in time.
    insta::assert_snapshot!(check(says(300, "The moon.")).await, @"
    0 started | 0 sent 1
    300 answered 1 `The moon.` | 300 decided verbatim
    300 closed $0.0010
    complete decided at 300, closed at 300
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 1 request 300 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn the_idle_timer_ends_a_call_without_bytes() {
    insta::assert_snapshot!(check(after(10).alive(1, 10).hang()).await, @"
    0 started | 0 sent 1
    120 failed 1 timeout, never again | 120 decided none
    120 closed $0.00
    failed decided at 120, closed at 120
      none
      because timeout: no model answered (ada: nothing came within 0.1 s) (raise the setting `idle_timeout_ms` (now 100))
      1 ada failed, 1 request 120 ms, ~?: timeout: nothing came within 0.1 s (raise the setting `idle_timeout_ms` (now 100))
    ");
    insta::assert_snapshot!(check(after(10).text("The moon").hang()).await, @"
    0 started | 0 sent 1
    110 cut 1 `The moon` by timeout | 110 decided none
    110 closed $0.00
    failed decided at 110, closed at 110
      none
      because timeout: no model answered (ada: nothing came within 0.1 s) (raise the setting `idle_timeout_ms` (now 100))
      1 ada cut, 1 request 110 ms, ~?: timeout: nothing came within 0.1 s (raise the setting `idle_timeout_ms` (now 100))
    ");
}

#[tokio::test(start_paused = true)]
async fn a_silently_reasoning_model_gets_the_first_text_timeout() {
    // A provider that accepted the call and sends no keep-alives may think as long as the first text may take.
    insta::assert_snapshot!(check(after(10).accepted("gen-1").wait(200).text("The moon.").end()).await, @"
    0 started | 0 sent 1
    10 accepted 1 as gen-1 | 210 answered 1 `The moon.` | 210 decided verbatim
    210 closed $0.0010
    complete decided at 210, closed at 210
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 1 request 210 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn the_content_timer_ends_a_call_without_text() {
    insta::assert_snapshot!(check(after(10).reasoning().alive(50, 50).hang()).await, @"
    0 started | 0 sent 1
    210 failed 1 timeout, never again | 210 decided none
    210 closed $0.00
    failed decided at 210, closed at 210
      none
      because timeout: no model answered (ada: no more text or reasoning came within 0.2 s) (raise the setting `content_timeout_ms` (now 200))
      1 ada failed, 1 request 210 ms, ~?: timeout: no more text or reasoning came within 0.2 s (raise the setting `content_timeout_ms` (now 200))
    ");
    insta::assert_snapshot!(check(after(10).text("The moon").alive(50, 50).hang()).await, @"
    0 started | 0 sent 1
    210 cut 1 `The moon` by timeout | 210 decided none
    210 closed $0.00
    failed decided at 210, closed at 210
      none
      because timeout: no model answered (ada: no more text or reasoning came within 0.2 s) (raise the setting `content_timeout_ms` (now 200))
      1 ada cut, 1 request 210 ms, ~?: timeout: no more text or reasoning came within 0.2 s (raise the setting `content_timeout_ms` (now 200))
    ");
}

#[tokio::test(start_paused = true)]
async fn the_call_timer_ends_a_call_that_takes_too_long() {
    let slow = (0..50).fold(after(0), |reply, _| reply.wait(80).text("moon "));
    insta::assert_snapshot!(check(slow.end()).await, @"
    0 started | 0 sent 1
    900 cut 1 `moon moon mo…` (55) by timeout | 900 decided none
    900 closed $0.00
    failed decided at 900, closed at 900
      none
      because timeout: no model answered (ada: the answer was not whole within 0.9 s) (raise the setting `call_timeout_ms` (now 900))
      1 ada cut, 1 request 900 ms, ~?: timeout: the answer was not whole within 0.9 s (raise the setting `call_timeout_ms` (now 900))
    ");
    let thinking = (0..50).fold(after(0), |reply, _| reply.wait(80).reasoning());
    insta::assert_snapshot!(check(thinking.end()).await, @"
    0 started | 0 sent 1
    900 failed 1 timeout, never again | 900 decided none
    900 closed $0.00
    failed decided at 900, closed at 900
      none
      because timeout: no model answered (ada: the answer was not whole within 0.9 s) (raise the setting `call_timeout_ms` (now 900))
      1 ada failed, 1 request 900 ms, ~?: timeout: the answer was not whole within 0.9 s (raise the setting `call_timeout_ms` (now 900))
    ");
}

#[tokio::test(start_paused = true)]
async fn the_run_timer_ends_every_call() {
    let patient = Timers { run_ms: 1_500, ..Timers::default() };
    let result = scenario([("ada", hangs()), ("bob", after(10).text("The moon").alive(100, 50).hang())])
        .plan(|plan| plan.timers = patient);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2
    1500 failed 1 timeout, never again | 1500 cut 2 `The moon` by timeout | 1500 decided none
    1500 closed $0.00
    failed decided at 1500, closed at 1500
      none
      because timeout: no model answered (ada, bob: the time limit of 1.5 s was reached) (raise the deadline, or raise the setting `run_timeout_ms` (now 1500))
      1 ada failed, 1 request 1500 ms, ~?: timeout: the time limit of 1.5 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 1500))
      2 bob cut, 1 request 1500 ms, ~?: timeout: the time limit of 1.5 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 1500))
    ");
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_told_of_timeouts_but_not_of_cancellations() {
    let thinking = (0..50).fold(after(0), |reply, _| reply.wait(80).reasoning());
    for (reply, expected) in [
        (hangs(), "300 ada heard: no text or reasoning came within 0.3 s"),
        (after(10).alive(1, 10).hang(), "120 ada heard: nothing came within 0.1 s"),
        (
            after(10).reasoning().alive(50, 50).hang(),
            "210 ada heard: no more text or reasoning came within 0.2 s",
        ),
        (thinking, "900 ada heard: the answer was not whole within 0.9 s"),
    ] {
        let result =
            scenario([("ada", reply)]).plan(|plan| (plan.timers, plan.retries_max) = (TIMERS, 0)).run().await;
        let ledger = result.ledger();
        assert!(ledger.lines().any(|line| line == expected), "{expected} in {ledger}");
    }
    for not_wanted in [
        scenario([("ada", says(10, "The moon."))]),
        scenario([("ada", hangs())]).cancel_at(200),
        // The time that the run leaves to a call is not the provider's fault.
        scenario([("ada", hangs())]).plan(|plan| plan.timers.run_ms = 200),
        // The other seats have decided the run.
        scenario([("ada", says(10, "The moon.")), ("bob", hangs())])
            .wait(Wait::Seats { count: 1 })
            .cancel_at(200),
    ] {
        let ledger = not_wanted.run().await.ledger();
        assert!(!ledger.contains("heard"), "{ledger}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_is_retried_but_not_one_that_used_its_whole_time() {
    let requests = async |replies: [(&'static str, Reply); 2]| {
        let result = scenario(replies).plan(|plan| plan.timers = TIMERS).run().await;
        result.asked.len()
    };
    assert_eq!(requests([("ada", hangs()), ("ada", says(10, "The moon."))]).await, 2);
    let thinking = (0..50).fold(after(0), |reply, _| reply.wait(80).reasoning());
    assert_eq!(requests([("ada", thinking), ("ada", says(10, "The moon."))]).await, 1);
}

#[tokio::test(start_paused = true)]
async fn no_request_is_sent_after_the_run_ends() {
    let result = scenario([
        ("ada", says(10, "The moon pulls.")),
        ("bob", says(20, "The sun pulls.")),
        ("fuser-1", after(10).alive(1_000, 50).hang()),
        ("fuser-2", hangs()),
        ("fuser-3", hangs()),
    ])
    .plan(|plan| plan.timers.run_ms = 1_000)
    .run()
    .await;
    insta::assert_snapshot!(result.transcript(), @"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `The moon pulls.`
    20 answered 2 `The sun pulls.` | 20 sent s1
    1000 failed s1 timeout, never again | 1000 decided verbatim
    1000 closed $0.0020
    complete decided at 1000, closed at 1000
      verbatim by ada from 1: `The moon pulls.`
      because the time limit of 1 s was reached before the synthesizer was done; this is the answer closest to the others, word for word
      ! timeout: the synthesizer `fuser-1` failed: the time limit of 1 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 1000))
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser-1 failed, 1 request 980 ms, ~?: timeout: the time limit of 1 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 1000))
    ");
    assert_eq!(result.asked.len(), 3, "only the first synthesizer was asked in time");
}

#[tokio::test(start_paused = true)]
async fn streamed_text_is_checkpointed_every_second_or_sixteen_kilobytes() {
    let slow = (0..5).fold(after(0), |reply, _| reply.wait(600).text("moon "));
    let result = scenario([("ada", slow.end())]).run().await;
    insta::assert_snapshot!(result.ledger(), @"
    0 durable: started, sent 1
    0 request ada #1
    1000 checkpoint seat 1 5 bytes
    2000 checkpoint seat 1 15 bytes
    3000 durable: answered 1, decided
    3000 durable: closed
    ");
    let block: &'static str = "m".repeat(10_000).leak();
    let fast = (0..4).fold(after(10), |reply, _| reply.text(block).wait(1));
    let result = scenario([("ada", fast.end())]).run().await;
    insta::assert_snapshot!(result.ledger(), @"
    0 durable: started, sent 1
    0 request ada #1
    11 checkpoint seat 1 20000 bytes
    13 checkpoint seat 1 40000 bytes
    14 durable: answered 1, decided
    14 durable: closed
    ");
}

#[tokio::test(start_paused = true)]
async fn an_answer_says_when_it_was_connected_began_to_reason_and_began_to_write() {
    let times = async |reply: Reply| {
        let result = scenario([("ada", reply)]).run().await;
        let answer = result.run.seats[0].answer.clone().unwrap();
        (answer.connected_ms, answer.first_token_ms, answer.first_text_ms, answer.elapsed_ms)
    };
    let reasoned =
        after(10).connected().wait(20).reasoning().wait(30).text("The ").wait(40).text("moon.").end();
    assert_eq!(times(reasoned).await, (Some(10), Some(30), Some(60), 100));
    // A caller that does not see heads leaves the time out.
    assert_eq!(times(says(10, "The moon.")).await, (None, Some(10), Some(10), 10));
}
