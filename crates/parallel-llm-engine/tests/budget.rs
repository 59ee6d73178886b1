//! The budget: checked before a request is sent, reserved while calls are in flight, settled when they end.

use parallel_llm_engine::plan::DayLimit;
use parallel_llm_engine::{Code, PicoUsd};

use crate::scenario::{persona_prompt, scenario};
use crate::script::{after, fails, failure, fuses, says};

/// The worst case of one call in every scenario: a thousand output tokens and six input tokens.
const WORST_CALL: PicoUsd = PicoUsd(10_006_000_000);

#[tokio::test(start_paused = true)]
async fn a_seat_over_budget_is_skipped() {
    let result = scenario([
        ("ada", says(10, "one")),
        ("bob", says(10, "two")),
        ("cyd", says(10, "three")),
        ("fuser", says(10, "All.")),
    ])
    .plan(|plan| plan.budget = WORST_CALL.times(2));
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2
    0 failed 3#0 budget, never again
    10 answered 1 `one` | 10 answered 2 `two` | 10 sent s1
    20 answered s1 `All.` | 20 decided fused
    20 closed $0.0030
    partial decided at 20, closed at 20
      fused by fuser: `All.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      3 cyd skipped, 0 requests, $0.00: budget: the call may cost $0.010, which the budget of $0.020 does not hold
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn budget_a_call_did_not_use_can_be_spent_again() {
    // At first nothing is left for the synthesizer, but the panel costs only a tenth of its worst case.
    let result =
        scenario([("ada", says(10, "one")), ("bob", says(20, "two")), ("fuser", fuses(10, "two", "All."))])
            .plan(|plan| plan.budget = WORST_CALL.times(2));
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 30, closed at 30
      fused by fuser from 2: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 10 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_cost_counts_as_the_worst_case() {
    let broken = || after(10).reasoning().fail(failure(Code::Upstream).with_status(502));
    let result = scenario([("ada", broken()), ("ada", says(10, "The moon."))])
        .plan(|plan| plan.budget = WORST_CALL.times(1));
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1
    10 failed 1 upstream, again in 818
    828 failed 1 budget, never again | 828 decided none
    828 closed $0.00
    failed decided at 828, closed at 828
      none
      because budget: no model answered (ada: the call may cost $0.010, which the budget of $0.010 does not hold)
      1 ada failed, 1 request 828 ms, ~$0.00: budget: the call may cost $0.010, which the budget of $0.010 does not hold
    ");
    // A request refused before anything had begun costs nothing, so the budget suffices for the retry.
    let refused = fails(10, failure(Code::Upstream).with_status(502));
    let result = scenario([("ada", refused), ("ada", says(10, "The moon."))])
        .plan(|plan| plan.budget = WORST_CALL.times(1));
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1
    10 failed 1 upstream, again in 818
    828 sent 1#2
    838 answered 1#2 `The moon.` | 838 decided verbatim
    838 closed $0.0010
    complete decided at 838, closed at 838
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 2 requests 838 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn an_unreported_cost_is_computed_from_usage_or_unknown() {
    let counted = after(10).text("The moon.").end_with(|end| {
        end.cost = None;
        end.usage.input_tokens = Some(7);
        end.usage.output_tokens = Some(100);
    });
    insta::assert_snapshot!(scenario([("ada", counted)]).run().await.end(), @"
    complete decided at 10, closed at 10
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, ~$0.0010
    ");
    let silent = after(10).text("The moon.").end_with(|end| end.cost = None);
    insta::assert_snapshot!(scenario([("ada", silent)]).run().await.end(), @"
    complete decided at 10, closed at 10
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, ~?
    ");
}

#[tokio::test(start_paused = true)]
async fn a_synthesizer_over_budget_leaves_the_closest_answer() {
    let dear = after(10).text("two and two").end_with(|end| end.cost = Some(WORST_CALL.times(2)));
    let result = scenario([("ada", says(10, "one and one")), ("bob", dear), ("fuser", says(10, "All."))])
        .plan(|plan| plan.budget = WORST_CALL.times(2));
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2
    10 answered 1 `one and one` | 10 answered 2 `two and two` | 10 failed s1#0 budget, never again | 10 decided verbatim
    10 closed $0.021
    complete decided at 10, closed at 10
      verbatim by ada from 1: `one and one`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! budget: the synthesizer `fuser` failed: the call may cost $0.011, which the budget of $0.020 does not hold (raise the budget, lower the number of tokens of an answer, or ask fewer or cheaper models)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.020
      s1 fuser skipped, 0 requests, $0.00: budget: the call may cost $0.011, which the budget of $0.020 does not hold
    ");
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_holds_the_worst_case_holds_answers_as_long_as_their_caps() {
    // A thousand tokens of five bytes, at the price of the worst case.
    let at_cap = |word: &str| after(10).text(&word.repeat(1_000)).end_with(|end| end.cost = Some(WORST_CALL));
    let panel = || [("ada", at_cap("tides")), ("bob", at_cap("moons")), ("fuser", says(10, "All."))];
    let result = scenario(panel()).plan(|plan| plan.budget = plan.worst_case.known_part());
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 20, closed at 20
      fused by fuser: `All.`
      because the synthesizer wrote it from the answers without naming the one it started from
      1 ada answered, 1 request 10 ms, $0.010
      2 bob answered, 1 request 10 ms, $0.010
      s1 fuser answered, 1 request 10 ms, $0.0010
    ");
    // What is longer than any such answer is counted by its bytes.
    let endless = after(10).text(&"tides ".repeat(4_000)).end_with(|end| end.cost = Some(WORST_CALL));
    let [_, bob, fuser] = panel();
    let result =
        scenario([("ada", endless), bob, fuser]).plan(|plan| plan.budget = plan.worst_case.known_part());
    let end = result.run().await.end();
    assert!(end.contains("which the budget"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn a_persona_prompt_counts_towards_the_budget() {
    // Three thousand characters are a thousand tokens more than the budget of one call allows.
    let result = scenario([("ada", says(10, "one")), ("bob", says(10, "two"))])
        .plan(|plan| plan.seats[1].persona_prompt = Some(persona_prompt("critic", &"x".repeat(3_000))))
        .plan(|plan| plan.budget = WORST_CALL.times(2));
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 10, closed at 10
      verbatim by ada from 1: `one`
      because only one answer came, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob skipped, 0 requests, $0.00: budget: the call may cost $0.011, which the budget of $0.020 does not hold
    ");
}

#[tokio::test(start_paused = true)]
async fn every_request_is_checked_against_the_daily_limit() {
    let limited = |usd: PicoUsd| {
        let limit = DayLimit { provider: None, asked_by: None, usd, setting: "budget_day_usd".to_owned() };
        scenario([("ada", says(10, "one")), ("bob", says(20, "two")), ("fuser", says(10, "All."))])
            .plan(|plan| plan.limits = vec![limit])
    };
    let held = limited(PicoUsd::from_usd(1)).run().await.end();
    assert!(held.contains("fused by fuser"), "{held}");
    // The panel has cost $0.0020, and the synthesizer may cost ten times as much.
    let refused = limited(PicoUsd(11_000_000_000)).run().await.end();
    assert!(refused.contains("the day's limit does not hold the call"), "{refused}");
    assert!(!refused.contains("fused by"), "{refused}");
}
