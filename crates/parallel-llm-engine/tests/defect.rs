//! Panics, in a provider or in the engine: each costs one call only.

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::port::{Call, Caller, Charge, Permit};
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Code, Failure, ModelRef, Reopening, SeatNumber};

use crate::scenario::scenario;
use crate::script::{after, fails, failure, fuses, says};

#[tokio::test(start_paused = true)]
async fn a_panicking_seat_fails_alone() {
    let result = scenario([
        ("ada", says(30, "The moon pulls.")),
        ("bob", after(10).text("So far").panic()),
        ("cyd", after(0).panic()),
        ("dan", fails(5, failure(Code::Upstream).with_status(502))),
        ("dan", after(5).panic()),
        ("eve", says(40, "The sun pulls.")),
        ("fuser", fuses(10, "The sun", "Both.")),
    ]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2 | 0 sent 3 | 0 sent 4 | 0 sent 5
    0 failed 3 internal, never again
    5 failed 4 upstream, again in 638
    10 failed 2 internal, never again
    30 answered 1 `The moon pulls.`
    40 answered 5 `The sun pulls.`
    643 sent 4#2
    648 failed 4#2 internal, never again | 648 sent s1
    658 answered s1 `<<answer fe7…` (63) | 658 decided fused
    658 closed $0.0030
    partial decided at 658, closed at 658
      fused by fuser from 5: `Both.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 10 ms
      1 ada answered, 1 request 30 ms, $0.0010
      2 bob failed, 1 request 10 ms, ~?: internal: a defect stopped this call
      3 cyd failed, 1 request 0 ms, ~?: internal: a defect stopped this call
      4 dan failed, 2 requests 648 ms, ~$0.00: internal: a defect stopped this call
      5 eve answered, 1 request 40 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_panicking_synthesizer_leaves_the_answers() {
    let result = scenario([
        ("ada", says(30, "The moon pulls.")),
        ("bob", says(40, "The sun pulls.")),
        ("fuser", after(10).text("Bo").panic()),
    ]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2
    30 answered 1 `The moon pulls.`
    40 answered 2 `The sun pulls.` | 40 sent s1
    50 failed s1 internal, never again | 50 decided verbatim
    50 closed $0.0020
    complete decided at 50, closed at 50
      verbatim by ada from 1: `The moon pulls.`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! internal: the synthesizer `fuser` failed: a defect stopped this call (report it with the message)
      1 ada answered, 1 request 30 ms, $0.0010
      2 bob answered, 1 request 40 ms, $0.0010
      s1 fuser failed, 1 request 10 ms, ~?: internal: a defect stopped this call
    ");
}

/// Panics during admission: for the second seat when the future is polled, for all others in the call itself.
struct PanickingCaller;

impl Caller for PanickingCaller {
    fn admit(&self, call: Call) -> futures_util::future::BoxFuture<'static, Result<Permit, Failure>> {
        let Attempt { slot, .. } = call.attempt;
        if slot == CallerSlot::Seat(SeatNumber(2)) {
            return Box::pin(async { std::panic::resume_unwind(Box::new("scripted")) });
        }
        std::panic::resume_unwind(Box::new("scripted"))
    }

    fn look_up(
        &self,
        _: &ModelRef,
        _: &str,
    ) -> futures_util::future::BoxFuture<'static, Result<Option<Charge>, Failure>> {
        std::panic::resume_unwind(Box::new("scripted"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_look_up_leaves_the_cost_unknown() {
    let run = || scenario([("ada", after(10).accepted("gen-1").hang())]);
    let first = run().cancel_at(2_000).run().await;
    let result = run()
        .with_caller(PanickingCaller)
        .after(&first.commits)
        .reopened(|run| Reopening::resume(&run.plan, Vec::new()));
    insta::assert_snapshot!(result.run().await.end(), @"
    cancelled decided at 2000, closed at 2000
      none
      because cancelled: no model answered (ada: given up before an answer came)
      1 ada cancelled, 1 request 2000 ms, ~?: cancelled: given up before an answer came
    ");
}

#[tokio::test(start_paused = true)]
async fn a_panic_during_admission_fails_only_its_call() {
    let result = scenario([("ada", says(1, "x")), ("bob", says(1, "y")), ("cyd", says(1, "z"))]);
    insta::assert_snapshot!(result.with_caller(PanickingCaller).transcript().await, @"
    0 started
    0 failed 1#0 internal, never again | 0 failed 2#0 internal, never again | 0 failed 3#0 internal, never again | 0 decided none
    0 closed $0.00
    failed decided at 0, closed at 0
      none
      because internal: no model answered (ada, bob, cyd: a defect stopped this call)
      1 ada skipped, 0 requests, $0.00: internal: a defect stopped this call
      2 bob skipped, 0 requests, $0.00: internal: a defect stopped this call
      3 cyd skipped, 0 requests, $0.00: internal: a defect stopped this call
    ");
}
