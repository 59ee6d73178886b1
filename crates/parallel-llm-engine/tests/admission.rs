//! Admission: no more calls are in flight than allowed, and `Sent` is recorded only once a call is admitted.

use parallel_llm_engine::Code;
use parallel_llm_engine::value::next::MachineStep;

use crate::scenario::scenario;
use crate::script::{failure, hangs, not_admitted, says};

#[tokio::test(start_paused = true)]
async fn a_limit_of_one_sends_one_call_at_a_time() {
    let result = scenario([
        ("ada", says(100, "one")),
        ("bob", says(100, "two")),
        ("cyd", says(100, "three")),
        ("fuser", says(100, "All.")),
    ])
    .in_flight_max(1)
    .run()
    .await;
    insta::assert_snapshot!(result.transcript(), @"
    0 started | 0 sent 1
    100 sent 2
    100 answered 1 `one`
    200 sent 3
    200 answered 2 `two`
    300 answered 3 `three` | 300 sent s1
    400 answered s1 `All.` | 400 decided fused
    400 closed $0.0040
    complete decided at 400, closed at 400
      fused by fuser: `All.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 100 ms, $0.0010
      2 bob answered, 1 request 100 ms, $0.0010
      3 cyd answered, 1 request 100 ms, $0.0010
      s1 fuser answered, 1 request 100 ms, $0.0010
    ");
    assert_eq!(result.high_water, 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_than_allowed_are_in_flight() {
    let names: Vec<&'static str> = (1..=64).map(|number| &*format!("model-{number}").leak()).collect();
    let result =
        scenario(names.into_iter().map(|name| (name, says(100, "one")))).in_flight_max(5).run().await;
    assert_eq!((result.high_water, result.run.answered(), result.run.decided_ms), (5, 64, Some(1_300)));
}

#[tokio::test(start_paused = true)]
async fn a_call_still_waiting_for_admission_ends_with_the_run() {
    let result = scenario([("ada", hangs()), ("bob", says(100, "two"))]).in_flight_max(1).plan(|plan| {
        plan.timers.run_ms = 10_000;
    });
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1
    10000 failed 1 timeout, never again | 10000 failed 2#0 timeout, never again | 10000 decided none
    10000 closed $0.00
    failed decided at 10000, closed at 10000
      none
      because timeout: no model answered (ada, bob: the time limit of 10 s was reached) (raise the deadline, or raise the setting `run_timeout_ms` (now 10000))
      1 ada failed, 1 request 10000 ms, ~?: timeout: the time limit of 10 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 10000))
      2 bob skipped, 0 requests, $0.00: timeout: the time limit of 10 s was reached (raise the deadline, or raise the setting `run_timeout_ms` (now 10000))
    ");
}

#[tokio::test(start_paused = true)]
async fn a_seat_refused_admission_is_skipped() {
    let missing = failure(Code::KeyMissing).with_next(MachineStep::SetVariable("OLLAMA_API_KEY".into()));
    let result = scenario([("ada", not_admitted(missing)), ("bob", says(10, "two"))]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 2
    0 failed 1#0 key_missing, never again
    10 answered 2 `two` | 10 decided verbatim
    10 closed $0.0010
    partial decided at 10, closed at 10
      verbatim by bob from 2: `two`
      because only one answer came, so there was nothing to fuse
      1 ada skipped, 0 requests, $0.00: key_missing: scripted key_missing (set `OLLAMA_API_KEY`)
      2 bob answered, 1 request 10 ms, $0.0010
    ");
}
